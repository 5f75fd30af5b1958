package eventqueue

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// maxPages is the largest number of pages of rules, or of the targets of a rule, that are read, with
// 100 of them each. By default an event bus has at most 300 rules, and a rule 5 targets.
const maxPages = 50

// Fed returns the queues that receive events from rules with one of the patterns: for the
// ARN of each queue, the names of these rules, sorted. Patterns are compared as JSON.
func (q *Queues) Fed(ctx context.Context, patterns []string) (map[string][]string, error) {
	return q.FedBut(ctx, patterns, func(string, error) bool { return false })
}

// FedBut is Fed without the rules whose error skip takes.
func (q *Queues) FedBut(ctx context.Context, patterns []string, skip func(rule string, err error) bool) (map[string][]string, error) {
	out := map[string][]string{}
	in := &eventbridge.ListRulesInput{}
	for range maxPages {
		page, err := q.events.ListRules(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("list rules: %w", err)
		}
		for _, rule := range page.Rules {
			if !slices.ContainsFunc(patterns, func(p string) bool { return policy.SameJSON(p, aws.ToString(rule.EventPattern)) }) {
				continue
			}
			name := aws.ToString(rule.Name)
			if err := q.addTargets(ctx, name, out); err != nil && !skip(name, err) {
				return nil, err
			}
		}
		if page.NextToken == nil {
			return out, nil
		}
		in.NextToken = page.NextToken
	}
	return nil, fmt.Errorf("list rules: more than %d pages", maxPages)
}

// addTargets adds the rule to the queues among its targets.
func (q *Queues) addTargets(ctx context.Context, rule string, rules map[string][]string) error {
	targets, err := q.targets(ctx, rule)
	if err != nil {
		return err
	}
	queues := slices.DeleteFunc(targets, func(t types.Target) bool { return !strings.Contains(aws.ToString(t.Arn), ":sqs:") })
	for _, queue := range queues {
		arn := aws.ToString(queue.Arn)
		rules[arn] = append(rules[arn], rule)
	}
	return nil
}
