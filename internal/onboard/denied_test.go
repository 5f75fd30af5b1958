package onboard_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/assets"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/cloudtest"
)

// What the runner of the guide may not read is left out and named with the permission, unless it has the statement
// of the guide for imports. Only what --only needs is looked up.
func TestDeniedIsLeftOut(t *testing.T) {
	box := cloudtest.Serve(t, cloud.Config{
		Catalogue: offer.EmbeddedCSV(),
		Cluster:   cloud.Cluster{Name: "prod", Version: "1.33", Endpoint: "https://127.0.0.1:6443", CA: []byte("PEM"), ServiceCIDR: "10.100.0.0/16"},
	})
	roles := iam.NewFromConfig(box.Config)
	trust, err := policy.NodeTrust("aws")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"other-node", "prod-node"} {
		made, err := roles.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: &trust})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := eks.NewFromConfig(box.Config).CreateAccessEntry(t.Context(), &eks.CreateAccessEntryInput{
			ClusterName: aws.String("prod"), PrincipalArn: made.Role.Arn, Type: aws.String("EC2_LINUX"),
		}); err != nil {
			t.Fatal(err)
		}
	}
	pods, err := policy.Trust{Cluster: clusterARN, Accounts: []policy.ServiceAccount{{Namespace: "reports", Name: "exporter"}}}.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := roles.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: aws.String("exports"), AssumeRolePolicyDocument: &pods}); err != nil {
		t.Fatal(err)
	}
	addQueues(t, box.Config)
	box.AddNodeGroup(cloud.NodeGroup{Name: "general", InstanceTypes: []string{"m5.large"}, AMIType: "AL2023_x86_64_STANDARD", Min: 2, Max: 5})
	box.AddScalingGroup(cloud.ScalingGroup{
		Name: "workers", InstanceTypes: []string{"c5.large"}, Max: 3,
		Tags: map[string]string{"k8s.io/cluster-autoscaler/enabled": "true", "k8s.io/cluster-autoscaler/prod": "owned"},
	})
	runner := map[string]string{"runner": example(t, "policy.json")}
	lists := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["eks:ListNodegroups","eks:DescribeNodegroup"],"Resource":"*"}]}`
	all := []string{"exports", "general", "general", "other-node", "packhorse-node", "prod-node", "prod", "Karpenter-prod", "workers", "workers"}
	node := func(name string) string {
		return "role " + name + ": iam:GetRole on resource: arn:aws:iam::123456789012:role/" + name
	}
	rules := func(d string) bool { return strings.HasPrefix(d, "rule Karpenter-prodRule") }
	for name, c := range map[string]struct {
		policies map[string]string
		only     []string
		items    []string
		denied   []string // but those of rules
		rules    bool
	}{
		"the runner": {
			runner, nil, []string{"prod-node"},
			[]string{
				node("exports"), node("other-node"), node("packhorse-node"), "queue prod: sqs:GetQueueUrl on resource: arn:aws:sqs:eu-west-1:123456789012:prod",
				"groups of the Cluster Autoscaler: autoscaling:DescribeAutoScalingGroups on resource: *",
				"managed node groups: eks:ListNodegroups on resource: " + clusterARN,
			},
			true,
		},
		"with the statement of the guide": {map[string]string{"runner": runner["runner"], "import": example(t, "import.json")}, nil, all, nil, false},
		"provisioners": {
			map[string]string{"runner": runner["runner"], "groups": lists},
			[]string{"provisioner"}, []string{"general"},
			[]string{"groups of the Cluster Autoscaler: autoscaling:DescribeAutoScalingGroups on resource: *"}, false,
		},
		"roles of ServiceAccounts": {runner, []string{"irsa_role"}, nil, []string{node("exports")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			who := strings.NewReplacer(" ", "-").Replace("as-" + name)
			found, err := onboard.Find(t.Context(), "prod", cluster{}, assets.New(box.As(t, who, c.policies)), c.only...)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, i := range found.Items {
				names = append(names, i.Name)
			}
			slices.Sort(names)
			slices.Sort(c.items)
			slices.Sort(c.denied)
			if diff := cmp.Diff(c.items, names); diff != "" {
				t.Errorf("items, -want +got:\n%s", diff)
			}
			if slices.ContainsFunc(found.Denied, rules) != c.rules {
				t.Errorf("rules are denied: %t; %q", !c.rules, found.Denied)
			}
			others := slices.DeleteFunc(slices.Clone([]string(found.Denied)), rules)
			slices.Sort(others)
			if diff := cmp.Diff(c.denied, others); diff != "" {
				t.Errorf("denied, -want +got:\n%s", diff)
			}
			files, err := onboard.Files(found)
			if err != nil {
				t.Fatal(err)
			}
			for _, left := range found.Denied {
				if !strings.Contains(string(files["main.tf"]), "# - "+left) {
					t.Errorf("main.tf does not name %s:\n%s", left, files["main.tf"])
				}
			}
		})
	}
}

// example is a policy that the guide for the Terraform runner prints.
func example(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../examples/guides/runner/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
