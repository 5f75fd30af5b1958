package provider_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
)

// What the resources in AWS take from the provider block.

// awsResources declares one of each kind in AWS, with further arguments.
func awsResources(arguments string) string {
	return fmt.Sprintf(`
resource "packhorse_node_role" "test" {
  name = "block"
  %[1]s
}

resource "packhorse_interruption_queue" "test" {
  name = "block"
  %[1]s
}

resource "packhorse_irsa_role" "test" {
  name                 = "block-irsa"
  create_oidc_provider = true
  service_accounts     = [{ namespace = "a", name = "b" }]
  %[1]s
}
`, arguments)
}

// noneLeft checks that nothing of awsResources is left.
func noneLeft(s *terraform.State) error {
	return errors.Join(noNodeRole("block")(s), noQueue("block")(s), noRole("block-irsa")(s))
}

// all expects the action on each of awsResources.
func all(action plancheck.ResourceActionType) resource.ConfigPlanChecks {
	out := plansEmpty
	for _, address := range []string{nodeRoleAddress, queueAddress, roleAddress} {
		out.PreApply = append(out.PreApply, plancheck.ExpectResourceAction(address, action))
	}
	return out
}

func TestDefaultTagsOfTheProviderBlock(t *testing.T) {
	block := func(tags string) string {
		return fmt.Sprintf("provider \"packhorse\" {\n cluster_name = %q\n default_tags = %s\n}\n", box.ClusterName, tags)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noneLeft,
		Steps: []resource.TestStep{
			{
				Config:           block(`{ team = "platform", stage = "test" }`) + awsResources(`tags = { stage = "prod" }`),
				ConfigPlanChecks: all(plancheck.ResourceActionCreate),
				Check:            tagged(map[string]string{"team": "platform", "stage": "prod"}),
			},
			// An import takes the tags that are no defaults for the resource's own.
			{ResourceName: nodeRoleAddress, ImportState: true, ImportStateId: "block", ImportStateVerify: true, ImportStateVerifyIdentifierAttribute: "name"},
			{ResourceName: queueAddress, ImportState: true, ImportStateId: "block", ImportStateVerify: true, ImportStateVerifyIdentifierAttribute: "name"},
			{
				ResourceName: roleAddress, ImportState: true, ImportStateId: "block-irsa", ImportStateVerify: true,
				ImportStateVerifyIdentifierAttribute: "name", ImportStateVerifyIgnore: []string{"create_oidc_provider"},
			},
			{
				Config:           block(`{ team = "compute" }`) + awsResources(`tags = { stage = "prod" }`),
				ConfigPlanChecks: all(plancheck.ResourceActionUpdate),
				Check:            tagged(map[string]string{"team": "compute", "stage": "prod"}),
			},
			{
				// What others tag is theirs.
				PreConfig: func() {
					_, err := queues.TagQueue(t.Context(), &sqs.TagQueueInput{QueueUrl: queueURL(t.Context(), "block"), Tags: map[string]string{"theirs": "yes"}})
					if err != nil {
						t.Fatal(err)
					}
				},
				Config: block(`{ team = "compute" }`) + awsResources(`tags = { stage = "prod" }`), ConfigPlanChecks: all(plancheck.ResourceActionNoop),
			},
			{
				PreConfig: func() {
					_, err := queues.UntagQueue(t.Context(), &sqs.UntagQueueInput{QueueUrl: queueURL(t.Context(), "block"), TagKeys: []string{"theirs"}})
					if err != nil {
						t.Fatal(err)
					}
				},
				Config: block("null") + awsResources(""), ConfigPlanChecks: all(plancheck.ResourceActionUpdate), Check: tagged(map[string]string{}),
			},
		},
	})
}

// A tag that is null is no tag, as anywhere in Terraform.
func TestNullTags(t *testing.T) {
	config := func(defaults, tags string) string {
		profile := "resource \"packhorse_node_profile\" \"test\" {\n name = \"null-tags\"\n subnet_selector = { a = \"b\" }\n tags = " + tags + "\n}\n"
		return fmt.Sprintf("provider \"packhorse\" {\n cluster_name = %q\n plan_checks = \"off\"\n default_tags = %s\n}\n", box.ClusterName, defaults) + awsResources("tags = "+tags) + profile
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noneLeft,
		Steps: []resource.TestStep{
			{
				Config: config(`{ team = "platform", cost = null }`, `{ stage = "prod", owner = null }`), ConfigPlanChecks: all(plancheck.ResourceActionCreate),
				Check: tagged(map[string]string{"team": "platform", "stage": "prod"}),
			},
			{
				Config: config(`{ team = "platform" }`, `{ stage = null, owner = "us" }`), ConfigPlanChecks: all(plancheck.ResourceActionUpdate),
				Check: tagged(map[string]string{"team": "platform", "owner": "us"}),
			},
			{Config: config("{ team = null }", "{ owner = null }"), ConfigPlanChecks: all(plancheck.ResourceActionUpdate), Check: tagged(map[string]string{})},
		},
	})
}

