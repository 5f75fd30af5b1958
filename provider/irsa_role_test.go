package provider_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
)

const (
	roleAddress  = "packhorse_irsa_role.test"
	readOnlyEKS  = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"
	agentAccount = `service_accounts = [{ namespace = "packhorse", name = "packhorse-agent" }]`
)

func roleConfig(name, arguments string) string {
	return byName() + fmt.Sprintf("resource \"packhorse_irsa_role\" \"test\" {\n  name = %q\n  create_oidc_provider = true\n%s\n}\n", name, arguments)
}

func roleState(attribute string, want knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(roleAddress, tfjsonpath.New(attribute), want)
}

func TestIRSARoleOfTheAgent(t *testing.T) {
	name := "agent"
	agent := agentAccount + "\n preset = \"agent\"\n node_roles = [\"packhorse-node\"]\n"
	empty := resource.ConfigPlanChecks{PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noRole(name),
		Steps: []resource.TestStep{
			{
				Config: roleConfig(name, agent), ConfigPlanChecks: empty,
				ConfigStateChecks: []statecheck.StateCheck{
					roleState("arn", knownvalue.StringExact("arn:aws:iam::123456789012:role/agent")),
					roleState("oidc_issuer_url", knownvalue.StringExact(box.Host)),
					roleState("cluster_name", knownvalue.StringExact(box.ClusterName)),
				},
				Check: func(*terraform.State) error {
					return inlinePolicies(name, policy.LaunchPolicy, policy.NodeRolePolicy, policy.ReadPolicy, policy.TerminatePolicy)
				},
			},
			{
				Config:   roleConfig(name, agent+`policies = { own = jsonencode({ Statement = [{ Effect = "Allow", Action = "*", Resource = [for i in range(300) : "arn:aws:s3:::bucket-${i}"] }] }) }`),
				PlanOnly: true, ExpectError: words("policies: with those of the preset"),
			},
			{
				Config: roleConfig(name, agent+"node_pools = true"), ConfigPlanChecks: empty,
				Check: func(*terraform.State) error {
					return inlinePolicies(name, policy.LaunchPolicy, policy.NodeRolePolicy, policy.ReadPolicy, policy.TakeoverPolicy, policy.TerminatePolicy)
				},
			},
			{
				ResourceName: roleAddress, ImportState: true, ImportStateId: name, ImportStateVerify: true,
				ImportStateVerifyIdentifierAttribute: "name", ImportStateVerifyIgnore: []string{"create_oidc_provider"},
			},
			{
				// Somebody has widened a policy and the trust.
				PreConfig: func() {
					trustEverybody(t, name)
					putPolicy(t, name, policy.TerminatePolicy, `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`)
				},
				Config: roleConfig(name, agent),
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply:             []plancheck.PlanCheck{plancheck.ExpectResourceAction(roleAddress, plancheck.ResourceActionUpdate)},
					PostApplyPostRefresh: empty.PostApplyPostRefresh,
				},
				Check: func(*terraform.State) error {
					return errors.Join(policyLacks(name, policy.TerminatePolicy, `"Action":"*"`), trusts(name, "system:serviceaccount:packhorse:packhorse-agent"))
				},
			},
			{
				Config: roleConfig(name, agent+`interruption_queue_arn = "arn:aws:sqs:eu-west-1:123456789012:prod"`), ConfigPlanChecks: empty,
				Check: func(*terraform.State) error {
					return inlinePolicies(name, policy.LaunchPolicy, policy.NodeRolePolicy, policy.QueuePolicy, policy.ReadPolicy, policy.TerminatePolicy)
				},
			},
			{
				Config: roleConfig(name, agentAccount), ConfigPlanChecks: empty,
				Check: func(*terraform.State) error { return inlinePolicies(name) },
			},
		},
	})
}

