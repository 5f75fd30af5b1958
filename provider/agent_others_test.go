package provider_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// impatient is an agent whose installation does not wait for long.
func impatient(name, arguments string) string {
	return fmt.Sprintf("resource \"packhorse_agent\" \"test\" {\n namespace = %q\n name = %[1]q\n %s\n timeouts {\n create = \"3s\"\n update = \"3s\"\n }\n}\n", name, arguments)
}

// declareAgent writes the configuration of an impatient agent.
func declareAgent(t *testing.T, c *cli, name, arguments string) {
	t.Helper()
	c.write(t, map[string]string{"main.tf": lookingAhead("") + impatient(name, arguments)})
}

// installed installs an agent, which counts as complete although no node takes its pods.
func installed(t *testing.T, name, arguments string) *cli {
	t.Helper()
	ofOthers(t, name) // which keeps the definitions for other tests
	c := installation(t, name, "")
	declareAgent(t, c, name, arguments)
	if said, err := c.try(t, "apply", "-auto-approve"); err == nil || !words("it did not become ready in time").MatchString(said) {
		t.Fatalf("the apply: %v\n%s", err, said)
	}
	c.run(t, "untaint", "packhorse_agent.test")
	return c
}

// An agent without a NetworkPolicy has nothing to do with one of others that has its name.
func TestAgentLeavesANetworkPolicyOfOthers(t *testing.T) {
	const name = "agent-unrestricted"
	c := installed(t, name, "network_policy = false")
	policies := objects.Resource(schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}).Namespace(name)
	theirs := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": map[string]any{"name": name, "namespace": name},
		"spec": map[string]any{"podSelector": map[string]any{"matchLabels": map[string]any{"app": "theirs"}}, "policyTypes": []any{"Ingress"}},
	}}
	made, err := policies.Apply(t.Context(), name, theirs, metav1.ApplyOptions{FieldManager: "argocd"})
	if err != nil {
		t.Fatal(err)
	}
	wantNoChange(t, "the plan", c.plan(t))
	declareAgent(t, c, name, "network_policy = false\n replicas = 3")
	if said, err := c.try(t, "apply", "-auto-approve"); err == nil {
		t.Fatalf("the apply succeeds without a node: %s", said)
	}
	if live, err := policies.Get(t.Context(), name, metav1.GetOptions{}); err != nil || live.GetUID() != made.GetUID() {
		t.Errorf("the NetworkPolicy of others: %v", err)
	}

	// It is not taken over either.
	declareAgent(t, c, name, "")
	said, err := c.try(t, "plan")
	if err == nil {
		t.Errorf("the plan that turns it on succeeds: %s", said)
	}
	says(t, said, "apply NetworkPolicy "+name, `with "argocd"`, "`network_policy = false`")
	declareAgent(t, c, name, "network_policy = false")
	says(t, c.run(t, "destroy", "-auto-approve"), "namespace "+name+" is kept", "networkpolicies.networking.k8s.io/"+name)
	if live, err := policies.Get(t.Context(), name, metav1.GetOptions{}); err != nil || live.GetUID() != made.GetUID() {
		t.Errorf("the NetworkPolicy of others after the destroy: %v", err)
	}
}

// Definitions of others are taken over neither by a new agent nor by one that declares them later.
func TestAgentTakesNoDefinitionsOverLater(t *testing.T) {
	const name = "agent-without-definitions"
	c := installed(t, name, "install_crds = false")
	crd := api.CRDs()[0]
	theirs := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(crd.YAML, &theirs.Object); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedStringSlice(theirs.Object, []string{"theirs"}, "spec", "names", "categories"); err != nil {
		t.Fatal(err)
	}
	if _, err := objects.Resource(crdResource).Apply(t.Context(), crd.Name, theirs, metav1.ApplyOptions{FieldManager: "helm", Force: true}); err != nil {
		t.Fatal(err)
	}
	for head, command := range map[string][]string{lookingAhead(""): {"plan"}, byName(): {"apply", "-auto-approve"}} {
		c.write(t, map[string]string{"main.tf": head + impatient(name, "")})
		said, err := c.try(t, command...)
		if err == nil {
			t.Errorf("%s succeeds: %s", command[0], said)
		}
		says(t, said, "apply CustomResourceDefinition "+crd.Name, `conflict with "helm"`, "Or set `force_conflicts = true`")
	}
	categories := func() string {
		live := object(t, crdResource, crd.Name)
		got, _, _ := unstructured.NestedStringSlice(live.Object, "spec", "names", "categories")
		return strings.Join(got, ",")
	}
	if got := categories(); got != "theirs" {
		t.Errorf("the categories of %s are %s", crd.Name, got)
	}
	declareAgent(t, c, name, "force_conflicts = true")
	if said, err := c.try(t, "apply", "-auto-approve"); err == nil || !words("it did not become ready in time").MatchString(said) {
		t.Errorf("the apply that takes them over: %v\n%s", err, said)
	}
	if got := categories(); got == "theirs" {
		t.Errorf("the categories of %s are %s still", crd.Name, got)
	}
	c.run(t, "destroy", "-auto-approve")
}

