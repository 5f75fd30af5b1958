package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

const queueAddress = "packhorse_interruption_queue.test"

// allRules are the kinds of events that the agent acts on.
var allRules = []string{"capacity-reservation", "health", "rebalance", "spot", "state"}

func queueConfig(name, arguments string) string {
	return byName() + fmt.Sprintf("resource \"packhorse_interruption_queue\" \"test\" {\n  name = %q\n%s\n}\n", name, arguments)
}

func TestInterruptionQueue(t *testing.T) {
	name := "interruptions"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noQueue(name),
		Steps: []resource.TestStep{
			{
				Config: queueConfig(name, "tags = { team = \"platform\" }"), ConfigPlanChecks: plansEmpty,
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue(queueAddress, tfjsonpath.New("arn"), knownvalue.StringExact("arn:aws:sqs:eu-west-1:123456789012:interruptions")),
					statecheck.ExpectKnownValue(queueAddress, tfjsonpath.New("rules").AtMapKey("spot"), knownvalue.StringExact("arn:aws:events:eu-west-1:123456789012:rule/interruptions-spot")),
				},
				Check: func(*terraform.State) error {
					return errors.Join(filledBy(name, allRules...), attributesOf(name, map[string]string{"MessageRetentionPeriod": "300", "VisibilityTimeout": "30", "SqsManagedSseEnabled": "true"}))
				},
			},
			{
				ResourceName: queueAddress, ImportState: true, ImportStateId: name, ImportStateVerify: true, ImportStateVerifyIdentifierAttribute: "name",
			},
			{ResourceName: queueAddress, ImportState: true, ImportStateKind: resource.ImportBlockWithID, ImportStateId: name},
			{
				Config: queueConfig(name, `
  rule_prefix                = "prod"
  message_retention_seconds  = 600
  visibility_timeout_seconds = 60
  kms_key_id                 = "alias/queues"
  tags                       = { stage = "prod" }`),
				ConfigPlanChecks: plans(queueAddress, plancheck.ResourceActionUpdate),
				Check: func(*terraform.State) error {
					return errors.Join(filledBy("prod", allRules...), filledBy(name),
						attributesOf(name, map[string]string{"MessageRetentionPeriod": "600", "VisibilityTimeout": "60", "KmsMasterKeyId": "alias/queues"}))
				},
			},
			{ResourceName: queueAddress, ImportState: true, ImportStateKind: resource.ImportBlockWithID, ImportStateId: name},
			{
				Config: queueConfig(name, ""), ConfigPlanChecks: plans(queueAddress, plancheck.ResourceActionUpdate),
				Check: func(*terraform.State) error {
					return errors.Join(filledBy(name, allRules...), filledBy("prod"), attributesOf(name, map[string]string{"KmsMasterKeyId": ""}))
				},
			},
		},
	})
}

// What the resource sets up is what the events need to arrive.
func TestInterruptionQueueReceivesEvents(t *testing.T) {
	name := "receiving"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{{
			Config: queueConfig(name, ""),
			Check: func(*terraform.State) error {
				id := instance(t)
				defer terminate(t, id)
				if err := box.Cloud.ScheduleMaintenance(id); err != nil {
					return err
				}
				for _, body := range box.Cloud.Messages(name) {
					if strings.Contains(body, "AWS Health Event") && strings.Contains(body, id) {
						return nil
					}
				}
				return errors.New("the event has not arrived")
			},
		}},
	})
}

func TestInterruptionQueueDrift(t *testing.T) {
	name, config := "drifting", queueConfig("drifting", "")
	again := func(damage func(context.Context) error) resource.TestStep {
		return resource.TestStep{
			PreConfig: func() {
				if err := damage(t.Context()); err != nil {
					t.Fatal(err)
				}
			},
			Config: config, ConfigPlanChecks: plans(queueAddress, plancheck.ResourceActionUpdate),
			Check: func(*terraform.State) error {
				return errors.Join(filledBy(name, allRules...), attributesOf(name, map[string]string{"MessageRetentionPeriod": "300", "SqsManagedSseEnabled": "true"}))
			},
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noQueue(name),
		Steps: []resource.TestStep{
			{Config: config, ConfigPlanChecks: plansEmpty},
			again(func(ctx context.Context) error {
				_, err := queues.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: queueURL(ctx, name), Attributes: map[string]string{"SqsManagedSseEnabled": "false"}})
				return err
			}),
			again(func(ctx context.Context) error { return deleteRule(ctx, "drifting-spot") }),
			again(func(ctx context.Context) error {
				_, err := rules.PutRule(ctx, &eventbridge.PutRuleInput{Name: aws.String("drifting-state"), EventPattern: aws.String(`{"source":["aws.s3"]}`)})
				return err
			}),
			again(func(ctx context.Context) error {
				_, err := queues.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: queueURL(ctx, name), Attributes: map[string]string{"Policy": "", "MessageRetentionPeriod": "60"}})
				return err
			}),
			{
				PreConfig: func() {
					if _, err := queues.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: queueURL(t.Context(), name)}); err != nil {
						t.Fatal(err)
					}
				},
				Config: config, ConfigPlanChecks: plans(queueAddress, plancheck.ResourceActionCreate),
				Check: func(*terraform.State) error { return filledBy(name, allRules...) },
			},
		},
	})
}

