package eventqueue

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// targetID is the id of a rule's only target.
const targetID = "packhorse-interruption-queue"

// PutRule creates a rule or changes it from the declaration before to the declaration now,
// and returns its ARN. A new rule has a zero declaration before. If there is a rule of the
// name that is not the queue's, the error is fs.ErrExist.
func (q *Queues) PutRule(ctx context.Context, before, now asset.Rule) (arn string, err error) {
	known, ours, err := q.find(ctx, now)
	if err == nil && known != "" && !ours {
		err = fmt.Errorf("put rule %q: %w", now.Name, fs.ErrExist)
	}
	if err != nil {
		return "", err
	}
	in := &eventbridge.PutRuleInput{
		Name: aws.String(now.Name), Description: aws.String(now.Description), EventPattern: aws.String(now.Pattern), State: types.RuleStateEnabled,
	}
	if known == "" {
		in.Tags = tagList(now.Tags) // EventBridge takes them only for a new rule
	}
	out, err := call.Invoke(ctx, nil, q.events.PutRule, in)
	if err != nil {
		return "", call.Explain(fmt.Sprintf("put rule %q", now.Name), err)
	}
	if known != "" {
		err := call.Retag(call.Tagging{What: fmt.Sprintf("rule %q", now.Name), Before: before.Tags, Now: now.Tags}, func() error {
			return call.Change(ctx, nil, q.events.TagResource, &eventbridge.TagResourceInput{ResourceARN: aws.String(known), Tags: tagList(now.Tags)})
		}, func(keys []string) error {
			return call.Change(ctx, nil, q.events.UntagResource, &eventbridge.UntagResourceInput{ResourceARN: aws.String(known), TagKeys: keys})
		})
		if err != nil {
			return "", err
		}
	}
	return aws.ToString(out.RuleArn), q.putTarget(ctx, now)
}

// RuleTaken reports whether there is a rule of the name that is not the queue's.
func (q *Queues) RuleTaken(ctx context.Context, rule asset.Rule) (bool, error) {
	arn, ours, err := q.find(ctx, rule)
	return arn != "" && !ours, err
}

// find returns the ARN of the rule of the name, and whether it is the queue's: it sends
// events to the queue, or it has the declared pattern and no target yet. The ARN is empty if
// there is no such rule.
func (q *Queues) find(ctx context.Context, rule asset.Rule) (arn string, ours bool, err error) {
	arn, live, err := q.rule(ctx, rule.Name)
	if err != nil || arn == "" {
		return "", false, err
	}
	targets, err := q.targets(ctx, rule.Name)
	if err != nil {
		return "", false, err
	}
	unfinished := len(targets) == 0 && policy.SameJSON(rule.Pattern, aws.ToString(live.EventPattern))
	return arn, unfinished || feed(targets, rule.Queue), nil
}

// putTarget makes the queue the rule's target.
func (q *Queues) putTarget(ctx context.Context, rule asset.Rule) error {
	out, err := call.Invoke(ctx, nil, q.events.PutTargets, &eventbridge.PutTargetsInput{
		Rule: aws.String(rule.Name), Targets: []types.Target{{Id: aws.String(targetID), Arn: aws.String(rule.Queue)}},
	})
	if err == nil && len(out.FailedEntries) > 0 {
		err = fmt.Errorf("%s: %s", aws.ToString(out.FailedEntries[0].ErrorCode), aws.ToString(out.FailedEntries[0].ErrorMessage))
	}
	return call.Explain(fmt.Sprintf("make the queue the target of rule %q", rule.Name), err)
}

// ReadRule returns the ARN of a rule that does what is declared. The ARN is empty if there
// is no such rule, or if it is disabled, has another pattern, or does not send events to the
// queue.
func (q *Queues) ReadRule(ctx context.Context, rule asset.Rule) (arn string, err error) {
	arn, live, err := q.rule(ctx, rule.Name)
	if err != nil || arn == "" || live.State != types.RuleStateEnabled || aws.ToString(live.EventPattern) != rule.Pattern {
		return "", err
	}
	if targets, err := q.targets(ctx, rule.Name); err != nil || !feed(targets, rule.Queue) {
		return "", err
	}
	return arn, nil
}

// DeleteRule deletes the rule and the target that PutRule gave it. It succeeds if there is
// no such rule, and leaves one that is not the queue's. A rule that also has other targets
// is not deleted, which is an error.
func (q *Queues) DeleteRule(ctx context.Context, rule asset.Rule) error {
	if _, ours, err := q.find(ctx, rule); err != nil || !ours {
		return err
	}
	_, err := q.events.RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{Rule: aws.String(rule.Name), Ids: []string{targetID}})
	if call.IsMissing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove the target of rule %q: %w", rule.Name, err)
	}
	err = call.Change(ctx, nil, q.events.DeleteRule, &eventbridge.DeleteRuleInput{Name: aws.String(rule.Name)})
	return call.Explain(fmt.Sprintf("delete rule %q", rule.Name), call.IgnoreMissing(err))
}

// targets returns the targets of a rule. There are none if the rule has been deleted.
func (q *Queues) targets(ctx context.Context, rule string) ([]types.Target, error) {
	in := &eventbridge.ListTargetsByRuleInput{Rule: aws.String(rule)}
	var all []types.Target
	for range maxPages {
		out, err := q.events.ListTargetsByRule(ctx, in)
		if call.IsMissing(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list the targets of rule %q: %w", rule, err)
		}
		all = append(all, out.Targets...)
		if out.NextToken == nil {
			return all, nil
		}
		in.NextToken = out.NextToken
	}
	return nil, fmt.Errorf("list the targets of rule %q: more than %d pages", rule, maxPages)
}

// feed reports whether the queue is among the targets.
func feed(targets []types.Target, queue string) bool {
	return slices.ContainsFunc(targets, func(t types.Target) bool { return aws.ToString(t.Arn) == queue })
}

// rule returns a rule and its ARN, which is empty if there is no such rule.
func (q *Queues) rule(ctx context.Context, name string) (arn string, live *eventbridge.DescribeRuleOutput, err error) {
	live, err = q.events.DescribeRule(ctx, &eventbridge.DescribeRuleInput{Name: aws.String(name)})
	if call.IsMissing(err) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("read rule %q: %w", name, err)
	}
	return aws.ToString(live.Arn), live, nil
}

func tagList(tags map[string]string) []types.Tag {
	var out []types.Tag
	for _, key := range slices.SortedFunc(maps.Keys(tags), strings.Compare) {
		out = append(out, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return out
}