// A role that others have written on the agent's ServiceAccount is not the one of the agent.
func TestAgentIgnoresTheAnnotationOfOthers(t *testing.T) {
	const name = "agent-annotated"
	c := installed(t, name, "")
	_, err := kube.CoreV1().ServiceAccounts(name).Patch(t.Context(), name, types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"eks.amazonaws.com/role-arn":"arn:aws:iam::123456789012:role/x"}}}`), metav1.PatchOptions{FieldManager: "eksctl"})
	if err != nil {
		t.Fatal(err)
	}
	wantNoChange(t, "the plan", c.plan(t))
	c.run(t, "destroy", "-auto-approve")
}

// Settings that another field manager has declared, as Helm has before an import, leave the Deployment with their
// declaration here.
func TestAgentWithdrawsSettingsThatOthersHaveDeclared(t *testing.T) {
	const name = "agent-withdraws"
	settings := "role_arn = \"arn:aws:iam::123456789012:role/old\"\n environment = { HTTPS_PROXY = \"http://proxy:443\" }\n image_pull_secrets = [\"regcred\"]\n node_selector = { pool = \"agents\" }\n"
	c := installed(t, name, settings)
	deployments := kube.AppsV1().Deployments(name)
	live, err := deployments.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	theirs := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: live.Spec}
	text, err := json.Marshal(theirs)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := deployments.Patch(t.Context(), name, types.ApplyPatchType, text, metav1.PatchOptions{FieldManager: "helm"}); err != nil {
		t.Fatal(err)
	}
	declareAgent(t, c, name, "")
	if said, err := c.try(t, "apply", "-auto-approve"); err == nil || !words("it did not become ready in time").MatchString(said) {
		t.Fatalf("the apply: %v\n%s", err, said)
	}
	if live, err = deployments.Get(t.Context(), name, metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if spec := live.Spec.Template.Spec; len(spec.Containers[0].Env) != 2 || len(spec.Volumes)+len(spec.Containers[0].VolumeMounts)+len(spec.ImagePullSecrets) != 0 || len(spec.NodeSelector) != 1 {
		t.Errorf("the pods have more than what is declared: %v", spec)
	}
	wantNoChange(t, "the plan", c.plan(t))
	c.run(t, "destroy", "-auto-approve")
}

// What an agent's pods have anyway may be declared.
func TestAgentDeclaresWhatItsPodsHaveAnyway(t *testing.T) {
	const name = "agent-explicit"
	c := installed(t, name, fmt.Sprintf("node_selector = { %q = \"linux\" }\n tolerations = [{ key = \"CriticalAddonsOnly\", operator = \"Exists\" }]", corev1.LabelOSStable))
	wantNoChange(t, "the plan", c.plan(t))
	c.run(t, "destroy", "-auto-approve")
}

// What would be replaced by a default is not declared as empty.
func TestAgentRefusesEmptyTexts(t *testing.T) {
	c := installation(t, "agent-empty", "")
	for _, name := range []string{"namespace", "name", "region", "image", "memory", "cpu_request", "priority_class_name"} {
		c.write(t, map[string]string{"main.tf": lookingAhead("") + fmt.Sprintf("resource \"packhorse_agent\" \"test\" {\n %s = \"\"\n}\n", name)})
		said, err := c.try(t, "plan")
		if err == nil {
			t.Errorf("%s: the plan succeeds: %s", name, said)
		}
		says(t, said, name+": must not be empty: omit it for the default")
	}
}