// Rules of a prefix that was given up after a failed update are deleted by the next one.
func TestInterruptionQueueKeepsNoRuleAfterAFailedUpdate(t *testing.T) {
	name := "half-changed"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noQueue(name),
		Steps: []resource.TestStep{
			{Config: queueConfig(name, "")},
			{PreConfig: refuseOnce(t, "events", "RemoveTargets"), Config: queueConfig(name, `rule_prefix = "given-up"`), ExpectError: injectedFault},
			{
				Config: queueConfig(name, ""), ConfigPlanChecks: plans(queueAddress, plancheck.ResourceActionUpdate),
				Check: func(*terraform.State) error { return errors.Join(filledBy(name, allRules...), filledBy("given-up")) },
			},
		},
	})
}

// A rule that somebody else has made is named, and stays as it is. So it does with a queue
// whose name is given up for that.
func TestInterruptionQueueTakesNoRuleOver(t *testing.T) {
	name, rule := "crowded", "crowded-spot"
	pattern := `{"source":["aws.s3"]}`
	if _, err := rules.PutRule(t.Context(), &eventbridge.PutRuleInput{Name: &rule, EventPattern: &pattern}); err != nil {
		t.Fatal(err)
	}
	untouched := func(*terraform.State) error {
		live, err := rules.DescribeRule(context.Background(), &eventbridge.DescribeRuleInput{Name: &rule})
		if err == nil && *live.EventPattern != pattern {
			err = fmt.Errorf("pattern of %s = %s", rule, *live.EventPattern)
		}
		return err
	}
	defer func() {
		if _, err := rules.DeleteRule(context.Background(), &eventbridge.DeleteRuleInput{Name: &rule}); err != nil {
			t.Error(err)
		}
	}()
	const refusal = "EventBridge rule crowded-spot already exists and does not belong to this queue: set another `rule_prefix`, or delete the rule"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             resource.ComposeTestCheckFunc(noQueue(name), noQueue("roomy"), untouched),
		Steps: []resource.TestStep{
			{Config: queueConfig(name, ""), ExpectError: words(refusal)},
			{Config: queueConfig(name, `rule_prefix = "roomy"`), ConfigPlanChecks: plansEmpty, Check: untouched},
			{Config: queueConfig(name, ""), ExpectError: words(refusal)},
			{
				Config: queueConfig(name, `rule_prefix = "roomier"`), ConfigPlanChecks: plans(queueAddress, plancheck.ResourceActionUpdate),
				Check: func(*terraform.State) error {
					return errors.Join(untouched(nil), filledBy("roomier", allRules...), filledBy("roomy"))
				},
			},
		},
	})
}

// The tags that CloudFormation has given a queue are nobody else's to change.
func TestImportedInterruptionQueueKeepsTagsOfAWS(t *testing.T) {
	name := "stacked"
	ofAWS := map[string]string{"aws:cloudformation:stack-name": "events"}
	all := maps.Clone(ofAWS)
	all["team"] = "theirs"
	if _, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Tags: all}); err != nil {
		t.Fatal(err)
	}
	tagged := func(more map[string]string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			want := maps.Clone(ofAWS)
			maps.Copy(want, more)
			return sameTags("queue", want)(tagsOfQueue(context.Background(), name))
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noQueue(name),
		Steps: []resource.TestStep{
			{
				Config:           "import {\n to = " + queueAddress + "\n id = \"" + name + "\"\n}\n" + queueConfig(name, `tags = { team = "ours" }`),
				ConfigPlanChecks: plansEmpty, Check: tagged(map[string]string{"team": "ours"}),
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue(queueAddress, tfjsonpath.New("tags_all"), knownvalue.MapExact(map[string]knownvalue.Check{"team": knownvalue.StringExact("ours")})),
				},
			},
			{Config: queueConfig(name, ""), ConfigPlanChecks: plans(queueAddress, plancheck.ResourceActionUpdate), Check: tagged(nil)},
		},
	})
}

