package aws

import (
	"context"
	"slices"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
)

// anyone is a caller, who tries what is none of the agent's business.
type anyone struct{ config awssdk.Config }

func (a anyone) ec2() *ec2.Client { return ec2.NewFromConfig(a.config) }
func (a anyone) iam() *iam.Client { return iam.NewFromConfig(a.config) }
func (a anyone) sqs() *sqs.Client { return sqs.NewFromConfig(a.config) }
func (a anyone) eks() *eks.Client { return eks.NewFromConfig(a.config) }

// foreignCase is a call that the agent has no business to make.
type foreignCase struct {
	name string
	try  func(context.Context, anyone) error
}

// Whatever the agent has no need for is denied to its role, and works with the
// rights of an administrator: it is the policies that keep the agent from it.
func TestForeignActionsAreDenied(t *testing.T) {
	f := start(t)
	admin := anyone{f.config}
	n := f.neighbours(t, admin)
	agent := anyone{f.asAgent(t).config}
	for _, tc := range slices.Concat(n.launches(), n.machines(), elsewhere()) {
		t.Run(tc.name, func(t *testing.T) {
			switch code := call.Code(tc.try(t.Context(), agent)); code {
			case "UnauthorizedOperation", "AccessDenied":
			default:
				t.Errorf("the agent's error is %q, want a denial", code)
			}
			if err := tc.try(t.Context(), admin); err != nil {
				t.Errorf("the call is wrong for another reason than rights: %v", err)
			}
		})
	}
}

// neighbours are what others have in the account, and what "prod" has besides
// what the agent made.
type neighbours struct {
	foreign, nodeGroup, mine []string // instances
	subnet, image            string
}

// The tags of the agent's machines, of another cluster's, and of a managed node
// group's in the agent's own cluster. IAM does not tell the tag keys of the clusters apart.
var (
	ownTags       = map[string]string{"kubernetes.io/cluster/prod": owned, api.TagManagedBy: "prod", api.LabelProvisioner: "default"}
	foreignTags   = map[string]string{"kubernetes.io/cluster/Prod": owned, api.TagManagedBy: "Prod", api.LabelProvisioner: "default"}
	nodeGroupTags = map[string]string{"kubernetes.io/cluster/prod": owned, "eks:nodegroup-name": "system"}
)

// The names of launch templates: another cluster's, and one of ours with a role that
// is not among those that may be passed.
const (
	foreignTemplate  = "others"
	strongerTemplate = "stronger"
)

func (f *fixture) neighbours(t *testing.T, admin anyone) *neighbours {
	t.Helper()
	ctx := t.Context()
	n := &neighbours{mine: []string{f.launch(t, order("mine", 1, onDemand("m5.large", "a"))).Instances[0].ID}}
	described, err := f.admin.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: n.mine})
	must(t, err)
	n.subnet, n.image = *described.Reservations[0].Instances[0].SubnetId, *described.Reservations[0].Instances[0].ImageId
	for tags, into := range map[*map[string]string]*[]string{&foreignTags: &n.foreign, &nodeGroupTags: &n.nodeGroup} {
		out, err := f.admin.RunInstances(ctx, n.run(*tags, ""))
		must(t, err)
		*into = []string{*out.Instances[0].InstanceId}
	}
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::` + testAccount + `:root"},"Action":"sts:AssumeRole"}]}`
	_, err = admin.iam().CreateRole(ctx, &iam.CreateRoleInput{RoleName: awssdk.String("stronger"), AssumeRolePolicyDocument: &trust})
	must(t, err)
	_, err = admin.iam().CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: awssdk.String("stronger")})
	must(t, err)
	_, err = admin.iam().AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: awssdk.String("stronger"), RoleName: awssdk.String("stronger")})
	must(t, err)
	_, err = f.admin.CreateLaunchTemplate(ctx, n.template(foreignTemplate, "packhorse-node", foreignTags))
	must(t, err)
	_, err = f.admin.CreateLaunchTemplate(ctx, n.template(strongerTemplate, "stronger", ownTags))
	must(t, err)
	for _, queue := range []string{"prod-interruptions", "other-interruptions"} {
		must(t, f.account.OpenInterruptionQueue(queue))
	}
	return n
}

func tagged(kind types.ResourceType, tags map[string]string) types.TagSpecification {
	return types.TagSpecification{ResourceType: kind, Tags: tagList(tags)}
}