func TestIRSARoleOfAWorkload(t *testing.T) {
	name := "workload"
	tagged := "provider \"packhorse\" {\n cluster_name = \"" + box.ClusterName + "\"\n default_tags = { team = \"platform\", stage = \"test\" }\n}\n"
	role := func(arguments string) string {
		return tagged + fmt.Sprintf("resource \"packhorse_irsa_role\" \"test\" {\n name = %q\n path = \"/apps/\"\n create_oidc_provider = true\n%s\n}\n", name, arguments)
	}
	write := `jsonencode({ Version = "2012-10-17", Statement = [{ Effect = "Allow", Action = "s3:PutObject", Resource = "*" }] })`
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noRole(name),
		Steps: []resource.TestStep{
			{
				Config: role(agentAccount + "\n description = \"first\"\n policies = { write = " + write + " }\n tags = { stage = \"prod\" }\n policy_arns = [\"" + readOnlyEKS + "\", null]"),
				ConfigStateChecks: []statecheck.StateCheck{
					roleState("tags_all", knownvalue.MapExact(map[string]knownvalue.Check{"team": knownvalue.StringExact("platform"), "stage": knownvalue.StringExact("prod")})),
				},
				ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
			},
			{
				Config: role(`
  service_accounts     = [{ namespace = "b", name = "two" }, { namespace = "a", name = "one" }]
  max_session_duration = 7200
  policies             = { read = ` + strings.ReplaceAll(write, "PutObject", "GetObject") + ` }`),
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply:             []plancheck.PlanCheck{plancheck.ExpectResourceAction(roleAddress, plancheck.ResourceActionUpdate)},
					PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
				},
				Check: func(*terraform.State) error {
					return errors.Join(inlinePolicies(name, "read"), trusts(name, "system:serviceaccount:a:one", "system:serviceaccount:b:two"))
				},
			},
			{
				// What others add is no change.
				PreConfig: func() {
					putPolicy(t, name, "theirs", `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}`)
				},
				RefreshState: true, ExpectNonEmptyPlan: false,
			},
			{
				PreConfig: func() { deletePolicy(t, name, "theirs") },
				Config:    role(agentAccount),
				Check:     func(*terraform.State) error { return inlinePolicies(name) },
			},
		},
	})
}

func TestIRSARoleThatExistsIsNotTakenOver(t *testing.T) {
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noProvider,
		Steps:                    []resource.TestStep{{Config: roleConfig("packhorse-node", agentAccount), ExpectError: words("IAM role packhorse-node already exists")}},
	})
}

func TestIRSARoleNeedsAnOIDCProvider(t *testing.T) {
	config := byName() + "resource \"packhorse_irsa_role\" \"test\" {\n name = \"lonely\"\n" + agentAccount + "\n}\n"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps:                    []resource.TestStep{{Config: config, ExpectError: words("IAM has no OIDC provider for " + box.Host + ": set `create_oidc_provider = true`")}},
	})
}

func TestIRSARoleKeepsWhatItDoesNotOwn(t *testing.T) {
	name := "shared"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{Config: roleConfig(name, agentAccount)},
			{
				PreConfig: func() {
					putPolicy(t, name, "theirs", `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}`)
				},
				Config: roleConfig(name, agentAccount), Destroy: true,
				ExpectError: regexp.MustCompile(`it still\s+has\s+inline\s+policies\s+theirs`),
			},
			{PreConfig: func() { deletePolicy(t, name, "theirs") }, Config: roleConfig(name, agentAccount)},
		},
	})
}

// What a failed update has added goes with the next one, which does not declare it.
func TestIRSARoleKeepsNoPolicyAfterAFailedUpdate(t *testing.T) {
	name := "half-changed"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noRole(name),
		Steps: []resource.TestStep{
			{Config: roleConfig(name, agentAccount)},
			{
				PreConfig: refuseOnce(t, "iam", "AttachRolePolicy"), ExpectError: injectedFault,
				Config: roleConfig(name, agentAccount+fmt.Sprintf("\n policies = { added = %q }\n policy_arns = [%q]", allowNothing, readOnlyEKS)),
			},
			{
				Config: roleConfig(name, agentAccount), ConfigPlanChecks: plans(roleAddress, plancheck.ResourceActionUpdate),
				Check: func(*terraform.State) error { return inlinePolicies(name) },
			},
		},
	})
}

func TestIRSARoleDisappears(t *testing.T) {
	name := "vanished"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noRole(name),
		Steps: []resource.TestStep{
			{Config: roleConfig(name, agentAccount)},
			{
				PreConfig: func() {
					if _, err := roles.DeleteRole(t.Context(), &iam.DeleteRoleInput{RoleName: aws.String(name)}); err != nil {
						t.Fatal(err)
					}
				},
				Config: roleConfig(name, agentAccount),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(roleAddress, plancheck.ResourceActionCreate),
				}},
			},
		},
	})
}

// successorFirst makes the successor of a resource before the resource is destroyed.
const successorFirst = "\n lifecycle {\n create_before_destroy = true\n }\n"