// An update that fails between the parts of a resource leaves some with the tags of before.
// The next one sets them all, whatever the configuration says by then.
func TestTagsAfterAFailedUpdate(t *testing.T) {
	ctx, name := context.Background(), "half-tagged"
	tests := map[string]struct {
		service, action, kind, arguments string
		tags                             func(want map[string]string) error
	}{
		"an instance profile": {"iam", "TagInstanceProfile", "packhorse_node_role", "", func(want map[string]string) error {
			return errors.Join(sameTags("role", want)(tagsOfRole(ctx, name)), sameTags("profile", want)(tagsOfProfile(ctx, name)))
		}},
		"an access entry": {"eks", "TagResource", "packhorse_node_role", "", func(want map[string]string) error {
			return errors.Join(sameTags("role", want)(tagsOfRole(ctx, name)), sameTags("profile", want)(tagsOfProfile(ctx, name)), sameTags("entry", want)(tagsOfEntry(ctx, name)))
		}},
		"an access entry that keeps one": {"eks", "UntagResource", "packhorse_node_role", "", func(want map[string]string) error {
			return sameTags("entry", want)(tagsOfEntry(ctx, name))
		}},
		"an association": {"eks", "TagResource", "packhorse_irsa_role", "identity = \"pod-identity\"\n service_accounts = [{ namespace = \"e\", name = \"tagged\" }]\n", func(want map[string]string) error {
			return errors.Join(sameTags("role", want)(tagsOfRole(ctx, name)), sameTags("association", want)(tagsOfAssociation(ctx, "e", "tagged")))
		}},
		"a rule": {"events", "TagResource", "packhorse_interruption_queue", "", func(want map[string]string) error {
			return errors.Join(sameTags("queue", want)(tagsOfQueue(ctx, name)), sameTags("rule", want)(tagsOfRule(ctx, name+"-spot")))
		}},
	}
	for title, tt := range tests {
		t.Run(title, func(t *testing.T) {
			config := func(tags string) string {
				return byName() + fmt.Sprintf("resource %q \"test\" {\n name = %q\n %s tags = %s\n}\n", tt.kind, name, tt.arguments, tags)
			}
			before, now := config(`{ stage = "test", team = "a" }`), config(`{ stage = "prod", cost = "b" }`)
			whole := resource.TestStep{
				Config: now, ConfigPlanChecks: plans(tt.kind+".test", plancheck.ResourceActionUpdate),
				Check: func(*terraform.State) error { return tt.tags(map[string]string{"stage": "prod", "cost": "b"}) },
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: factories(),
				Steps: []resource.TestStep{
					{Config: before},
					{PreConfig: refuseOnce(t, tt.service, tt.action), Config: now, ExpectError: injectedFault},
					whole,
					{PreConfig: refuseOnce(t, tt.service, tt.action), Config: before, ExpectError: injectedFault},
					whole, // and so is a change that was given up
				},
			})
		})
	}
}

func tagsOfEntry(ctx context.Context, role string) (map[string]string, error) {
	out, err := access.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: aws.String(box.ClusterName), PrincipalArn: aws.String(arnOfRole(role))})
	if err != nil {
		return nil, err
	}
	return out.AccessEntry.Tags, nil
}

func tagsOfAssociation(ctx context.Context, namespace, account string) (map[string]string, error) {
	_, id, err := podRole(namespace, account)
	if err != nil {
		return nil, err
	}
	out, err := access.DescribePodIdentityAssociation(ctx, &eks.DescribePodIdentityAssociationInput{ClusterName: aws.String(box.ClusterName), AssociationId: &id})
	if err != nil {
		return nil, err
	}
	return out.Association.Tags, nil
}

// tagged checks the tags of all that awsResources makes in AWS.
func tagged(want map[string]string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		ctx := context.Background()
		return errors.Join(
			sameTags("node role", want)(tagsOfRole(ctx, "block")),
			sameTags("instance profile", want)(tagsOfProfile(ctx, "block")),
			sameTags("IRSA role", want)(tagsOfRole(ctx, "block-irsa")),
			sameTags("queue", want)(tagsOfQueue(ctx, "block")),
			sameTags("rule", want)(tagsOfRule(ctx, "block-spot")),
		)
	}
}

func sameTags(of string, want map[string]string) func(map[string]string, error) error {
	return func(got map[string]string, err error) error {
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			return fmt.Errorf("tags of the %s: %w (-want +got):\n%s", of, err, diff)
		}
		return nil
	}
}

func tagsOfRole(ctx context.Context, name string) (map[string]string, error) {
	out, err := roles.ListRoleTags(ctx, &iam.ListRoleTagsInput{RoleName: &name})
	tags := map[string]string{}
	if err == nil {
		for _, tag := range out.Tags {
			tags[*tag.Key] = *tag.Value
		}
	}
	return tags, err
}

