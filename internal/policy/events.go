package policy

import (
	"encoding/json"
	"strings"
)

// InterruptionEvent is a kind of event by which AWS says that machines will end or have ended,
// as EventBridge routes it.
type InterruptionEvent struct {
	// Key names it in configurations and in the names of rules.
	Key string
	// Source and DetailType are the fields of the event that tell it apart.
	Source, DetailType string
	// Tells says what the event tells, as a sentence without a full stop.
	Tells string
}

// InterruptionEvents returns all kinds that the agent acts on, in the order of their keys.
func InterruptionEvents() []InterruptionEvent {
	return []InterruptionEvent{
		{"capacity-reservation", "aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning", "The owner of a capacity reservation reclaims a machine"},
		{"health", "aws.health", "AWS Health Event", "AWS Health has scheduled maintenance of a machine or found a problem"},
		{"rebalance", "aws.ec2", "EC2 Instance Rebalance Recommendation", "A spot machine is at an elevated risk of interruption"},
		{"spot", "aws.ec2", "EC2 Spot Instance Interruption Warning", "A spot machine will be interrupted in two minutes"},
		{"state", "aws.ec2", "EC2 Instance State-change Notification", "A machine was stopped or terminated by somebody else"},
	}
}

// InterruptionPatterns are the patterns of all kinds.
func InterruptionPatterns() []string {
	var out []string
	for _, event := range InterruptionEvents() {
		out = append(out, event.Pattern())
	}
	return out
}

// Pattern is the pattern of an EventBridge rule that takes events of the kind.
func (e InterruptionEvent) Pattern() string {
	raw, err := json.Marshal(map[string][]string{"source": {e.Source}, "detail-type": {e.DetailType}})
	if err != nil {
		panic("strings that are no JSON: " + err.Error())
	}
	return string(raw)
}

// RuleName is the name of the rule for events of the kind, below a prefix that
// tells queues apart.
func (e InterruptionEvent) RuleName(prefix string) string { return prefix + "-" + e.Key }

// RulePrefix returns the prefix of the rules with the names, and "" if none of them is
// named as RuleName names rules. Where prefixes differ, that of the first counts.
func RulePrefix(rules []string) string {
	for _, rule := range rules {
		for _, event := range InterruptionEvents() {
			if prefix, ok := strings.CutSuffix(rule, event.RuleName("")); ok {
				return prefix
			}
		}
	}
	return ""
}
