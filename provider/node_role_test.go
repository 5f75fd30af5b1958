package provider_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
)

const nodeRoleAddress = "packhorse_node_role.test"

func nodeRoleConfig(name, arguments string) string {
	return byName() + fmt.Sprintf("resource \"packhorse_node_role\" \"test\" {\n  name = %q\n%s\n}\n", name, arguments)
}

// plansEmpty expects that the plan after an apply shows nothing.
var plansEmpty = resource.ConfigPlanChecks{PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}

// plans expects an action and that the plan afterwards shows nothing.
func plans(address string, action plancheck.ResourceActionType) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{
		PreApply:             []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, action)},
		PostApplyPostRefresh: plansEmpty.PostApplyPostRefresh,
	}
}

func arnOfRole(name string) string { return "arn:aws:iam::123456789012:role/" + name }

func nodePolicies(names ...string) []string {
	arns := make([]string, len(names))
	for i, name := range names {
		arns[i] = "arn:aws:iam::aws:policy/" + name
	}
	return arns
}

func TestNodeRole(t *testing.T) {
	name := "nodes"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             resource.ComposeTestCheckFunc(noNodeRole(name), func(*terraform.State) error { return noProfile("nodes-profile") }),
		Steps: []resource.TestStep{
			{
				Config: nodeRoleConfig(name, "tags = { team = \"platform\" }"), ConfigPlanChecks: plansEmpty,
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue(nodeRoleAddress, tfjsonpath.New("arn"), knownvalue.StringExact(arnOfRole(name))),
					statecheck.ExpectKnownValue(nodeRoleAddress, tfjsonpath.New("instance_profile"), knownvalue.StringExact(name)),
					statecheck.ExpectKnownValue(nodeRoleAddress, tfjsonpath.New("cluster_name"), knownvalue.StringExact(box.ClusterName)),
				},
				Check: func(*terraform.State) error {
					return errors.Join(
						attachedTo(name, nodePolicies("AmazonEC2ContainerRegistryPullOnly", "AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy")...),
						profileHolds(name, name), admitted(name, "EC2_LINUX"))
				},
			},
			{
				ResourceName: nodeRoleAddress, ImportState: true, ImportStateId: name, ImportStateVerify: true,
				ImportStateVerifyIdentifierAttribute: "name",
			},
			{ResourceName: nodeRoleAddress, ImportState: true, ImportStateKind: resource.ImportBlockWithID, ImportStateId: name},
			{
				Config: nodeRoleConfig(name, `
  description      = "machines"
  cni_policy       = false
  policy_arns      = ["arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"]
  instance_profile = "nodes-profile"
  access_entry     = "EC2_WINDOWS"
  tags             = { stage = "prod" }`),
				ConfigPlanChecks: plans(nodeRoleAddress, plancheck.ResourceActionUpdate),
				Check: func(*terraform.State) error {
					return errors.Join(
						attachedTo(name, nodePolicies("AmazonEC2ContainerRegistryPullOnly", "AmazonEKSWorkerNodePolicy", "AmazonSSMManagedInstanceCore")...),
						// Machines that run were launched with the former profile.
						profileHolds("nodes-profile", name), profileHolds(name, name), admitted(name, "EC2_WINDOWS"))
				},
			},
			{
				ResourceName: nodeRoleAddress, ImportState: true, ImportStateId: name, ImportStateVerify: true,
				ImportStateVerifyIdentifierAttribute: "name", ImportStateVerifyIgnore: []string{"instance_profile", "instance_profile_arn"},
			},
			{
				Config: nodeRoleConfig(name, `
  access_entry = "none"
  policies     = { logs = "{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Action\":\"logs:*\",\"Resource\":\"*\"}]}" }`),
				ConfigPlanChecks: plans(nodeRoleAddress, plancheck.ResourceActionUpdate),
				Check:            func(*terraform.State) error { return errors.Join(notAdmitted(name), inlinePolicies(name, "logs")) },
			},
			{
				// The same policy in another spelling is no change.
				Config: nodeRoleConfig(name, `
  access_entry = "none"
  policies     = { logs = jsonencode({ Version = "2012-10-17", Statement = [{ Effect = "Allow", Action = "logs:*", Resource = "*" }] }) }`),
				PlanOnly: true,
			},
		},
	})
}

func TestNodeRoleRidesOutIAMsLag(t *testing.T) {
	name := "lagging-nodes"
	box.Cloud.SetBehaviour(cloud.Behaviour{IAMLag: time.Second, PendingDelay: time.Second, ShuttingDownDelay: time.Second, TerminatedVisible: time.Hour})
	defer box.Cloud.SetBehaviour(cloud.Behaviour{PendingDelay: time.Second, ShuttingDownDelay: time.Second, TerminatedVisible: time.Hour})
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noNodeRole(name),
		Steps: []resource.TestStep{{
			Config: nodeRoleConfig(name, ""), ConfigPlanChecks: plansEmpty,
			Check: func(*terraform.State) error {
				return errors.Join(profileHolds(name, name), admitted(name, "EC2_LINUX"))
			},
		}},
	})
}