// The OIDC provider goes with the last role that trusts it, whichever has made it.
func TestIRSARoleLeavesTheOIDCProviderToOthers(t *testing.T) {
	config := func(name string) string { return roleConfig(name, agentAccount+successorFirst) }
	other := func(dependsOn string) string {
		return "resource \"packhorse_irsa_role\" \"other\" {\n name = \"trusting\"\n" + agentAccount + "\n" + dependsOn + "\n}\n"
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             resource.ComposeTestCheckFunc(noRole("trusting"), noRole("succeeding")),
		Steps: []resource.TestStep{
			{Config: config("preceding")},
			{Config: config("succeeding"), ConfigPlanChecks: plans(roleAddress, plancheck.ResourceActionCreateBeforeDestroy)},
			{Config: config("succeeding") + other("depends_on = [packhorse_irsa_role.test]"), ConfigPlanChecks: plansEmpty},
			{Config: byName() + other(""), ConfigPlanChecks: plansEmpty},
		},
	})
}

// A destroy that fails because it cannot look for other roles leaves the OIDC provider to the next one.
func TestIRSARoleForgetsNoOIDCProvider(t *testing.T) {
	name := "denied"
	config := roleConfig(name, agentAccount)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{Config: config},
			{PreConfig: refuseOnce(t, "iam", "ListRoles"), Config: config, Destroy: true, ExpectError: injectedFault},
			{Config: config, Destroy: true},
		},
	})
	if err := noRole(name)(nil); err != nil {
		t.Error(err)
	}
}

// A role that is not made in time leaves no OIDC provider.
func TestIRSARoleLeavesNoOIDCProviderOfAFailedApply(t *testing.T) {
	name := "late"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{{
			PreConfig: func() {
				t.Cleanup(box.Cloud.Inject(cloud.Fault{Service: "iam", Action: "CreateRole", Code: "MalformedPolicyDocument", Message: "Invalid principal in policy"}))
			},
			Config: roleConfig(name, agentAccount+"\n timeouts {\n create = \"3s\"\n }\n"), ExpectError: words("Invalid principal in policy"),
		}},
	})
	if err := noRole(name)(nil); err != nil {
		t.Error(err)
	}
}

// An OIDC provider that somebody has deleted is made again.
func TestIRSARoleRestoresTheOIDCProvider(t *testing.T) {
	name := "without-provider"
	config := roleConfig(name, agentAccount)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noRole(name),
		Steps: []resource.TestStep{
			{Config: config},
			{
				PreConfig: func() {
					arn := policy.ProviderARN("aws", "123456789012", box.Host)
					if _, err := roles.DeleteOpenIDConnectProvider(t.Context(), &iam.DeleteOpenIDConnectProviderInput{OpenIDConnectProviderArn: &arn}); err != nil {
						t.Fatal(err)
					}
				},
				Config: config, ConfigPlanChecks: plans(roleAddress, plancheck.ResourceActionUpdate),
				Check: func(*terraform.State) error {
					if noProvider(nil) == nil {
						return errors.New("there is no OIDC provider")
					}
					return nil
				},
			},
		},
	})
}

func TestIRSARoleAnnotatesServiceAccounts(t *testing.T) {
	ctx := t.Context()
	accounts := kube.CoreV1().ServiceAccounts("default")
	if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "writer"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	config := roleConfig("annotating", "annotate_service_account = true\n service_accounts = [{ namespace = \"default\", name = \"writer\" }]")
	arn := "arn:aws:iam::123456789012:role/annotating"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             annotated(accounts, "writer", ""),
		Steps: []resource.TestStep{
			{
				Config:      roleConfig("annotating", "annotate_service_account = true\n service_accounts = [{ namespace = \"default\", name = \"missing\" }]"),
				ExpectError: regexp.MustCompile(`ServiceAccount\s+default/missing:\s+serviceaccounts\s+"missing"\s+not\s+found`),
			},
			{Config: config, Check: annotated(accounts, "writer", arn)},
			{
				PreConfig: func() {
					account, err := accounts.Get(ctx, "writer", metav1.GetOptions{})
					if err != nil {
						t.Fatal(err)
					}
					account.Annotations = nil
					if _, err := accounts.Update(ctx, account, metav1.UpdateOptions{}); err != nil {
						t.Fatal(err)
					}
				},
				Config: config, Check: annotated(accounts, "writer", arn),
			},
		},
	})
}

