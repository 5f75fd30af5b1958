package cloud

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2"
	iammodel "github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/iam"
)

const allEC2 = `{"source":["aws.ec2"]}`

// routed makes a queue with the policy and a rule that sends EC2's events to it.
func (f *fixture) routed(t *testing.T, policy string) {
	t.Helper()
	ctx := t.Context()
	attributes := map[string]string{}
	if policy != "" {
		attributes["Policy"] = policy
	}
	must2(f.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("prod"), Attributes: attributes}))(t)
	must2(f.events.PutRule(ctx, &eventbridge.PutRuleInput{Name: aws.String("prod-ec2"), EventPattern: aws.String(allEC2)}))(t)
	must2(f.events.PutTargets(ctx, &eventbridge.PutTargetsInput{
		Rule: aws.String("prod-ec2"), Targets: []eventtypes.Target{{Id: aws.String("q"), Arn: aws.String("arn:aws:sqs:eu-west-1:123456789012:prod")}},
	}))(t)
}

func (f *fixture) announceOne() {
	f.cloud.Mu.Lock()
	defer f.cloud.Mu.Unlock()
	f.cloud.Publish(ec2.SourceEC2, ec2.StateChange, nil, map[string]any{"state": "stopped"})
}

func TestRulesDecideWhatReachesAQueue(t *testing.T) {
	const mayStart = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":["events.amazonaws.com","sqs.amazonaws.com"]},` +
		`"Action":"sqs:SendMessage","Resource":"arn:aws:sqs:eu-west-1:123456789012:prod"},`
	tests := map[string]struct {
		policy string
		change func(*testing.T, *fixture)
		want   int
	}{
		"a policy that lets rules send": {mayStart + `{"Sid":"tls","Effect":"Deny","Principal":"*","Action":"sqs:*","Resource":"*","Condition":{"Bool":{"aws:SecureTransport":"false"}}}]}`, nil, 1},
		"no policy":                     {"", nil, 0},
		"a policy for somebody else": {
			`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"*"}]}`, nil, 0,
		},
		"a rule that is off": {mayStart[:len(mayStart)-1] + "]}", func(t *testing.T, f *fixture) {
			must2(f.events.PutRule(t.Context(), &eventbridge.PutRuleInput{Name: aws.String("prod-ec2"), EventPattern: aws.String(allEC2), State: eventtypes.RuleStateDisabled}))(t)
		}, 0},
		"a rule without targets": {mayStart[:len(mayStart)-1] + "]}", func(t *testing.T, f *fixture) {
			must2(f.events.RemoveTargets(t.Context(), &eventbridge.RemoveTargetsInput{Rule: aws.String("prod-ec2"), Ids: []string{"q"}}))(t)
		}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			f.routed(t, tt.policy)
			if tt.change != nil {
				tt.change(t, f)
			}
			f.announceOne()
			if got := len(f.cloud.Messages("prod")); got != tt.want {
				t.Errorf("%d messages, want %d", got, tt.want)
			}
		})
	}
}

func TestLifeOfARule(t *testing.T) {
	f, ctx, name := start(t), t.Context(), aws.String("r")
	_, err := f.events.PutRule(ctx, &eventbridge.PutRuleInput{Name: name, EventPattern: aws.String(`{"source":"aws.ec2"}`)})
	wantCode(t, err, "InvalidEventPatternException")
	arn := must2(f.events.PutRule(ctx, &eventbridge.PutRuleInput{
		Name: name, EventPattern: aws.String(allEC2), Description: aws.String("d"), Tags: []eventtypes.Tag{{Key: aws.String("a"), Value: aws.String("b")}},
	}))(t).RuleArn
	_, err = f.events.PutRule(ctx, &eventbridge.PutRuleInput{Name: name, EventPattern: aws.String(allEC2), Tags: []eventtypes.Tag{{Key: aws.String("a"), Value: aws.String("c")}}})
	wantCode(t, err, "ValidationException")
	must2(f.events.TagResource(ctx, &eventbridge.TagResourceInput{ResourceARN: arn, Tags: []eventtypes.Tag{{Key: aws.String("c"), Value: aws.String("d")}}}))(t)
	must2(f.events.UntagResource(ctx, &eventbridge.UntagResourceInput{ResourceARN: arn, TagKeys: []string{"a"}}))(t)
	tags := must2(f.events.ListTagsForResource(ctx, &eventbridge.ListTagsForResourceInput{ResourceARN: arn}))(t).Tags
	if len(tags) != 1 || *tags[0].Key != "c" {
		t.Errorf("tags = %v", tags)
	}
	got := must2(f.events.DescribeRule(ctx, &eventbridge.DescribeRuleInput{Name: name}))(t)
	if *got.EventPattern != allEC2 || *got.Description != "d" || got.State != eventtypes.RuleStateEnabled || *got.Arn != "arn:aws:events:eu-west-1:123456789012:rule/r" {
		t.Errorf("rule = %+v", got)
	}
	if rules := must2(f.events.ListRules(ctx, &eventbridge.ListRulesInput{NamePrefix: name}))(t).Rules; len(rules) != 1 {
		t.Errorf("rules = %v", rules)
	}
	must2(f.events.PutTargets(ctx, &eventbridge.PutTargetsInput{Rule: name, Targets: []eventtypes.Target{{Id: aws.String("t"), Arn: aws.String("arn:aws:sqs:eu-west-1:123456789012:q")}}}))(t)
	targets := must2(f.events.ListTargetsByRule(ctx, &eventbridge.ListTargetsByRuleInput{Rule: name}))(t).Targets
	if len(targets) != 1 || *targets[0].Arn != "arn:aws:sqs:eu-west-1:123456789012:q" {
		t.Errorf("targets = %v", targets)
	}
	_, err = f.events.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: name})
	wantCode(t, err, "ValidationException")
	must2(f.events.RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{Rule: name, Ids: []string{"t"}}))(t)
	must2(f.events.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: name}))(t)
	_, err = f.events.DescribeRule(ctx, &eventbridge.DescribeRuleInput{Name: name})
	wantCode(t, err, "ResourceNotFoundException")
}

