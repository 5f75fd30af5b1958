package cloud

import (
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/wire"
)

// maxTargets is how many targets a rule has at most.
const maxTargets = 5

func newEvents() *service {
	s := &service{
		name:       "events",
		protocol:   jsonProtocol{names: wire.PascalNames, contentType: "application/x-amz-json-1.1"},
		words:      jsonDialect(),
		operations: map[string]operation{},
	}
	add(s, accessesOfPutRule, (*Cloud).putRule)
	add(s, onRule[eventbridge.DescribeRuleInput]("events:DescribeRule"), (*Cloud).describeRule)
	add(s, onAnything[eventbridge.ListRulesInput]("events:ListRules"), (*Cloud).listRules)
	add(s, onRule[eventbridge.DeleteRuleInput]("events:DeleteRule"), (*Cloud).deleteRule)
	add(s, onRule[eventbridge.PutTargetsInput]("events:PutTargets"), (*Cloud).putTargets)
	add(s, onRule[eventbridge.RemoveTargetsInput]("events:RemoveTargets"), (*Cloud).removeTargets)
	add(s, onRule[eventbridge.ListTargetsByRuleInput]("events:ListTargetsByRule"), (*Cloud).listTargetsByRule)
	add(s, onRuleARN[eventbridge.ListTagsForResourceInput]("events:ListTagsForResource"), (*Cloud).listRuleTags)
	add(s, onRuleARN[eventbridge.TagResourceInput]("events:TagResource"), (*Cloud).tagRule)
	add(s, onRuleARN[eventbridge.UntagResourceInput]("events:UntagResource"), (*Cloud).untagRule)
	return s
}

func (c *Cloud) ruleARN(name string) string {
	return "arn:aws:events:" + c.region + ":" + c.account + ":rule/" + name
}

// onRule is the permission for a call about the rule named by Rule or Name.
func onRule[In any](action string) accesses[In] {
	return func(c *Cloud, input *In) []access {
		name := textMember(input, "Rule")
		if name == "" {
			name = textMember(input, "Name")
		}
		need := access{action: action, resource: c.ruleARN(name)}
		if r := c.rules[name]; r != nil {
			need.context = resourceTags("", r.tags)
		}
		return []access{need}
	}
}

// onRuleARN is the permission for a call about the rule named by ResourceARN.
func onRuleARN[In any](action string) accesses[In] {
	return func(_ *Cloud, input *In) []access {
		return []access{{action: action, resource: textMember(input, "ResourceARN")}}
	}
}

func accessesOfPutRule(c *Cloud, in *eventbridge.PutRuleInput) []access {
	needed := onRule[eventbridge.PutRuleInput]("events:PutRule")(c, in)
	needed[0].context = merge(needed[0].context, requestTags(tagsOfRule(in.Tags)))
	return needed
}

func tagsOfRule(list []types.Tag) map[string]string {
	tags := make(map[string]string, len(list))
	for _, t := range list {
		tags[deref(t.Key)] = deref(t.Value)
	}
	return tags
}

// findRule only knows the default bus, on which AWS's own events are.
func (c *Cloud) findRule(name, bus *string) (*rule, error) {
	if b := deref(bus); b != "" && b != "default" {
		return nil, fail("ResourceNotFoundException", "Event bus %s does not exist.", b)
	}
	r := c.rules[deref(name)]
	if r == nil {
		return nil, fail("ResourceNotFoundException", "Rule %s does not exist on EventBus default.", deref(name))
	}
	return r, nil
}

var ruleNameForm = regexp.MustCompile(`^[.\-_A-Za-z0-9]{1,64}$`)

func (c *Cloud) putRule(_ *call, in *eventbridge.PutRuleInput) (*eventbridge.PutRuleOutput, error) {
	name := deref(in.Name)
	if !ruleNameForm.MatchString(name) {
		return nil, fail("ValidationException", "Value '%s' at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern: [\\.\\-_A-Za-z0-9]+", name)
	}
	pattern, err := parsePattern(deref(in.EventPattern))
	if err != nil {
		return nil, fail("InvalidEventPatternException", "%s", err)
	}
	known := c.rules[name]
	if known != nil && len(in.Tags) > 0 {
		return nil, fail("ValidationException", "Tags can only be added to a rule when it is created.")
	}
	if known == nil {
		known = &rule{name: name, targets: map[string]string{}, tags: tagsOfRule(in.Tags)}
		c.rules[name] = known
	}
	known.description, known.text, known.pattern, known.off = deref(in.Description), *in.EventPattern, pattern, in.State == types.RuleStateDisabled
	return &eventbridge.PutRuleOutput{RuleArn: aws.String(c.ruleARN(name))}, nil
}

func (r *rule) state() types.RuleState {
	if r.off {
		return types.RuleStateDisabled
	}
	return types.RuleStateEnabled
}

func (c *Cloud) describeRule(_ *call, in *eventbridge.DescribeRuleInput) (*eventbridge.DescribeRuleOutput, error) {
	r, err := c.findRule(in.Name, in.EventBusName)
	if err != nil {
		return nil, err
	}
	return &eventbridge.DescribeRuleOutput{
		Name: &r.name, Arn: aws.String(c.ruleARN(r.name)), Description: nilIfEmpty(r.description), EventBusName: aws.String("default"),
		EventPattern: &r.text, State: r.state(), CreatedBy: &c.account,
	}, nil
}