// A role leaves the annotation that its successor has written.
func TestIRSARoleLeavesTheAnnotationToItsSuccessor(t *testing.T) {
	accounts := kube.CoreV1().ServiceAccounts("default")
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "heir"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	config := func(name string) string {
		return roleConfig(name, "annotate_service_account = true\n service_accounts = [{ namespace = \"default\", name = \"heir\" }]"+successorFirst)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             annotated(accounts, "heir", ""),
		Steps: []resource.TestStep{
			{Config: config("annotating-1")},
			{
				Config: config("annotating-2"), ConfigPlanChecks: plans(roleAddress, plancheck.ResourceActionCreateBeforeDestroy),
				Check: annotated(accounts, "heir", "arn:aws:iam::123456789012:role/annotating-2"),
			},
		},
	})
}

// An update that fails leaves no annotation that no later one would remove.
func TestIRSARoleLeavesNoAnnotationAfterAFailedUpdate(t *testing.T) {
	accounts := kube.CoreV1().ServiceAccounts("default")
	for _, name := range []string{"stays", "leaves"} {
		if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	config := func(accounts, more string) string {
		return roleConfig("half-annotated", "annotate_service_account = true\n service_accounts = ["+accounts+"]\n"+more)
	}
	const stays, leaves = `{ namespace = "default", name = "stays" }`, `{ namespace = "default", name = "leaves" }`
	const arn = "arn:aws:iam::123456789012:role/half-annotated"
	changed := config(stays, fmt.Sprintf("policy_arns = [%q]", readOnlyEKS))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             annotated(accounts, "stays", ""),
		Steps: []resource.TestStep{
			{Config: config(stays+", "+leaves, ""), Check: annotated(accounts, "leaves", arn)},
			{PreConfig: refuseOnce(t, "iam", "AttachRolePolicy"), Config: changed, ExpectError: injectedFault},
			{Config: changed, ConfigPlanChecks: plansEmpty, Check: resource.ComposeTestCheckFunc(annotated(accounts, "stays", arn), annotated(accounts, "leaves", ""))},
		},
	})
}

// A role whose cluster is gone can be refreshed and destroyed, although nobody can take back what it has annotated.
func TestIRSARoleOutlivesItsCluster(t *testing.T) {
	for _, name := range []string{"orphan-1", "orphan-2"} {
		if _, err := kube.CoreV1().ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	config := requiring()
	for _, name := range []string{"orphan-1", "orphan-2"} {
		config += fmt.Sprintf("resource \"packhorse_irsa_role\" %q {\n name = %q\n create_oidc_provider = true\n annotate_service_account = true\n"+
			" service_accounts = [{ namespace = \"default\", name = %q }]\n}\n", name, name, name)
	}
	cluster := cloud.Cluster{Name: box.ClusterName, Version: box.Version, Endpoint: box.Host, CA: box.CA, IssuerURL: box.Host, IssuerCA: box.CA}
	defer box.Cloud.SetCluster(cluster)
	terraform := newCLI(t, nil)
	terraform.write(t, map[string]string{"main.tf": config})
	terraform.run(t, "init")
	terraform.run(t, "apply", "-auto-approve")
	other := cluster
	other.Name = "another"
	box.Cloud.SetCluster(other)
	terraform.run(t, "destroy", "-auto-approve", "-refresh=false", "-target=packhorse_irsa_role.orphan-1")
	wantText(t, "the plan", terraform.run(t, "plan"), "orphan-2: its ServiceAccounts are gone with their cluster")
	terraform.run(t, "destroy", "-auto-approve")
	for _, name := range []string{"orphan-1", "orphan-2"} {
		if err := noRole(name)(nil); err != nil {
			t.Error(err)
		}
	}
}

// annotated checks which role the annotation of a ServiceAccount names.
func annotated(accounts typed.ServiceAccountInterface, name, want string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		account, err := accounts.Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got := account.Annotations["eks.amazonaws.com/role-arn"]; got != want {
			return fmt.Errorf("annotation = %q, want %q", got, want)
		}
		return nil
	}
}

