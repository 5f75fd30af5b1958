package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/sqs"
)

// Rule routes events to queues, as a rule of EventBridge does. Its targets are
// names of queues by the target's id.
type Rule struct {
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

// ParsePattern reads an event pattern from JSON. The error says why EventBridge would
// refuse it: it is not a JSON object, names no field, or has a field that lists no values.
func ParsePattern(text string) (eventPattern, error) {
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

func (p eventPattern) Matches(event map[string]any) bool {
	for name, wanted := range p {
		switch wanted := wanted.(type) {
		case map[string]any:
			inner, ok := event[name].(map[string]any)
			if !ok || !eventPattern(wanted).Matches(inner) {
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
func (c *Events) OpenInterruptionQueue(name string) error {
	pattern, err := ParsePattern(interruptionPattern)
	if err != nil {
		return err
	}
	c.Mu.Lock()
	defer c.Mu.Unlock()
	q := c.sqs.Queues[name]
	if q == nil {
		q = sqs.NewQueue(name, c.Now())
		c.sqs.Queues[name] = q
	}
	if q.Attributes["Policy"] == "" {
		q.Attributes["Policy"] = c.sqs.EventsMaySend(name)
	}
	c.Rules[name] = &Rule{
		name: name, text: interruptionPattern, pattern: pattern, targets: map[string]string{"queue": name}, tags: map[string]string{},
	}
	return nil
}

// Publish hands an event to the rules, which put it on their targets' queues.
// EventBridge promises to deliver at least once: with DuplicateEvents every
// message comes twice.
func (c *Events) Publish(source, detailType string, resources []string, detail map[string]any) {
	if len(c.Rules) == 0 {
		return
	}
	text, err := json.Marshal(map[string]any{
		"version": "0", "id": c.NewUUID(), "source": source, "detail-type": detailType, "account": c.AccountID,
		"region": c.Region, "time": c.Now().UTC().Format(time.RFC3339), "resources": resources, "detail": detail,
	})
	var event map[string]any
	if err == nil {
		err = json.Unmarshal(text, &event)
	}
	if err != nil {
		c.Log.Error("lost an event", "detail_type", detailType, "error", err)
		return
	}
	for _, name := range account.SortedKeys(c.Rules) {
		r := c.Rules[name]
		if r.off || !r.pattern.Matches(event) {
			continue
		}
		for _, target := range account.SortedKeys(r.targets) {
			if q := c.sqs.Queues[r.targets[target]]; q != nil && c.sqs.Admits(q, c.ruleARN(r.name)) {
				c.enqueueEvent(q, string(text))
			}
		}
	}
}

func (c *Events) enqueueEvent(q *sqs.Queue, text string) {
	c.sqs.Put(q, text)
	if c.Behaves.DuplicateEvents {
		c.sqs.Put(q, text)
	}
}