func TestQueueTagsAndPolicies(t *testing.T) {
	f, ctx := start(t), t.Context()
	url := must2(f.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("q"), Tags: map[string]string{"a": "b"}}))(t).QueueUrl
	must2(f.sqs.TagQueue(ctx, &sqs.TagQueueInput{QueueUrl: url, Tags: map[string]string{"c": "d"}}))(t)
	must2(f.sqs.UntagQueue(ctx, &sqs.UntagQueueInput{QueueUrl: url, TagKeys: []string{"a"}}))(t)
	if diff := cmp.Diff(map[string]string{"c": "d"}, must2(f.sqs.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: url}))(t).Tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	_, err := f.sqs.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: url, Attributes: map[string]string{"Policy": `{"Statement":[{"Effect":"Allow","Action":"sqs:*","Resource":"*"}]}`}})
	wantCode(t, err, "InvalidAttributeValue")
}

func TestAccessEntryTags(t *testing.T) {
	f, ctx, cluster := start(t), t.Context(), aws.String("prod")
	principal := aws.String("arn:aws:iam::123456789012:role/" + iammodel.DefaultNodeRole)
	entry := must2(f.eks.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: cluster, PrincipalArn: principal}))(t).AccessEntry
	must2(f.eks.TagResource(ctx, &eks.TagResourceInput{ResourceArn: entry.AccessEntryArn, Tags: map[string]string{"a": "1", "b": "2", "c": "3"}}))(t)
	must2(f.eks.UntagResource(ctx, &eks.UntagResourceInput{ResourceArn: entry.AccessEntryArn, TagKeys: []string{"a", "b"}}))(t)
	entry = must2(f.eks.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: cluster, PrincipalArn: principal}))(t).AccessEntry
	if diff := cmp.Diff(map[string]string{"c": "3"}, entry.Tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	_, err := f.eks.TagResource(ctx, &eks.TagResourceInput{ResourceArn: aws.String("arn:aws:eks:eu-west-1:123456789012:cluster/prod"), Tags: map[string]string{"a": "1"}})
	wantCode(t, err, "NotFoundException")
}

func TestIAMLag(t *testing.T) {
	f, ctx := start(t), t.Context()
	f.cloud.SetBehaviour(account.Behaviour{IAMLag: 5 * time.Second})
	f.role(t, "late", trustAccount, "")
	name := aws.String("late")
	must2(f.iam.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: name}))(t)
	entry := &eks.CreateAccessEntryInput{ClusterName: aws.String("prod"), PrincipalArn: aws.String("arn:aws:iam::123456789012:role/late"), Type: aws.String("EC2_LINUX")}
	calls := map[string]struct {
		call func() error
		code string
	}{
		"the role": {func() error { _, err := f.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: name}); return err }, "NoSuchEntity"},
		"the profile": {func() error {
			_, err := f.iam.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: name})
			return err
		}, "NoSuchEntity"},
		"the principal": {func() error { _, err := f.eks.CreateAccessEntry(ctx, entry); return err }, "InvalidParameterException"},
	}
	for what, tt := range calls {
		if got := codeOf(tt.call()); got != tt.code {
			t.Errorf("%s during the lag: error code = %q, want %q", what, got, tt.code)
		}
	}
	f.clock.Step(5 * time.Second)
	for what, tt := range calls {
		if err := tt.call(); err != nil {
			t.Errorf("%s after the lag: %v", what, err)
		}
	}
}

// Lists lack new roles for a while, and reads show an OIDC provider late, also that it has been deleted.
func TestIAMLagOfIssuers(t *testing.T) {
	f, ctx := start(t), t.Context()
	f.cloud.SetBehaviour(account.Behaviour{IAMLag: 5 * time.Second})
	issuer := &iam.CreateOpenIDConnectProviderInput{Url: aws.String("https://oidc.example.com/id/1")}
	want := func(when string, listed bool, code string) {
		t.Helper()
		roles := must2(f.iam.ListRoles(ctx, &iam.ListRolesInput{PathPrefix: aws.String("/late/")}))(t).Roles
		_, err := f.iam.GetOpenIDConnectProvider(ctx, &iam.GetOpenIDConnectProviderInput{
			OpenIDConnectProviderArn: aws.String("arn:aws:iam::123456789012:oidc-provider/oidc.example.com/id/1"),
		})
		if len(roles) > 0 != listed || codeOf(err) != code {
			t.Errorf("%s: %d roles are listed, error code of the provider = %q, want %t and %q", when, len(roles), codeOf(err), listed, code)
		}
	}
	must2(f.iam.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("late"), Path: aws.String("/late/"), AssumeRolePolicyDocument: aws.String(trustAccount)}))(t)
	arn := must2(f.iam.CreateOpenIDConnectProvider(ctx, issuer))(t).OpenIDConnectProviderArn
	want("both are new", false, "NoSuchEntity")
	f.clock.Step(5 * time.Second)
	want("after the lag", true, "")
	must2(f.iam.DeleteOpenIDConnectProvider(ctx, &iam.DeleteOpenIDConnectProviderInput{OpenIDConnectProviderArn: arn}))(t)
	want("the provider has just been deleted", true, "")
	f.clock.Step(5 * time.Second)
	want("the provider is gone", true, "NoSuchEntity")
}
