package provider_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientauthentication "k8s.io/client-go/pkg/apis/clientauthentication/v1"
)

// declared is a resource that needs the cluster.
const declared = "resource \"packhorse_provisioner\" \"test\" {\n  name   = \"access\"\n  weight = 1\n}\n"

func TestProviderReachesTheCluster(t *testing.T) {
	kubeconfig := fmt.Sprintf("provider \"packhorse\" {\n kubernetes = { config_path = %q }\n}\n", box.Kubeconfig)
	host := fmt.Sprintf("provider \"packhorse\" {\n kubernetes = {\n host = %q\n cluster_ca_certificate = <<PEM\n%s\nPEM\n", box.Host, box.CA)
	admin := box.RESTConfig()
	certificate := fmt.Sprintf("client_certificate = <<PEM\n%s\nPEM\nclient_key = <<PEM\n%s\nPEM\n", admin.CertData, admin.KeyData)
	credential := filepath.Join(t.TempDir(), "credential.json")
	issued, err := json.Marshal(clientauthentication.ExecCredential{
		TypeMeta: metav1.TypeMeta{APIVersion: clientauthentication.SchemeGroupVersion.String(), Kind: "ExecCredential"},
		Status:   &clientauthentication.ExecCredentialStatus{ClientCertificateData: string(admin.CertData), ClientKeyData: string(admin.KeyData)},
	})
	if err == nil {
		err = os.WriteFile(credential, issued, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	program := fmt.Sprintf("exec = {\n api_version = %q\n command = \"sh\"\n args = [\"-c\", \"cat $CREDENTIAL\", null]\n env = { CREDENTIAL = %q, NONE = null }\n}\n",
		clientauthentication.SchemeGroupVersion, credential)
	tests := map[string]struct {
		block string
		env   map[string]string
	}{
		"by the name of an EKS cluster": {block: byName()},
		"by a kubeconfig":               {block: kubeconfig},
		"by KUBE_CONFIG_PATH":           {block: "", env: map[string]string{"KUBE_CONFIG_PATH": box.Kubeconfig}},
		"by a name in spite of KUBE_CONFIG_PATH": {
			block: byName(), env: map[string]string{"KUBE_CONFIG_PATH": "/nowhere"},
		},
		"by a host and a client certificate":  {block: host + certificate + "}\n}\n"},
		"by a host and a program, with nulls": {block: host + program + "}\n}\n"},
		"with endpoints in the block": {
			block: fmt.Sprintf("provider \"packhorse\" {\n cluster_name = %q\n region = %q\n plan_checks = \"off\"\n endpoints = { eks = %q, sts = %q }\n}\n",
				box.ClusterName, box.Region, box.AWSEndpoint, box.AWSEndpoint),
			env: map[string]string{"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ENDPOINT_URL_STS": "http://127.0.0.1:1", "AWS_REGION": ""},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for variable, value := range tt.env {
				t.Setenv(variable, value)
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: factories(),
				Steps: []resource.TestStep{{
					Config:           tt.block + declared,
					ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
				}},
			})
		})
	}
}

func TestProviderRefuses(t *testing.T) {
	tests := map[string]struct{ block, want string }{
		"no way to a cluster": {"", "no cluster is configured: set `cluster_name` or `kubernetes`"},
		"two ways": {
			"provider \"packhorse\" {\n cluster_name = \"a\"\n kubernetes = { config_path = \"b\" }\n}\n",
			"both `cluster_name` and `kubernetes` are set",
		},
		"a block that says nothing": {
			"provider \"packhorse\" {\n kubernetes = { token = \"secret\" }\n}\n", "`kubernetes` needs either `config_path` or `host`",
		},
		"two credentials": {
			"provider \"packhorse\" {\n kubernetes = { host = \"https://h\", token = \"t\", exec = { api_version = \"v\", command = \"c\" } }\n}\n",
			"`kubernetes` has `token` and `exec`: keep one way to authenticate",
		},
		"a session without end": {
			"provider \"packhorse\" {\n cluster_name = \"a\"\n assume_role = { role_arn = \"arn:aws:iam::123456789012:role/r\", duration = \"long\" }\n}\n",
			"assume_role.duration: time: invalid duration",
		},
		"a role by its name": {
			"provider \"packhorse\" {\n cluster_name = \"a\"\n assume_role = { role_arn = \"deployer\" }\n}\n",
			`assume_role.role_arn: "deployer" must be the ARN of an IAM role`,
		},
		"an endpoint without a scheme": {
			"provider \"packhorse\" {\n cluster_name = \"a\"\n endpoints = { ec2 = \"ec2.internal\" }\n}\n",
			`endpoints.ec2: "ec2.internal" must be the URL of an AWS service`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: factories(),
				Steps:                    []resource.TestStep{{Config: tt.block + declared, PlanOnly: true, ExpectError: words(tt.want)}},
			})
		})
	}
}

func TestProviderNamesWhatItCannotReach(t *testing.T) {
	tests := map[string]struct{ block, want string }{
		"no such cluster":    {"provider \"packhorse\" {\n cluster_name = \"missing\"\n}\n", `find cluster "missing": no such EKS cluster`},
		"no such kubeconfig": {"provider \"packhorse\" {\n kubernetes = { config_path = \"/nowhere/config\" }\n}\n", "/nowhere/config: no such file"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: factories(),
				Steps:                    []resource.TestStep{{Config: tt.block + declared, ExpectError: words(tt.want)}},
			})
		})
	}
}

// unknownCluster gets the cluster's name from a resource of the same apply.
func unknownCluster(replace string) string {
	return fmt.Sprintf(`
resource "terraform_data" "cluster" {
  input            = %q
  triggers_replace = %q
}

provider "packhorse" {
  cluster_name = terraform_data.cluster.output
}

resource "packhorse_irsa_role" "test" {
  name                 = "unknown"
  create_oidc_provider = true
  service_accounts     = [{ namespace = "a", name = "b" }]
}
`, box.ClusterName, replace) + declared
}

func TestProviderConfigurationUnknownAtPlan(t *testing.T) {
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{
				// Creates plan without a client, and the apply knows the cluster.
				Config: unknownCluster("first"),
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply:             []plancheck.PlanCheck{plancheck.ExpectResourceAction("packhorse_provisioner.test", plancheck.ResourceActionCreate)},
					PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
				},
			},
			{
				// What exists keeps its recorded state while the cluster is unknown.
				Config: unknownCluster("second"),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("packhorse_provisioner.test", plancheck.ResourceActionNoop),
				}},
			},
		},
	})
}

// A plan says what it does not check while the cluster is unknown, unless it is not to check anything.
func TestPlanChecksAreOffAlsoIfTheClusterIsUnknown(t *testing.T) {
	const warning = "provisioner access was not checked in full"
	for title, off := range map[string]bool{"by default": false, "off": true} {
		t.Run(title, func(t *testing.T) {
			head, _, _ := strings.Cut(requiring(), "provider \"packhorse\"")
			config := unknownCluster("first")
			if off {
				config = strings.Replace(config, "provider \"packhorse\" {\n", "provider \"packhorse\" {\n  plan_checks = \"off\"\n", 1)
			}
			terraform := newCLI(t, nil)
			terraform.write(t, map[string]string{"main.tf": head + config})
			terraform.run(t, "init")
			if out := terraform.run(t, "plan"); words(warning).MatchString(out) == off {
				t.Errorf("with plan_checks off: %t, the plan says:\n%s", off, out)
			}
		})
	}
}