func (n *neighbours) run(tags map[string]string, profile string) *ec2.RunInstancesInput {
	in := &ec2.RunInstancesInput{
		MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1), InstanceType: types.InstanceTypeM5Large, SubnetId: &n.subnet, ImageId: &n.image,
	}
	if tags != nil {
		in.TagSpecifications = []types.TagSpecification{
			tagged(types.ResourceTypeInstance, tags), tagged(types.ResourceTypeVolume, tags), tagged(types.ResourceTypeNetworkInterface, tags),
		}
	}
	if profile != "" {
		in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: &profile}
	}
	return in
}

func (n *neighbours) template(name, profile string, tags map[string]string) *ec2.CreateLaunchTemplateInput {
	in := &ec2.CreateLaunchTemplateInput{LaunchTemplateName: &name, LaunchTemplateData: &types.RequestLaunchTemplateData{
		ImageId: &n.image, IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: &profile},
		// A fleet is then refused for nothing else than what the case says.
		TagSpecifications: []types.LaunchTemplateTagSpecificationRequest{{ResourceType: types.ResourceTypeNetworkInterface, Tags: tagList(ownTags)}},
	}}
	if tags != nil {
		in.TagSpecifications = []types.TagSpecification{tagged(types.ResourceTypeLaunchTemplate, tags)}
	}
	return in
}

func (n *neighbours) fleet(template string, tags map[string]string) *ec2.CreateFleetInput {
	in := &ec2.CreateFleetInput{
		Type: types.FleetTypeInstant,
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: awssdk.Int32(1), DefaultTargetCapacityType: types.DefaultTargetCapacityTypeOnDemand,
		},
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: &template, Version: awssdk.String("$Latest")},
			Overrides:                   []types.FleetLaunchTemplateOverridesRequest{{InstanceType: types.InstanceTypeM5Large, SubnetId: &n.subnet}},
		}},
	}
	if tags != nil {
		in.TagSpecifications = []types.TagSpecification{
			tagged(types.ResourceTypeFleet, tags), tagged(types.ResourceTypeInstance, tags), tagged(types.ResourceTypeVolume, tags),
		}
	}
	return in
}

// launches buy what would not be the cluster's, or with more rights than nodes have.
func (n *neighbours) launches() []foreignCase {
	run := func(in *ec2.RunInstancesInput) func(context.Context, anyone) error {
		return func(ctx context.Context, who anyone) error {
			_, err := who.ec2().RunInstances(ctx, in)
			return err
		}
	}
	fleet := func(template string, tags map[string]string) func(context.Context, anyone) error {
		return func(ctx context.Context, who anyone) error {
			_, err := who.ec2().CreateFleet(ctx, n.fleet(template, tags))
			return err
		}
	}
	template := func(in *ec2.CreateLaunchTemplateInput) func(context.Context, anyone) error {
		return func(ctx context.Context, who anyone) error {
			_, err := who.ec2().CreateLaunchTemplate(ctx, in)
			return err
		}
	}
	return []foreignCase{
		{"run a machine without tags", run(n.run(nil, ""))},
		{"run a machine for another cluster", run(n.run(foreignTags, ""))},
		{"run a machine of no Provisioner", run(n.run(nodeGroupTags, ""))},
		{"run a machine with another role", run(n.run(ownTags, "stronger"))},
		{"create a fleet of another cluster's launch template", fleet(foreignTemplate, ownTags)},
		{"create a fleet without tags", fleet(strongerTemplate, nil)},
		{"create a fleet for another cluster", fleet(strongerTemplate, foreignTags)},
		{"pass another role through a launch template of ours", fleet(strongerTemplate, ownTags)},
		{"create a launch template without tags", template(n.template("untagged", "packhorse-node", nil))},
		{"create a launch template for another cluster", template(n.template("theirs", "packhorse-node", foreignTags))},
	}
}