func tagsOfProfile(ctx context.Context, name string) (map[string]string, error) {
	out, err := roles.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: &name})
	tags := map[string]string{}
	if err == nil {
		for _, tag := range out.InstanceProfile.Tags {
			tags[*tag.Key] = *tag.Value
		}
	}
	return tags, err
}

func tagsOfQueue(ctx context.Context, name string) (map[string]string, error) {
	out, err := queues.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: queueURL(ctx, name)})
	if err != nil || out.Tags == nil {
		return map[string]string{}, err
	}
	return out.Tags, nil
}

func tagsOfRule(ctx context.Context, name string) (map[string]string, error) {
	arn := fmt.Sprintf("arn:aws:events:%s:123456789012:rule/%s", box.Region, name)
	out, err := rules.ListTagsForResource(ctx, &eventbridge.ListTagsForResourceInput{ResourceARN: &arn})
	tags := map[string]string{}
	if err == nil {
		for _, tag := range out.Tags {
			tags[*tag.Key] = *tag.Value
		}
	}
	return tags, err
}

const (
	trustsAccount = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"123456789012"},"Action":"sts:AssumeRole"}]}`
	allowsAll     = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`
)

// assumable makes a role that can be assumed.
func assumable(t *testing.T, name string) {
	t.Helper()
	if _, err := roles.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: aws.String(trustsAccount)}); err != nil {
		t.Fatal(err)
	}
	putPolicy(t, name, "all", allowsAll)
	t.Cleanup(func() {
		ctx := context.Background()
		_, policyErr := roles.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: &name, PolicyName: aws.String("all")})
		_, err := roles.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: &name})
		if err := errors.Join(policyErr, err); err != nil {
			t.Error(err)
		}
	})
}

// All calls are made as the role that the provider block names, but for that of
// becoming it.
func TestAssumedRoleOfTheProviderBlock(t *testing.T) {
	assumable(t, "deployer")
	block := func(role string) string {
		return fmt.Sprintf("provider \"packhorse\" {\n cluster_name = %q\n assume_role = { role_arn = %q, session_name = \"ci\", duration = \"30m\" }\n}\n", box.ClusterName, arnOfRole(role))
	}
	before := len(box.Cloud.Calls())
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noneLeft,
		Steps: []resource.TestStep{
			{Config: block("nobody") + awsResources(""), ExpectError: words("Not authorized to perform sts:AssumeRole on resource: " + arnOfRole("nobody"))},
			{
				Config: block("deployer") + awsResources(""), ConfigPlanChecks: all(plancheck.ResourceActionCreate),
				Check: func(*terraform.State) error {
					return madeAs("arn:aws:sts::123456789012:assumed-role/deployer/ci", before, "CreateRole", "CreateInstanceProfile", "CreateAccessEntry", "CreateQueue", "PutRule", "DescribeCluster")
				},
			},
		},
	})
}

// madeAs checks who has made the calls of some actions since a number of calls.
func madeAs(principal string, since int, actions ...string) error {
	var problems []error
	seen := map[string]bool{}
	for _, call := range box.Cloud.Calls()[since:] {
		if !slices.Contains(actions, call.Action) {
			continue
		}
		seen[call.Action] = true
		if call.Principal != principal {
			problems = append(problems, fmt.Errorf("%s was called as %s, want %s", call.Action, call.Principal, principal))
		}
	}
	for _, action := range actions {
		if !seen[action] {
			problems = append(problems, fmt.Errorf("%s was not called", action))
		}
	}
	return errors.Join(problems...)
}

// unknownBlock takes values of the provider block from a resource of the same apply.
func unknownBlock(replace string) string {
	return fmt.Sprintf(`
resource "terraform_data" "block" {
  input            = { cluster = %q, team = "platform" }
  triggers_replace = %q
}

provider "packhorse" {
  cluster_name = terraform_data.block.output.cluster
  default_tags = { team = terraform_data.block.output.team }
}
`, box.ClusterName, replace)
}

func TestProviderBlockUnknownToAWSResources(t *testing.T) {
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noneLeft,
		Steps: []resource.TestStep{
			{
				// Creates plan without a client, and the apply knows the account.
				Config:           unknownBlock("first") + awsResources(""),
				ConfigPlanChecks: all(plancheck.ResourceActionCreate),
				Check:            tagged(map[string]string{"team": "platform"}),
			},
			{
				// What exists keeps its recorded state while the block is unknown.
				Config:           unknownBlock("second") + awsResources(""),
				ConfigPlanChecks: all(plancheck.ResourceActionNoop),
			},
			{
				// A change is planned without AWS too.
				Config:           unknownBlock("third") + awsResources(`tags = { stage = "prod" }`),
				ConfigPlanChecks: all(plancheck.ResourceActionUpdate),
				Check:            tagged(map[string]string{"team": "platform", "stage": "prod"}),
			},
		},
	})
}