// A cluster that is made anew under the same name has another issuer.
func TestIRSARoleFollowsTheClustersIssuer(t *testing.T) {
	name := "following"
	cluster := cloud.Cluster{Name: box.ClusterName, Version: box.Version, Endpoint: box.Host, CA: box.CA, IssuerURL: box.Host, IssuerCA: box.CA}
	defer box.Cloud.SetCluster(cluster)
	other := cluster
	other.IssuerURL = "https://issuer.example.com/id/other"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noRole(name),
		Steps: []resource.TestStep{
			{Config: roleConfig(name, agentAccount)},
			{
				PreConfig: func() { box.Cloud.SetCluster(other) },
				Config:    roleConfig(name, agentAccount),
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply:             []plancheck.PlanCheck{plancheck.ExpectResourceAction(roleAddress, plancheck.ResourceActionUpdate)},
					PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
				},
				ConfigStateChecks: []statecheck.StateCheck{
					roleState("oidc_provider_arn", knownvalue.StringExact("arn:aws:iam::123456789012:oidc-provider/issuer.example.com/id/other")),
				},
			},
		},
	})
}

// So does a role that was imported.
func TestImportedIRSARoleFollowsTheClustersIssuer(t *testing.T) {
	name := "following-import"
	cluster := cloud.Cluster{Name: box.ClusterName, Version: box.Version, Endpoint: box.Host, CA: box.CA, IssuerURL: box.Host, IssuerCA: box.CA}
	defer box.Cloud.SetCluster(cluster)
	other := cluster
	other.IssuerURL = "https://issuer.example.com/id/other"
	config := strings.TrimPrefix(roleConfig(name, agentAccount), byName())
	terraform := newCLI(t, nil)
	terraform.write(t, map[string]string{"main.tf": requiring() + config})
	terraform.run(t, "init")
	terraform.run(t, "apply", "-auto-approve")
	terraform.run(t, "state", "rm", roleAddress)
	terraform.write(t, map[string]string{"main.tf": requiring() + strings.Replace(config, "create_oidc_provider = true", "", 1) +
		fmt.Sprintf("import {\n to = %s\n id = %q\n}\n", roleAddress, name)})
	wantNoChange(t, "the import", terraform.plan(t))
	terraform.run(t, "apply", "plan.bin")
	box.Cloud.SetCluster(other)
	changes := terraform.plan(t)
	if len(changes) != 1 || !slices.Equal(changes[0].Change.Actions, []string{"update"}) || changes[0].Change.After["oidc_issuer_url"] != other.IssuerURL {
		t.Errorf("with another issuer, the plan is %+v", changes)
	}
	box.Cloud.SetCluster(cluster)
	terraform.run(t, "destroy", "-auto-approve")
	if err := noRole(name)(nil); err != nil {
		t.Error(err)
	}
}

// If only the provider block names another cluster, the role trusts that one after one apply.
func TestIRSARoleFollowsTheProviderBlock(t *testing.T) {
	name := "following-the-block"
	cluster := cloud.Cluster{Name: box.ClusterName, Version: box.Version, Endpoint: box.Host, CA: box.CA, IssuerURL: box.Host, IssuerCA: box.CA}
	defer box.Cloud.SetCluster(cluster)
	other := cluster
	other.Name, other.IssuerURL = "second", "https://issuer.example.com/id/second"
	role := strings.TrimPrefix(roleConfig(name, agentAccount+"\n identity = \"both\"\n preset = \"agent\"\n node_roles = [\"arn:aws:iam::123456789012:role/node\"]"), byName())
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noRole(name),
		Steps: []resource.TestStep{
			{Config: byName() + role},
			{
				PreConfig: func() { box.Cloud.SetCluster(other) },
				Config:    "provider \"packhorse\" {\n cluster_name = \"second\"\n plan_checks = \"off\"\n}\n" + role,
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply:             []plancheck.PlanCheck{plancheck.ExpectResourceAction(roleAddress, plancheck.ResourceActionUpdate)},
					PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
				},
				ConfigStateChecks: []statecheck.StateCheck{
					roleState("cluster_name", knownvalue.StringExact("second")),
					roleState("oidc_issuer_url", knownvalue.StringExact(other.IssuerURL)),
					roleState("oidc_provider_arn", knownvalue.StringExact("arn:aws:iam::123456789012:oidc-provider/issuer.example.com/id/second")),
				},
			},
		},
	})
}