func TestNodeRoleDrift(t *testing.T) {
	name, config := "drifting-nodes", nodeRoleConfig("drifting-nodes", "policies = { logs = jsonencode({ Version = \"2012-10-17\", Statement = [{ Effect = \"Allow\", Action = \"logs:*\", Resource = \"*\" }] }) }")
	whole := func(*terraform.State) error {
		return errors.Join(profileHolds(name, name), admitted(name, "EC2_LINUX"), inlinePolicies(name, "logs"),
			attachedTo(name, nodePolicies("AmazonEC2ContainerRegistryPullOnly", "AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy")...))
	}
	again := func(damage func(context.Context) error) resource.TestStep {
		return resource.TestStep{
			PreConfig: func() {
				if err := damage(t.Context()); err != nil {
					t.Fatal(err)
				}
			},
			Config: config, ConfigPlanChecks: plans(nodeRoleAddress, plancheck.ResourceActionUpdate), Check: whole,
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noNodeRole(name),
		Steps: []resource.TestStep{
			{Config: config, ConfigPlanChecks: plansEmpty, Check: whole},
			again(func(ctx context.Context) error { return deleteProfile(ctx, name) }),
			again(func(ctx context.Context) error {
				_, err := roles.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: aws.String(name), RoleName: aws.String(name)})
				return err
			}),
			again(func(ctx context.Context) error {
				_, err := access.DeleteAccessEntry(ctx, &eks.DeleteAccessEntryInput{ClusterName: aws.String(box.ClusterName), PrincipalArn: aws.String(arnOfRole(name))})
				return err
			}),
			again(func(ctx context.Context) error {
				_, err := roles.DetachRolePolicy(ctx, &iam.DetachRolePolicyInput{RoleName: aws.String(name), PolicyArn: aws.String(nodePolicies("AmazonEKSWorkerNodePolicy")[0])})
				return err
			}),
			again(func(context.Context) error { trustEverybody(t, name); return nil }),
			{
				PreConfig: func() { putPolicy(t, name, "theirs", allowNothing) },
				Config:    config, Destroy: true, ExpectError: words("it still has inline policies theirs"),
			},
			{
				PreConfig: func() { deletePolicy(t, name, "theirs"); vanish(t, name) },
				Config:    config, ConfigPlanChecks: plans(nodeRoleAddress, plancheck.ResourceActionCreate), Check: whole,
			},
		},
	})
}

// refuseOnce makes AWS refuse the next call of an action.
func refuseOnce(t *testing.T, service, action string) func() {
	return func() {
		t.Cleanup(box.Cloud.Inject(cloud.Fault{Service: service, Action: action, Code: "AccessDenied", Times: 1}))
	}
}

// injectedFault is what Terraform says then.
var injectedFault = words("api error AccessDenied: Injected fault.")

// An update that fails before it has detached a policy leaves that to the next one, also if
// that attaches another policy instead.
func TestNodeRoleKeepsNoPolicyAfterAFailedUpdate(t *testing.T) {
	name := "half-changed-nodes"
	with := func(policy string) string {
		return nodeRoleConfig(name, fmt.Sprintf("policy_arns = [%q]", nodePolicies(policy)[0]))
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noNodeRole(name),
		Steps: []resource.TestStep{
			{Config: with("AdministratorAccess")},
			{PreConfig: refuseOnce(t, "iam", "AttachRolePolicy"), Config: with("AmazonS3ReadOnlyAccess"), ExpectError: injectedFault},
			{
				Config: with("AmazonSSMManagedInstanceCore"), ConfigPlanChecks: plans(nodeRoleAddress, plancheck.ResourceActionUpdate),
				Check: func(*terraform.State) error {
					return attachedTo(name, nodePolicies("AmazonEC2ContainerRegistryPullOnly", "AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonSSMManagedInstanceCore")...)
				},
			},
		},
	})
}

// An update that fails once it has made another instance profile leaves it. The destroy deletes it, also if the first one
// is declared again.
func TestNodeRoleKeepsNoProfileAfterAFailedUpdate(t *testing.T) {
	name, other := "half-moved-nodes", "half-moved-nodes-2"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             func(s *terraform.State) error { return errors.Join(noNodeRole(name)(s), noProfile(other)) },
		Steps: []resource.TestStep{
			{Config: nodeRoleConfig(name, "")},
			{PreConfig: refuseOnce(t, "iam", "AddRoleToInstanceProfile"), Config: nodeRoleConfig(name, fmt.Sprintf("instance_profile = %q", other)), ExpectError: injectedFault},
			{Config: nodeRoleConfig(name, ""), ConfigPlanChecks: plansEmpty},
		},
	})
}