func (c *Cloud) listRules(_ *call, in *eventbridge.ListRulesInput) (*eventbridge.ListRulesOutput, error) {
	list := []types.Rule{}
	for _, name := range sortedKeys(c.rules) {
		r := c.rules[name]
		if strings.HasPrefix(name, deref(in.NamePrefix)) {
			list = append(list, types.Rule{
				Name: &r.name, Arn: aws.String(c.ruleARN(name)), Description: nilIfEmpty(r.description), EventBusName: aws.String("default"),
				EventPattern: &r.text, State: r.state(),
			})
		}
	}
	part, next, err := page(list, in.NextToken, in.Limit, 100)
	if err != nil {
		return nil, fail("ValidationException", "The nextToken is invalid.")
	}
	return &eventbridge.ListRulesOutput{Rules: part, NextToken: next}, nil
}

// deleteRule is no error for a rule that is gone, as with EventBridge.
func (c *Cloud) deleteRule(_ *call, in *eventbridge.DeleteRuleInput) (*eventbridge.DeleteRuleOutput, error) {
	if r := c.rules[deref(in.Name)]; r != nil && len(r.targets) > 0 {
		return nil, fail("ValidationException", "Rule can't be deleted since it has targets.")
	}
	delete(c.rules, deref(in.Name))
	return &eventbridge.DeleteRuleOutput{}, nil
}

func (c *Cloud) putTargets(_ *call, in *eventbridge.PutTargetsInput) (*eventbridge.PutTargetsOutput, error) {
	r, err := c.findRule(in.Rule, in.EventBusName)
	if err != nil {
		return nil, err
	}
	for _, target := range in.Targets {
		name, isQueue := strings.CutPrefix(deref(target.Arn), c.queueARN(""))
		if !isQueue {
			return nil, fail("ValidationException", "Parameter %s is not valid. Reason: Provided Arn is not in correct format.", deref(target.Arn))
		}
		if _, replaced := r.targets[deref(target.Id)]; !replaced && len(r.targets) >= maxTargets {
			return nil, fail("LimitExceededException", "The requested resource exceeds the maximum number allowed.")
		}
		r.targets[deref(target.Id)] = name
	}
	return &eventbridge.PutTargetsOutput{FailedEntries: []types.PutTargetsResultEntry{}}, nil
}

func (c *Cloud) removeTargets(_ *call, in *eventbridge.RemoveTargetsInput) (*eventbridge.RemoveTargetsOutput, error) {
	r, err := c.findRule(in.Rule, in.EventBusName)
	if err != nil {
		return nil, err
	}
	for _, id := range in.Ids {
		delete(r.targets, id)
	}
	return &eventbridge.RemoveTargetsOutput{FailedEntries: []types.RemoveTargetsResultEntry{}}, nil
}

func (c *Cloud) listTargetsByRule(_ *call, in *eventbridge.ListTargetsByRuleInput) (*eventbridge.ListTargetsByRuleOutput, error) {
	r, err := c.findRule(in.Rule, in.EventBusName)
	if err != nil {
		return nil, err
	}
	targets := []types.Target{}
	for _, id := range sortedKeys(r.targets) {
		targets = append(targets, types.Target{Id: aws.String(id), Arn: aws.String(c.queueARN(r.targets[id]))})
	}
	return &eventbridge.ListTargetsByRuleOutput{Targets: targets}, nil
}

func (c *Cloud) ruleOfARN(arn *string) (*rule, error) {
	return c.findRule(aws.String(strings.TrimPrefix(deref(arn), c.ruleARN(""))), nil)
}

func (c *Cloud) listRuleTags(_ *call, in *eventbridge.ListTagsForResourceInput) (*eventbridge.ListTagsForResourceOutput, error) {
	r, err := c.ruleOfARN(in.ResourceARN)
	if err != nil {
		return nil, err
	}
	tags := []types.Tag{}
	for _, key := range sortedKeys(r.tags) {
		tags = append(tags, types.Tag{Key: aws.String(key), Value: aws.String(r.tags[key])})
	}
	return &eventbridge.ListTagsForResourceOutput{Tags: tags}, nil
}

func (c *Cloud) tagRule(_ *call, in *eventbridge.TagResourceInput) (*eventbridge.TagResourceOutput, error) {
	r, err := c.ruleOfARN(in.ResourceARN)
	if err != nil {
		return nil, err
	}
	return &eventbridge.TagResourceOutput{}, retag(r.tags, tagsOfRule(in.Tags), nil)
}

func (c *Cloud) untagRule(_ *call, in *eventbridge.UntagResourceInput) (*eventbridge.UntagResourceOutput, error) {
	r, err := c.ruleOfARN(in.ResourceARN)
	if err != nil {
		return nil, err
	}
	return &eventbridge.UntagResourceOutput{}, retag(r.tags, nil, in.TagKeys)
}
