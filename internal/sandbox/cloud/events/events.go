// Package events is a model of EventBridge.
package events

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/sqs"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/wire"
)

// Events is the service with the rules of the default event bus.
type Events struct {
	*account.Account
	sqs   *sqs.SQS
	Rules map[string]*Rule // by name
}

// New returns the service, whose rules put events on queues.
func New(a *account.Account, queues *sqs.SQS) *Events { return &Events{a, queues, map[string]*Rule{}} }

// maxTargets is how many targets a rule has at most.
const maxTargets = 5

// Service returns the calls that it answers.
func (c *Events) Service() *account.Service {
	s := &account.Service{
		Target:     "AWSEvents",
		Name:       "events",
		Protocol:   account.JSONProtocol{Names: wire.PascalNames, ContentType: "application/x-amz-json-1.1"},
		Words:      account.JSONDialect(),
		Operations: map[string]account.Operation{},
	}
	account.Add(s, c, accessesOfPutRule, (*Events).putRule)
	account.AddOn(s, c, onRule, account.Found(ruleIn, (*Events).describeRule))
	account.AddOnAnything(s, c, (*Events).listRules)
	account.AddOn(s, c, onRule, (*Events).deleteRule)
	account.AddOn(s, c, onRule, account.Found(ruleIn, (*Events).putTargets))
	account.AddOn(s, c, onRule, account.Found(ruleIn, (*Events).removeTargets))
	account.AddOn(s, c, onRule, account.Found(ruleIn, (*Events).listTargetsByRule))
	account.AddOn(s, c, onRuleARN, account.Found(ruleOfARN, (*Events).listRuleTags))
	account.AddOn(s, c, onRuleARN, account.Found(ruleOfARN, (*Events).tagRule))
	account.AddOn(s, c, onRuleARN, account.Found(ruleOfARN, (*Events).untagRule))
	return s
}

func (c *Events) ruleARN(name string) string {
	return "arn:aws:events:" + c.Region + ":" + c.AccountID + ":rule/" + name
}

// onRule is the permission for a call about the rule named by Rule or Name.
func onRule[In any](action string) func(*Events, *In) []account.Access {
	return func(c *Events, input *In) []account.Access {
		name := ruleName(input)
		need := account.Access{Action: action, Resource: c.ruleARN(name)}
		if r := c.Rules[name]; r != nil {
			need.Context = account.ResourceTags("", r.tags)
		}
		return []account.Access{need}
	}
}

// onRuleARN is the permission for a call about the rule named by ResourceARN.
func onRuleARN[In any](action string) func(*Events, *In) []account.Access {
	return func(_ *Events, input *In) []account.Access {
		return []account.Access{{Action: action, Resource: account.TextMember(input, "ResourceARN")}}
	}
}

func accessesOfPutRule(c *Events, in *eventbridge.PutRuleInput) []account.Access {
	needed := onRule[eventbridge.PutRuleInput]("events:PutRule")(c, in)
	needed[0].Context = account.Merge(needed[0].Context, account.RequestTags(tagsOfRule(in.Tags)))
	return needed
}

func tagsOfRule(list []types.Tag) map[string]string {
	tags := make(map[string]string, len(list))
	for _, t := range list {
		tags[account.Deref(t.Key)] = account.Deref(t.Value)
	}
	return tags
}

func ruleName(input any) string {
	return cmp.Or(account.TextMember(input, "Rule"), account.TextMember(input, "Name"))
}

// ruleIn only knows the default bus, on which AWS's own events are.
func ruleIn[In any](c *Events, in *In) (*Rule, error) {
	if b := account.TextMember(in, "EventBusName"); b != "" && b != "default" {
		return nil, account.Fail("ResourceNotFoundException", "Event bus %s does not exist.", b)
	}
	return c.findRule(ruleName(in))
}

func (c *Events) findRule(name string) (*Rule, error) {
	r := c.Rules[name]
	if r == nil {
		return nil, account.Fail("ResourceNotFoundException", "Rule %s does not exist on EventBus default.", name)
	}
	return r, nil
}

var ruleNameForm = regexp.MustCompile(`^[.\-_A-Za-z0-9]{1,64}$`)

func (c *Events) putRule(_ *account.Caller, in *eventbridge.PutRuleInput) (*eventbridge.PutRuleOutput, error) {
	name := account.Deref(in.Name)
	if !ruleNameForm.MatchString(name) {
		return nil, account.Fail("ValidationException", "Value '%s' at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern: [\\.\\-_A-Za-z0-9]+", name)
	}
	pattern, err := ParsePattern(account.Deref(in.EventPattern))
	if err != nil {
		return nil, account.Fail("InvalidEventPatternException", "%s", err)
	}
	known := c.Rules[name]
	if known != nil && len(in.Tags) > 0 {
		return nil, account.Fail("ValidationException", "Tags can only be added to a rule when it is created.")
	}
	if known == nil {
		known = &Rule{name: name, targets: map[string]string{}, tags: tagsOfRule(in.Tags)}
		c.Rules[name] = known
	}
	known.description, known.text, known.pattern, known.off = account.Deref(in.Description), *in.EventPattern, pattern, in.State == types.RuleStateDisabled
	return &eventbridge.PutRuleOutput{RuleArn: aws.String(c.ruleARN(name))}, nil
}