func TestIRSARoleInvalid(t *testing.T) {
	tests := map[string]struct{ arguments, want string }{
		"no node roles": {agentAccount + "\n preset = \"agent\"", `node_roles: required by preset = "agent"`},
		"node roles without the preset": {
			agentAccount + "\n node_roles = [\"node\"]", `node_roles: has no effect without preset = "agent"`,
		},
		"a wildcard":        {`service_accounts = [{ namespace = "*", name = "a" }]`, `without wildcards`},
		"no accounts":       {`service_accounts = []`, `at least 1`},
		"a plain issuer":    {agentAccount + "\n oidc_issuer_url = \"http://example.com\"", `must begin with https://`},
		"a reserved policy": {agentAccount + "\n policies = { packhorse-launch = \"{}\" }", `the name "packhorse-launch" is reserved for the preset`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: factories(),
				Steps: []resource.TestStep{{
					Config: roleConfig("invalid", tt.arguments), PlanOnly: true, ExpectError: words(tt.want),
				}},
			})
		})
	}
}

// words matches a message however Terraform has wrapped it.
func words(message string) *regexp.Regexp {
	var parts []string
	for word := range strings.FieldsSeq(message) {
		parts = append(parts, regexp.QuoteMeta(word))
	}
	return regexp.MustCompile(strings.Join(parts, `[\s│]+`))
}

func inlinePolicies(role string, want ...string) error {
	out, err := roles.ListRolePolicies(context.Background(), &iam.ListRolePoliciesInput{RoleName: aws.String(role)})
	if err != nil {
		return err
	}
	if diff := cmp.Diff(append([]string{}, want...), append([]string{}, out.PolicyNames...)); diff != "" {
		return fmt.Errorf("inline policies (-want +got):\n%s", diff)
	}
	return nil
}

func policyLacks(role, name, text string) error {
	out, err := roles.GetRolePolicy(context.Background(), &iam.GetRolePolicyInput{RoleName: aws.String(role), PolicyName: aws.String(name)})
	if err != nil {
		return err
	}
	document, err := url.PathUnescape(*out.PolicyDocument)
	if err == nil && strings.Contains(document, text) {
		err = fmt.Errorf("policy %s still has %s: %s", name, text, document)
	}
	return err
}

func trusts(role string, subjects ...string) error {
	out, err := roles.GetRole(context.Background(), &iam.GetRoleInput{RoleName: aws.String(role)})
	if err != nil {
		return err
	}
	document, err := url.PathUnescape(*out.Role.AssumeRolePolicyDocument)
	if err != nil {
		return err
	}
	trust, err := policy.ParseTrust(document)
	if err != nil {
		return err
	}
	var got []string
	for _, a := range trust.Accounts {
		got = append(got, "system:serviceaccount:"+a.Namespace+":"+a.Name)
	}
	slices.Sort(got)
	if diff := cmp.Diff(subjects, got); diff != "" {
		return fmt.Errorf("trusted subjects (-want +got):\n%s", diff)
	}
	return nil
}

func trustEverybody(t *testing.T, role string) {
	t.Helper()
	_, err := roles.UpdateAssumeRolePolicy(t.Context(), &iam.UpdateAssumeRolePolicyInput{RoleName: aws.String(role), PolicyDocument: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"*"},"Action":"sts:AssumeRole"}]}`)})
	if err != nil {
		t.Fatal(err)
	}
}

func putPolicy(t *testing.T, role, name, document string) {
	t.Helper()
	_, err := roles.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: aws.String(role), PolicyName: aws.String(name), PolicyDocument: aws.String(document)})
	if err != nil {
		t.Fatal(err)
	}
}

func deletePolicy(t *testing.T, role, name string) {
	t.Helper()
	_, err := roles.DeleteRolePolicy(t.Context(), &iam.DeleteRolePolicyInput{RoleName: aws.String(role), PolicyName: aws.String(name)})
	if err != nil {
		t.Fatal(err)
	}
}

// noRole checks that IAM has neither the role nor an OIDC provider that it has left.
func noRole(name string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		ctx := context.Background()
		_, err := roles.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String(name)})
		if _, ok := errors.AsType[*types.NoSuchEntityException](err); !ok {
			return fmt.Errorf("role %s is still there: %w", name, err)
		}
		return noProvider(nil)
	}
}

// noProvider checks that IAM has no OIDC provider.
func noProvider(*terraform.State) error {
	providers, err := roles.ListOpenIDConnectProviders(context.Background(), &iam.ListOpenIDConnectProvidersInput{})
	if err == nil && len(providers.OpenIDConnectProviderList) > 0 {
		err = fmt.Errorf("OIDC provider %s is left", *providers.OpenIDConnectProviderList[0].Arn)
	}
	return err
}