// An instance profile that somebody has made for the role keeps what it is tagged with.
func TestNodeRoleKeepsTagsOfAnExistingProfile(t *testing.T) {
	name := "prepared-nodes"
	theirs := types.Tag{Key: aws.String("owner"), Value: aws.String("them")}
	if _, err := roles.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: &name, Tags: []types.Tag{theirs}}); err != nil {
		t.Fatal(err)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noNodeRole(name),
		Steps: []resource.TestStep{{
			Config: nodeRoleConfig(name, `tags = { team = "platform" }`), ConfigPlanChecks: plansEmpty,
			Check: func(*terraform.State) error {
				return errors.Join(profileHolds(name, name), sameTags("profile", map[string]string{"owner": "them", "team": "platform"})(tagsOfProfile(context.Background(), name)))
			},
		}},
	})
}

// onlyConfigMap makes the cluster one that reads only the aws-auth ConfigMap.
func onlyConfigMap(t *testing.T) {
	for _, action := range []string{"DescribeAccessEntry", "CreateAccessEntry", "DeleteAccessEntry"} {
		t.Cleanup(box.Cloud.Inject(cloud.Fault{
			Service: "eks", Action: action, Code: "InvalidRequestException",
			Message: "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] to perform this operation.",
		}))
	}
}

// A role that was declared with an access entry in a cluster without them can be changed and imported.
func TestNodeRoleInAClusterWithoutAccessEntries(t *testing.T) {
	name := "configmap-nodes"
	none := nodeRoleConfig(name, `access_entry = "none"`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{PreConfig: func() { onlyConfigMap(t) }, Config: nodeRoleConfig(name, ""), ExpectError: words("create the access entry")},
			{Config: none, ConfigPlanChecks: plansEmpty},
			{
				ResourceName: nodeRoleAddress, ImportState: true, ImportStateId: name, ImportStateVerify: true,
				ImportStateVerifyIdentifierAttribute: "name",
			},
		},
	})
}

// EKS admits nobody by the access entry of a role that was deleted, also if a new role has its name.
func TestNodeRoleReplacesTheEntryOfAnEarlierRole(t *testing.T) {
	name, theirs := "earlier-nodes", map[string]string{"owner": "earlier"}
	entry := func(ctx context.Context) (*eks.DescribeAccessEntryOutput, error) {
		return access.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: aws.String(box.ClusterName), PrincipalArn: aws.String(arnOfRole(name))})
	}
	config := nodeRoleConfig(name, `tags = { team = "platform" }`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noNodeRole(name),
		Steps: []resource.TestStep{
			{Config: config},
			{
				PreConfig: func() {
					left, err := entry(t.Context())
					if err == nil {
						_, err = access.TagResource(t.Context(), &eks.TagResourceInput{ResourceArn: left.AccessEntry.AccessEntryArn, Tags: theirs})
					}
					if err == nil {
						err = deleteProfile(t.Context(), name)
					}
					if err != nil {
						t.Fatal(err)
					}
					vanish(t, name)
				},
				Config: config, ConfigPlanChecks: plans(nodeRoleAddress, plancheck.ResourceActionCreate),
				Check: func(*terraform.State) error {
					created, err := entry(context.Background())
					if err != nil {
						return err
					}
					return sameTags("access entry", map[string]string{"team": "platform"})(created.AccessEntry.Tags, nil)
				},
			},
		},
	})
}

