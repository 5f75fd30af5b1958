package cloud

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// rule routes events to queues, as a rule of EventBridge does. Its targets are
// names of queues by the target's id.
type rule struct {
	name        string
	description string
	text        string // of the pattern
	pattern     eventPattern
	off         bool
	targets     map[string]string
	tags        map[string]string
}

// eventPattern says which events a rule takes: each field that it names must
// have one of the listed values. A value is a string or {"prefix": "…"}.
type eventPattern map[string]any

func parsePattern(text string) (eventPattern, error) {
	var pattern eventPattern
	if err := json.Unmarshal([]byte(text), &pattern); err != nil {
		return nil, fmt.Errorf("event pattern is not valid: %w", err)
	}
	if len(pattern) == 0 {
		return nil, errors.New("event pattern is not valid: it names no field")
	}
	return pattern, pattern.check("")
}

// check refuses what EventBridge refuses: every leaf of a pattern is a list.
func (p eventPattern) check(path string) error {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		switch value := p[name].(type) {
		case []any:
			if len(value) == 0 {
				return fmt.Errorf("event pattern is not valid: %s%s has no values", path, name)
			}
		case map[string]any:
			if err := eventPattern(value).check(path + name + "."); err != nil {
				return err
			}
		default:
			return fmt.Errorf("event pattern is not valid: %s%s must be an object or an array", path, name)
		}
	}
	return nil
}

func (p eventPattern) matches(event map[string]any) bool {
	for name, wanted := range p {
		switch wanted := wanted.(type) {
		case map[string]any:
			inner, ok := event[name].(map[string]any)
			if !ok || !eventPattern(wanted).matches(inner) {
				return false
			}
		case []any:
			if !matchesAny(wanted, event[name]) {
				return false
			}
		}
	}
	return true
}

// matchesAny tells whether a field, or one of its items, has a wanted value.
func matchesAny(wanted []any, have any) bool {
	items, isList := have.([]any)
	if !isList {
		items = []any{have}
	}
	return slices.ContainsFunc(items, func(item any) bool {
		return slices.ContainsFunc(wanted, func(want any) bool {
			if condition, ok := want.(map[string]any); ok {
				prefix, isPrefix := condition["prefix"].(string)
				text, isText := item.(string)
				return isPrefix && isText && strings.HasPrefix(text, prefix)
			}
			return want == item
		})
	})
}

// interruptionPattern takes the events that tell of machines going away.
const interruptionPattern = `{
	"source": ["aws.ec2", "aws.health"],
	"detail-type": [
		"EC2 Spot Instance Interruption Warning", "EC2 Instance Rebalance Recommendation",
		"EC2 Instance State-change Notification", "EC2 Capacity Reservation Instance Interruption Warning",
		"AWS Health Event"
	]
}`

// OpenInterruptionQueue makes a queue, unless it is there, and a rule that puts
// every event about machines on it.
func (c *Cloud) OpenInterruptionQueue(name string) error {
	pattern, err := parsePattern(interruptionPattern)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.queues[name]
	if q == nil {
		q = newQueue(name, c.now())
		c.queues[name] = q
	}
	if q.attributes["Policy"] == "" {
		q.attributes["Policy"] = c.eventsMaySend(name)
	}
	c.rules[name] = &rule{
		name: name, text: interruptionPattern, pattern: pattern, targets: map[string]string{"queue": name}, tags: map[string]string{},
	}
	return nil
}

// publish hands an event to the rules, which put it on their targets' queues.
// EventBridge promises to deliver at least once: with DuplicateEvents every
// message comes twice.
func (c *Cloud) publish(source, detailType string, resources []string, detail map[string]any) {
	if len(c.rules) == 0 {
		return
	}
	text, err := json.Marshal(map[string]any{
		"version": "0", "id": c.newUUID(), "source": source, "detail-type": detailType, "account": c.account,
		"region": c.region, "time": c.now().UTC().Format(time.RFC3339), "resources": resources, "detail": detail,
	})
	var event map[string]any
	if err == nil {
		err = json.Unmarshal(text, &event)
	}
	if err != nil {
		c.log.Error("lost an event", "detail_type", detailType, "error", err)
		return
	}
	for _, name := range sortedKeys(c.rules) {
		r := c.rules[name]
		if r.off || !r.pattern.matches(event) {
			continue
		}
		for _, target := range sortedKeys(r.targets) {
			if q := c.queues[r.targets[target]]; q != nil && c.admits(q, r) {
				c.enqueueEvent(q, string(text))
			}
		}
	}
}

func (c *Cloud) enqueueEvent(q *queue, text string) {
	c.enqueue(q, text)
	if c.behaviour.DuplicateEvents {
		c.enqueue(q, text)
	}
}
