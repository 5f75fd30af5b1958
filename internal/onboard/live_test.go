package onboard_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/config"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	kubeyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	packhorseaws "github.com/packhorse-io/terraform-provider-packhorse/internal/aws"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/assets"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/eventqueue"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/survey"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/sandboxtest"
	"github.com/packhorse-io/terraform-provider-packhorse/provider"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/cmd/terraform-provider-packhorse/platform"
)

// patience bounds each wait.
const patience = time.Minute

// TestPlanOfAnImportedClusterShowsImportsOnly imports a cluster as people have it,
// and plans and applies what was written.
func TestPlanOfAnImportedClusterShowsImportsOnly(t *testing.T) {
	box := startBox(t)
	cfg := populate(t, box)
	cluster, err := survey.NewCluster(box.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	found, err := onboard.Find(t.Context(), box.ClusterName, cluster, assets.New(cfg))
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, item := range found.Items {
		count[item.Kind]++
		if item.Kind == "EC2NodeClass" && !strings.Contains(item.Configuration, `= "machines"`) {
			t.Errorf("the role of the EC2NodeClass is not resolved: %v\n%s", item.Notes, item.Configuration)
		}
	}
	for kind, want := range map[string]int{
		"Provisioner": 2, "AWSNodeTemplate": 1, "NodePool": 2, "EC2NodeClass": 1, "IRSA role": 3, "node role": 1, "interruption queue": 2, "managed node group": 4, "Cluster Autoscaler group": 2,
	} {
		if count[kind] != want {
			t.Errorf("%d items of kind %s, want %d", count[kind], kind, want)
		}
	}
	files, err := onboard.Files(found)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := onboard.Write(dir, files); err != nil {
		t.Fatal(err)
	}
	format := exec.CommandContext(t.Context(), "terraform", "fmt", "-check", "-diff", dir)
	if out, err := format.CombinedOutput(); err != nil {
		t.Errorf("terraform fmt would change: %v\n%s", err, out)
	}
	resource.Test(t, resource.TestCase{Steps: []resource.TestStep{{
		ProtoV6ProviderFactories: map[string]func() (tfprotov6.ProviderServer, error){
			"packhorse": providerserver.NewProtocol6WithError(provider.New("test", platform.Connect)()),
		},
		ConfigDirectory: config.StaticDirectory(dir),
		ConfigPlanChecks: resource.ConfigPlanChecks{
			PreApply:             []plancheck.PlanCheck{onlyImports{7}},
			PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
		},
	}}})
}

// onlyImports expects a number of imports, and no change.
type onlyImports struct{ count int }

func (o onlyImports) CheckPlan(_ context.Context, req plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	imports := 0
	for _, change := range req.Plan.ResourceChanges {
		if change.Change.Importing != nil {
			imports++
		}
		if !change.Change.Actions.NoOp() {
			resp.Error = errors.Join(resp.Error, fmt.Errorf("%s: %v\n before %v\n after  %v", change.Address, change.Change.Actions, change.Change.Before, change.Change.After))
		}
	}
	if imports != o.count {
		resp.Error = errors.Join(resp.Error, fmt.Errorf("%d imports, want %d", imports, o.count))
	}
}

func startBox(t *testing.T) *sandbox.Sandbox {
	t.Helper()
	box := sandboxtest.Start(t, sandbox.Options{ClusterName: "prod"})
	for _, variable := range append(box.Env(), "TF_ACC=1", "TF_ACC_PROVIDER_NAMESPACE=packhorse", "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE="+os.DevNull) {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	if os.Getenv("TF_ACC_TERRAFORM_PATH") == "" {
		path, err := exec.LookPath("terraform")
		if err != nil {
			t.Fatalf("this test needs Terraform in the PATH: %v", err)
		}
		t.Setenv("TF_ACC_TERRAFORM_PATH", path)
	}
	return box
}

// populate fills the cluster and the account with what is to be found.
func populate(t *testing.T, box *sandbox.Sandbox) aws.Config {
	t.Helper()
	for _, crd := range api.CRDs() {
		applyAll(t, box, crd.YAML)
	}
	applyAll(t, box, read(t, "crds.yaml"))
	applyAll(t, box, read(t, "cluster.yaml"))
	box.Cloud.AddNodeGroup(cloud.NodeGroup{Name: "general", InstanceTypes: []string{"m5.large"}, AMIType: "AL2023_x86_64_STANDARD", Min: 2, Max: 5})
	box.Cloud.AddNodeGroup(cloud.NodeGroup{Name: "batch", InstanceTypes: []string{"c7g.large"}, AMIType: "BOTTLEROCKET_ARM_64", Spot: true, Max: 9})
	box.Cloud.AddScalingGroup(cloud.ScalingGroup{
		Name: "workers", InstanceTypes: []string{"c5.large"}, Max: 3,
		Tags: map[string]string{"k8s.io/cluster-autoscaler/enabled": "true", "k8s.io/cluster-autoscaler/prod": "owned"},
	})
	cfg, err := packhorseaws.LoadConfig(t.Context(), box.Region)
	if err != nil {
		t.Fatal(err)
	}
	addRoles(t, iam.NewFromConfig(cfg), box.Host)
	addPodIdentity(t, cfg, box)
	addQueues(t, cfg)
	return cfg
}

// addRoles adds a role that can be imported, and one that trusts by a pattern.
func addRoles(t *testing.T, client *iam.Client, issuer string) {
	t.Helper()
	if _, err := client.CreateOpenIDConnectProvider(t.Context(), &iam.CreateOpenIDConnectProviderInput{
		Url: &issuer, ClientIDList: []string{policy.Audience}, ThumbprintList: []string{strings.Repeat("0", 40)},
	}); err != nil {
		t.Fatal(err)
	}
	trust, err := policy.Trust{
		Provider: policy.ProviderARN("aws", "123456789012", issuer), Issuer: issuer,
		Accounts: []policy.ServiceAccount{{Namespace: "reports", Name: "writer"}},
	}.JSON()
	if err != nil {
		t.Fatal(err)
	}
	// CloudFormation and others write lists of one action, and name their statements.
	reports := strings.Replace(trust, `"Effect"`, `"Sid":"IRSA","Effect"`, 1)
	reports = strings.Replace(reports, `"sts:AssumeRoleWithWebIdentity"`, `["sts:AssumeRoleWithWebIdentity"]`, 1)
	for name, document := range map[string]string{"reports": reports, "shared": strings.Replace(trust, "StringEquals", "StringLike", 1)} {
		if _, err := client.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: &document}); err != nil {
			t.Fatal(err)
		}
	}
	addInstanceProfile(t, client)
	document := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sqs:ReceiveMessage","Resource":"arn:aws:sqs:eu-west-1:123456789012:prod"}]}`
	if _, err := client.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: aws.String("reports"), PolicyName: aws.String("read"), PolicyDocument: &document}); err != nil {
		t.Fatal(err)
	}
}