func (r *Rule) state() types.RuleState {
	if r.off {
		return types.RuleStateDisabled
	}
	return types.RuleStateEnabled
}

func (c *Events) describeRule(r *Rule, _ *eventbridge.DescribeRuleInput) (*eventbridge.DescribeRuleOutput, error) {
	return &eventbridge.DescribeRuleOutput{
		Name: &r.name, Arn: aws.String(c.ruleARN(r.name)), Description: account.NilIfEmpty(r.description), EventBusName: aws.String("default"),
		EventPattern: &r.text, State: r.state(), CreatedBy: &c.AccountID,
	}, nil
}

func (c *Events) listRules(_ *account.Caller, in *eventbridge.ListRulesInput) (*eventbridge.ListRulesOutput, error) {
	list := []types.Rule{}
	for _, name := range account.SortedKeys(c.Rules) {
		r := c.Rules[name]
		if strings.HasPrefix(name, account.Deref(in.NamePrefix)) {
			list = append(list, types.Rule{
				Name: &r.name, Arn: aws.String(c.ruleARN(name)), Description: account.NilIfEmpty(r.description), EventBusName: aws.String("default"),
				EventPattern: &r.text, State: r.state(),
			})
		}
	}
	part, next, err := account.Page(list, in.NextToken, in.Limit, 100)
	if err != nil {
		return nil, account.Fail("ValidationException", "The nextToken is invalid.")
	}
	return &eventbridge.ListRulesOutput{Rules: part, NextToken: next}, nil
}

// deleteRule is no error for a rule that is gone, as with EventBridge.
func (c *Events) deleteRule(_ *account.Caller, in *eventbridge.DeleteRuleInput) (*eventbridge.DeleteRuleOutput, error) {
	if r := c.Rules[account.Deref(in.Name)]; r != nil && len(r.targets) > 0 {
		return nil, account.Fail("ValidationException", "Rule can't be deleted since it has targets.")
	}
	delete(c.Rules, account.Deref(in.Name))
	return &eventbridge.DeleteRuleOutput{}, nil
}

func (c *Events) putTargets(r *Rule, in *eventbridge.PutTargetsInput) (*eventbridge.PutTargetsOutput, error) {
	for _, target := range in.Targets {
		name, isQueue := strings.CutPrefix(account.Deref(target.Arn), c.sqs.QueueARN(""))
		if !isQueue {
			return nil, account.Fail("ValidationException", "Parameter %s is not valid. Reason: Provided Arn is not in correct format.", account.Deref(target.Arn))
		}
		if _, replaced := r.targets[account.Deref(target.Id)]; !replaced && len(r.targets) >= maxTargets {
			return nil, account.Fail("LimitExceededException", "The requested resource exceeds the maximum number allowed.")
		}
		r.targets[account.Deref(target.Id)] = name
	}
	return &eventbridge.PutTargetsOutput{FailedEntries: []types.PutTargetsResultEntry{}}, nil
}

func (c *Events) removeTargets(r *Rule, in *eventbridge.RemoveTargetsInput) (*eventbridge.RemoveTargetsOutput, error) {
	for _, id := range in.Ids {
		delete(r.targets, id)
	}
	return &eventbridge.RemoveTargetsOutput{FailedEntries: []types.RemoveTargetsResultEntry{}}, nil
}

func (c *Events) listTargetsByRule(r *Rule, _ *eventbridge.ListTargetsByRuleInput) (*eventbridge.ListTargetsByRuleOutput, error) {
	targets := []types.Target{}
	for _, id := range account.SortedKeys(r.targets) {
		targets = append(targets, types.Target{Id: aws.String(id), Arn: aws.String(c.sqs.QueueARN(r.targets[id]))})
	}
	return &eventbridge.ListTargetsByRuleOutput{Targets: targets}, nil
}

func ruleOfARN[In any](c *Events, in *In) (*Rule, error) {
	return c.findRule(strings.TrimPrefix(account.TextMember(in, "ResourceARN"), c.ruleARN("")))
}

func (c *Events) listRuleTags(r *Rule, _ *eventbridge.ListTagsForResourceInput) (*eventbridge.ListTagsForResourceOutput, error) {
	tags := []types.Tag{}
	for _, key := range account.SortedKeys(r.tags) {
		tags = append(tags, types.Tag{Key: aws.String(key), Value: aws.String(r.tags[key])})
	}
	return &eventbridge.ListTagsForResourceOutput{Tags: tags}, nil
}

func (c *Events) tagRule(r *Rule, in *eventbridge.TagResourceInput) (*eventbridge.TagResourceOutput, error) {
	return &eventbridge.TagResourceOutput{}, account.Retag(r.tags, tagsOfRule(in.Tags), nil)
}

func (c *Events) untagRule(r *Rule, in *eventbridge.UntagResourceInput) (*eventbridge.UntagResourceOutput, error) {
	return &eventbridge.UntagResourceOutput{}, account.Retag(r.tags, nil, in.TagKeys)
}