// machines are changes of what exists.
func (n *neighbours) machines() []foreignCase {
	tag := func(ids []string, tags map[string]string) func(context.Context, anyone) error {
		return func(ctx context.Context, who anyone) error {
			_, err := who.ec2().CreateTags(ctx, &ec2.CreateTagsInput{Resources: ids, Tags: tagList(tags)})
			return err
		}
	}
	terminate := func(ids ...string) func(context.Context, anyone) error {
		return func(ctx context.Context, who anyone) error {
			_, err := who.ec2().TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: ids})
			return err
		}
	}
	marks := map[string]string{
		api.TagManagedBy: "prod", api.TagClusterPrefix + "prod": owned, api.LabelProvisioner: "default", api.TagLaunchID: "launch",
	}
	untag := func(ids []string, keys ...string) func(context.Context, anyone) error {
		in := &ec2.DeleteTagsInput{Resources: ids}
		for _, key := range keys {
			in.Tags = append(in.Tags, types.Tag{Key: &key})
		}
		return func(ctx context.Context, who anyone) error {
			_, err := who.ec2().DeleteTags(ctx, in)
			return err
		}
	}
	return []foreignCase{
		{"claim another cluster's machine by tags", tag(n.foreign, map[string]string{"Name": "mine"})},
		{"tag a machine of a node group", tag(n.nodeGroup, map[string]string{"Name": "mine"})},
		{"tag a machine of its own after the launch", tag(n.mine, map[string]string{"Name": "other"})},
		{"tag a subnet", tag([]string{n.subnet}, map[string]string{"Name": "other"})},
		{"untag a machine of its own", untag(n.mine, "Name")},
		{"untag a machine of a node group", untag(n.nodeGroup, api.LabelNodePool)},
		{"terminate another cluster's machine", terminate(n.foreign...)},
		{"terminate a machine of a node group", terminate(n.nodeGroup...)},
		{"terminate another's machine along with its own", terminate(n.mine[0], n.foreign[0])},
		{"delete another cluster's launch template", func(ctx context.Context, who anyone) error {
			_, err := who.ec2().DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: awssdk.String(foreignTemplate)})
			return err
		}},
		{"put its own tags on another cluster's machine", tag(n.foreign, marks)},
		{"put its own tags on a machine of a node group", tag(n.nodeGroup, marks)},
		{"remove all tags of a machine of its own", untag(n.mine)},
		{"remove all tags of a machine of a node group", untag(n.nodeGroup)},
	}
}

// elsewhere are calls of other services than EC2.
func elsewhere() []foreignCase {
	return []foreignCase{
		{"receive from another queue", func(ctx context.Context, who anyone) error {
			_, err := who.sqs().ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: queueURL(who, "other-interruptions")})
			return err
		}},
		{"find another queue", func(ctx context.Context, who anyone) error {
			_, err := who.sqs().GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: awssdk.String("other-interruptions")})
			return err
		}},
		{"send to its own queue", func(ctx context.Context, who anyone) error {
			_, err := who.sqs().SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: queueURL(who, "prod-interruptions"), MessageBody: awssdk.String("{}")})
			return err
		}},
		{"open its own queue to others", func(ctx context.Context, who anyone) error {
			_, err := who.sqs().SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{
				QueueUrl: queueURL(who, "prod-interruptions"), Attributes: map[string]string{"VisibilityTimeout": "60"},
			})
			return err
		}},
		{"give itself rights", func(ctx context.Context, who anyone) error {
			_, err := who.iam().PutRolePolicy(ctx, &iam.PutRolePolicyInput{
				RoleName: awssdk.String("agent"), PolicyName: awssdk.String("more"),
				PolicyDocument: awssdk.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"ec2:StopInstances","Resource":"*"}]}`),
			})
			return err
		}},
		{"make a profile with a stronger role", func(ctx context.Context, who anyone) error {
			_, err := who.iam().CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: awssdk.String("more")})
			return err
		}},
		{"assume the nodes' role", func(ctx context.Context, who anyone) error {
			_, err := sts.NewFromConfig(who.config).AssumeRole(ctx, &sts.AssumeRoleInput{
				RoleArn: awssdk.String("arn:aws:iam::" + testAccount + ":role/stronger"), RoleSessionName: awssdk.String("other"),
			})
			return err
		}},
		{"let somebody into the cluster", func(ctx context.Context, who anyone) error {
			_, err := who.eks().CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{
				ClusterName: awssdk.String("prod"), PrincipalArn: awssdk.String("arn:aws:iam::" + testAccount + ":role/stronger"),
			})
			return err
		}},
		{"read a parameter of the account", func(ctx context.Context, who anyone) error {
			_, err := ssm.NewFromConfig(who.config).GetParameters(ctx, &ssm.GetParametersInput{Names: []string{"/prod/database/password"}})
			return err
		}},
		{"make a rule for events", func(ctx context.Context, who anyone) error {
			_, err := eventbridge.NewFromConfig(who.config).PutRule(ctx, &eventbridge.PutRuleInput{
				Name: awssdk.String("all"), EventPattern: awssdk.String(`{"source":["aws.ec2"]}`),
			})
			return err
		}},
	}
}

func queueURL(who anyone, name string) *string {
	return awssdk.String(*who.config.BaseEndpoint + "/" + testAccount + "/" + name)
}