// addInstanceProfile adds the role that the EC2NodeClass names, with a profile of
// another name.
func addInstanceProfile(t *testing.T, client *iam.Client) {
	t.Helper()
	trust, err := policy.NodeTrust("aws")
	if err != nil {
		t.Fatal(err)
	}
	role, profile := aws.String("nodes"), aws.String("machines")
	_, err = client.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: role, AssumeRolePolicyDocument: &trust})
	if err == nil {
		_, err = client.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: profile})
	}
	if err == nil {
		_, err = client.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: profile, RoleName: role})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// addPodIdentity adds a role that pods get by pod identity.
func addPodIdentity(t *testing.T, cfg aws.Config, box *sandbox.Sandbox) {
	t.Helper()
	trust, err := policy.Trust{
		Cluster:  policy.ClusterARN("aws", box.Region, "123456789012", box.ClusterName),
		Accounts: []policy.ServiceAccount{{Namespace: "reports", Name: "exporter"}},
	}.JSON()
	if err != nil {
		t.Fatal(err)
	}
	made, err := iam.NewFromConfig(cfg).CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: aws.String("exports"), AssumeRolePolicyDocument: &trust})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := eks.NewFromConfig(cfg).CreatePodIdentityAssociation(t.Context(), &eks.CreatePodIdentityAssociationInput{
		ClusterName: &box.ClusterName, Namespace: aws.String("reports"), ServiceAccount: aws.String("exporter"), RoleArn: made.Role.Arn,
	}); err != nil {
		t.Fatal(err)
	}
}

// addQueues adds a queue that can be imported, and one whose rules have other names.
func addQueues(t *testing.T, cfg aws.Config) {
	t.Helper()
	queues := eventqueue.NewQueues(sqs.NewFromConfig(cfg), eventbridge.NewFromConfig(cfg))
	for _, name := range []string{"prod", "Karpenter-prod"} {
		arn := "arn:aws:sqs:" + cfg.Region + ":123456789012:" + name
		document, err := policy.Queue(arn)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := queues.Create(t.Context(), asset.Queue{Name: name, Policy: document, Retention: 300, Visibility: 30}); err != nil {
			t.Fatal(err)
		}
		for _, event := range policy.InterruptionEvents() {
			rule := asset.Rule{Name: event.RuleName(name), Description: event.Tells + ".", Pattern: event.Pattern(), Queue: arn}
			if name != "prod" {
				rule.Name = name + "Rule" + event.Key
			}
			if _, err := queues.PutRule(t.Context(), asset.Rule{}, rule); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// applyAll declares the objects of a YAML stream, and waits for kinds that have
// just been defined.
func applyAll(t *testing.T, box *sandbox.Sandbox, text []byte) {
	t.Helper()
	client, err := dynamic.NewForConfig(box.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	typed, err := kubernetes.NewForConfig(box.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(typed.Discovery()))
	decoder := kubeyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		kind := object.GroupVersionKind()
		err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
			mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
			if meta.IsNoMatchError(err) {
				mapper.Reset()
				return false, nil
			}
			if err != nil {
				return false, err
			}
			_, err = client.Resource(mapping.Resource).Create(ctx, object, metav1.CreateOptions{})
			return err == nil, err
		})
		if err != nil {
			t.Fatalf("create %s %s: %v", kind.Kind, object.GetName(), err)
		}
	}
}