// The rules of a queue that was imported before it had any are not others' rules either.
func TestImportedInterruptionQueueTakesNoRuleOver(t *testing.T) {
	name, rule := "found", "found-state"
	if _, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name}); err != nil {
		t.Fatal(err)
	}
	if _, err := rules.PutRule(t.Context(), &eventbridge.PutRuleInput{Name: &rule, EventPattern: aws.String(`{"source":["aws.s3"]}`)}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := rules.DeleteRule(context.Background(), &eventbridge.DeleteRuleInput{Name: &rule}); err != nil {
			t.Error(err)
		}
	}()
	taken := "import {\n to = " + queueAddress + "\n id = \"" + name + "\"\n}\n"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noQueue(name),
		Steps: []resource.TestStep{
			{Config: taken + queueConfig(name, ""), ExpectError: words("EventBridge rule found-state already exists")},
			{Config: queueConfig(name, `rule_prefix = "finders"`), ConfigPlanChecks: plansEmpty, Check: func(*terraform.State) error { return filledBy("finders", allRules...) }},
		},
	})
}

func TestInterruptionQueueRefuses(t *testing.T) {
	if _, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("theirs")}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := queues.DeleteQueue(context.Background(), &sqs.DeleteQueueInput{QueueUrl: queueURL(context.Background(), "theirs")}); err != nil {
			t.Error(err)
		}
	}()
	tests := map[string]struct{ config, want string }{
		"a queue that exists": {queueConfig("theirs", ""), "queue theirs already exists"},
		"a name":              {queueConfig("no spaces", ""), "must consist of 1 to 80 letters, digits, hyphens and underscores"},
		"a long name":         {queueConfig(strings.Repeat("q", 50), ""), "is too long: the rule"},
		"a long prefix":       {queueConfig("q", "rule_prefix = \""+strings.Repeat("p", 44)+"\""), "Set a `rule_prefix` of at most 43 characters"},
		"a retention":         {queueConfig("q", "message_retention_seconds = 30"), "value must be between 60 and 1209600"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: factories(),
				Steps:                    []resource.TestStep{{Config: tt.config, ExpectError: words(tt.want)}},
			})
		})
	}
}

// instance buys a machine of no cluster.
func instance(t *testing.T) (id string) {
	t.Helper()
	images, err := machines.DescribeImages(t.Context(), &ec2.DescribeImagesInput{})
	if err != nil {
		t.Fatal(err)
	}
	subnets, err := machines.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := machines.RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: images.Images[0].ImageId, SubnetId: subnets.Subnets[0].SubnetId, InstanceType: "t3.medium", MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
	})
	if err != nil {
		t.Fatal(err)
	}
	return *out.Instances[0].InstanceId
}

func terminate(t *testing.T, id string) {
	t.Helper()
	if _, err := machines.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Error(err)
	}
}

// filledBy checks which rules with the prefix put events on a queue.
func filledBy(prefix string, kinds ...string) error {
	ctx := context.Background()
	list, err := rules.ListRules(ctx, &eventbridge.ListRulesInput{NamePrefix: aws.String(prefix + "-")})
	if err != nil {
		return err
	}
	got := []string{}
	for _, rule := range list.Rules {
		targets, err := rules.ListTargetsByRule(ctx, &eventbridge.ListTargetsByRuleInput{Rule: rule.Name})
		if err != nil {
			return err
		}
		if len(targets.Targets) == 1 && rule.State == "ENABLED" && !strings.Contains(*rule.EventPattern, "s3") {
			got = append(got, strings.TrimPrefix(*rule.Name, prefix+"-"))
		}
	}
	if diff := cmp.Diff(append([]string{}, kinds...), got); diff != "" {
		return fmt.Errorf("rules of %s (-want +got):\n%s", prefix, diff)
	}
	return nil
}

// attributesOf checks attributes of a queue, and that its policy is ours.
func attributesOf(name string, want map[string]string) error {
	ctx := context.Background()
	out, err := queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: queueURL(ctx, name), AttributeNames: []sqstypes.QueueAttributeName{"All"}})
	if err != nil {
		return err
	}
	got := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		got[key] = out.Attributes[key]
	}
	var policy struct{ Statement []struct{ Sid string } }
	if err := json.Unmarshal([]byte(out.Attributes["Policy"]), &policy); err != nil || len(policy.Statement) != 3 {
		return fmt.Errorf("policy = %s (%w)", out.Attributes["Policy"], err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("attributes (-want +got):\n%s", diff)
	}
	return nil
}

// queueURL is nil for a queue that is not there.
func queueURL(ctx context.Context, name string) *string {
	out, err := queues.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(name)})
	if err != nil {
		return nil
	}
	return out.QueueUrl
}

func deleteRule(ctx context.Context, name string) error {
	if _, err := rules.RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{Rule: aws.String(name), Ids: []string{"packhorse-interruption-queue"}}); err != nil {
		return err
	}
	_, err := rules.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: aws.String(name)})
	return err
}

func noQueue(name string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		if queueURL(context.Background(), name) != nil {
			return fmt.Errorf("queue %s is still there", name)
		}
		return filledBy(name)
	}
}

// codeOf returns the AWS error code of an error.
func codeOf(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}