// The instance profile of Karpenter's roles has a path of its own.
func TestNodeRoleAdoptsAProfileOfAnotherPath(t *testing.T) {
	ctx, name, profile := t.Context(), "karpenter-nodes", "prod_1234"
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`
	_, err := roles.CreateRole(ctx, &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: &trust})
	if err == nil {
		_, err = roles.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: &profile, Path: aws.String("/karpenter/eu-west-1/prod/uid/")})
	}
	if err == nil {
		_, err = roles.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &profile, RoleName: &name})
	}
	if err != nil {
		t.Fatal(err)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noNodeRole(name),
		Steps: []resource.TestStep{{
			Config:           nodeRoleConfig(name, `instance_profile = "prod_1234"`) + fmt.Sprintf("import {\n to = %s\n id = %q\n}\n", nodeRoleAddress, name),
			ConfigPlanChecks: plansEmpty,
			ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectKnownValue(nodeRoleAddress, tfjsonpath.New("instance_profile_arn"),
				knownvalue.StringExact("arn:aws:iam::123456789012:instance-profile/karpenter/eu-west-1/prod/uid/prod_1234"))},
		}},
	})
}

const allowNothing = `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}`

// vanish removes a node role behind Terraform's back.
func vanish(t *testing.T, name string) {
	t.Helper()
	ctx := t.Context()
	attached, err := roles.ListAttachedRolePolicies(ctx, &iam.ListAttachedRolePoliciesInput{RoleName: aws.String(name)})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range attached.AttachedPolicies {
		if _, err := roles.DetachRolePolicy(ctx, &iam.DetachRolePolicyInput{RoleName: aws.String(name), PolicyArn: p.PolicyArn}); err != nil {
			t.Fatal(err)
		}
	}
	inline, err := roles.ListRolePolicies(ctx, &iam.ListRolePoliciesInput{RoleName: aws.String(name)})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range inline.PolicyNames {
		deletePolicy(t, name, p)
	}
	if _, err := roles.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: aws.String(name)}); err != nil {
		t.Fatal(err)
	}
}

func TestNodeRoleRefusesWhatOthersHave(t *testing.T) {
	ctx := t.Context()
	if _, err := roles.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: aws.String("taken")}); err != nil {
		t.Fatal(err)
	}
	if _, err := roles.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String("taken"), RoleName: aws.String("packhorse-node")}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := deleteProfile(context.Background(), "taken"); err != nil {
			t.Error(err)
		}
	}()
	tests := map[string]struct{ config, want string }{
		"a role":           {nodeRoleConfig("packhorse-node", ""), `IAM role packhorse-node already exists`},
		"a profile":        {nodeRoleConfig("other-nodes", `instance_profile = "taken"`), `instance profile taken already exists and has the role packhorse-node: set another name in`},
		"an entry's type":  {nodeRoleConfig("other-nodes", `access_entry = "EC2"`), `value must be one of`},
		"a large policy":   {nodeRoleConfig("other-nodes", `policies = { big = jsonencode({ a = join("", [for i in range(1020) : "0123456789ab"]) }) }`), `policies["big"]: larger than IAM accepts`},
		"no cluster named": {hostBlock() + "resource \"packhorse_node_role\" \"test\" {\n name = \"other-nodes\"\n}\n", "access_entry: no EKS cluster is named: set `cluster_name` here or in the provider block"},
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

// hostBlock is a provider block that names no EKS cluster.
func hostBlock() string {
	return fmt.Sprintf("provider \"packhorse\" {\n kubernetes = { config_path = %q }\n}\n", box.Kubeconfig)
}

func attachedTo(role string, want ...string) error {
	out, err := roles.ListAttachedRolePolicies(context.Background(), &iam.ListAttachedRolePoliciesInput{RoleName: aws.String(role)})
	if err != nil {
		return err
	}
	var got []string
	for _, p := range out.AttachedPolicies {
		got = append(got, *p.PolicyArn)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("attached policies (-want +got):\n%s", diff)
	}
	return nil
}

func profileHolds(profile, role string) error {
	out, err := roles.GetInstanceProfile(context.Background(), &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(profile)})
	if err != nil {
		return err
	}
	if held := out.InstanceProfile.Roles; len(held) != 1 || *held[0].RoleName != role {
		return fmt.Errorf("instance profile %s holds %v, want %s", profile, held, role)
	}
	return nil
}

func noProfile(name string) error {
	_, err := roles.GetInstanceProfile(context.Background(), &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(name)})
	if err == nil {
		return fmt.Errorf("instance profile %s is left", name)
	}
	return nil
}

func deleteProfile(ctx context.Context, name string) error {
	out, err := roles.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(name)})
	if err != nil {
		return err
	}
	for _, role := range out.InstanceProfile.Roles {
		if _, err := roles.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: aws.String(name), RoleName: role.RoleName}); err != nil {
			return err
		}
	}
	_, err = roles.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: aws.String(name)})
	return err
}

func admitted(role, kind string) error {
	out, err := access.DescribeAccessEntry(context.Background(), &eks.DescribeAccessEntryInput{ClusterName: aws.String(box.ClusterName), PrincipalArn: aws.String(arnOfRole(role))})
	if err == nil && *out.AccessEntry.Type != kind {
		err = fmt.Errorf("access entry of %s is of type %s, want %s", role, *out.AccessEntry.Type, kind)
	}
	return err
}

func notAdmitted(role string) error {
	if err := admitted(role, "any"); err == nil || codeOf(err) != "ResourceNotFoundException" {
		return fmt.Errorf("access entry of %s: %w, want none", role, err)
	}
	return nil
}

// noNodeRole checks that nothing of a node role is left.
func noNodeRole(name string) resource.TestCheckFunc {
	return func(s *terraform.State) error {
		return errors.Join(noRole(name)(s), noProfile(name), notAdmitted(name))
	}
}
