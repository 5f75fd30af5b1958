package provider_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	kubeapply "github.com/packhorse-io/terraform-provider-packhorse/internal/kube/apply"
	kubeinstallation "github.com/packhorse-io/terraform-provider-packhorse/internal/kube/installation"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/survey"
)

// In this cluster no node takes an agent's pods, so that no rollout comes to an end.
// Rollouts that do are tested in internal/e2e.

// installation is a folder with a configuration of an agent in a namespace of its own.
func installation(t *testing.T, namespace, arguments string) *cli {
	t.Helper()
	c := newCLI(t, nil)
	c.write(t, map[string]string{"versions.tf": "terraform {\n  required_providers {\n    packhorse = { source = \"packhorse/packhorse\" }\n  }\n}\n", "main.tf": lookingAhead("") + fmt.Sprintf(`
resource "packhorse_agent" "test" {
  namespace = %q
  name      = %q
%s
  timeouts {
    create = "20s"
    update = "20s"
  }
}
`, namespace, namespace, arguments)})
	t.Cleanup(func() {
		if err := kube.CoreV1().Namespaces().Delete(context.Background(), namespace, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Logf("delete the namespace: %v", err)
		}
	})
	return c
}

// says fails for each text that a command has not printed.
func says(t *testing.T, printed string, want ...string) {
	t.Helper()
	for _, text := range want {
		if !words(text).MatchString(printed) {
			t.Errorf("Terraform does not say %q:\n%s", text, printed)
		}
	}
}

// ofOthers declares a provisioner and a node profile as somebody else does, and
// returns a check that they are still the same.
func ofOthers(t *testing.T, name string) (untouched func()) {
	t.Helper()
	apply(t, "somebody", api.NodeTemplateGVR, api.NodeTemplateKind, name, `{subnetSelector: {a: b}, securityGroupSelector: {a: b}}`)
	apply(t, "somebody", api.ProvisionerGVR, api.ProvisionerKind, name, fmt.Sprintf(`{providerRef: {name: %s}}`, name))
	uids := map[string]types.UID{}
	uids["provisioner"] = object(t, api.ProvisionerGVR, name).GetUID()
	uids["profile"] = object(t, api.NodeTemplateGVR, name).GetUID()
	t.Cleanup(func() {
		for _, resource := range []schema.GroupVersionResource{api.ProvisionerGVR, api.NodeTemplateGVR} {
			if err := objects.Resource(resource).Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		}
	})
	return func() {
		t.Helper()
		for what, live := range map[string]types.UID{
			"provisioner": object(t, api.ProvisionerGVR, name).GetUID(), "profile": object(t, api.NodeTemplateGVR, name).GetUID(),
		} {
			if live != uids[what] {
				t.Errorf("the %s of others has been deleted, and was made anew", what)
			}
		}
	}
}

// A creation that goes wrong leaves a tainted resource. What Terraform calls its
// replacement goes on with the installation.
func TestAgentReplacedAfterAFailedCreationDeletesNothingOfOthers(t *testing.T) {
	untouched := ofOthers(t, "survivor")
	c := installation(t, "agent-tainted", "")
	said, err := c.try(t, "apply", "-auto-approve")
	if err == nil {
		t.Fatalf("the apply succeeds without a node: %s", said)
	}
	says(t, said, "it did not become ready in time", "agent agent-tainted/agent-tainted is only partly installed", "The next apply completes the installation")
	namespace, err := kube.CoreV1().Namespaces().Get(t.Context(), "agent-tainted", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}

	says(t, c.run(t, "plan"), "is tainted, so", "1 to add, 0 to change, 1 to destroy", "the apply creates its Deployment again")
	said, err = c.try(t, "apply", "-auto-approve")
	if err == nil {
		t.Fatalf("the second apply succeeds without a node: %s", said)
	}
	says(t, said, "it did not become ready in time")
	untouched()
	if now, err := kube.CoreV1().Namespaces().Get(t.Context(), "agent-tainted", metav1.GetOptions{}); err != nil || now.UID != namespace.UID {
		t.Errorf("the namespace was made anew: %v", err)
	}

	// The same goes for a destroy, which names what stays.
	says(t, c.run(t, "plan", "-destroy"), "the cluster has 1 Provisioner, 1 AWSNodeTemplate and 0 nodes, and on_destroy is",
		"Provisioner survivor", "AWSNodeTemplate survivor", "are kept, and so are the definitions")
	says(t, c.run(t, "destroy", "-auto-approve"), "1 Provisioner, 1 AWSNodeTemplate are kept", "Provisioner survivor")
	untouched()
	if _, err := kube.AppsV1().Deployments("agent-tainted").Get(t.Context(), "agent-tainted", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the destroy has left the Deployment: %v", err)
	}
}

// An agent that moves leaves nothing of the old one behind, and all that it shares.
func TestAgentThatMovesTakesItsNodesAlong(t *testing.T) {
	untouched := ofOthers(t, "moved-along")
	c := installation(t, "agent-before", "")
	if said, err := c.try(t, "apply", "-auto-approve"); err == nil {
		t.Fatalf("the apply succeeds without a node: %s", said)
	}
	c.run(t, "untaint", "packhorse_agent.test")
	c.write(t, map[string]string{"main.tf": lookingAhead("") + "resource \"packhorse_agent\" \"test\" {\n namespace = \"agent-after\"\n timeouts {\n create = \"20s\"\n }\n}\n"})
	says(t, c.run(t, "plan"), "agent agent-before/agent-before is replaced by agent agent-after/packhorse-agent", "Provisioner moved-along",
		"nodes stay, and the new agent takes them over")
	if said, err := c.try(t, "apply", "-auto-approve"); err == nil {
		t.Fatalf("the apply succeeds without a node: %s", said)
	}
	untouched()
	if _, err := kube.CoreV1().Namespaces().Get(t.Context(), "agent-before", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the old namespace is there still: %v", err)
	}
	if _, err := kube.RbacV1().ClusterRoles().Get(t.Context(), "agent-before", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the old ClusterRole is there still: %v", err)
	}
	c.run(t, "destroy", "-auto-approve")
	untouched()
}

// With create_before_destroy, two agents would be there at the same time, and the removal of the old
// one would take along what they share. So nothing is created, and the old one stays as it is.
func TestAgentIsNotCreatedBesideAnother(t *testing.T) {
	untouched := ofOthers(t, "one-agent")
	c := installation(t, "agent-only", "")
	if said, err := c.try(t, "apply", "-auto-approve"); err == nil {
		t.Fatalf("the apply succeeds without a node: %s", said)
	}
	before, err := kube.AppsV1().Deployments("agent-only").Get(t.Context(), "agent-only", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	declare := func(namespace, lifecycle string) {
		t.Helper()
		c.write(t, map[string]string{"main.tf": lookingAhead("") + fmt.Sprintf(
			"resource \"packhorse_agent\" \"test\" {\n namespace = %q\n name = %[1]q\n timeouts {\n create = \"20s\"\n }\n %s\n}\n", namespace, lifecycle)})
	}
	const first = "lifecycle {\n create_before_destroy = true\n }"
	declare("agent-only", first)
	said, err := c.try(t, "apply", "-auto-approve")
	if err == nil {
		t.Errorf("the apply succeeds: %s", said)
	}
	says(t, said, "agent agent-only/agent-only already exists", "If this resource replaces it, remove `create_before_destroy`")

	c.run(t, "untaint", "packhorse_agent.test")
	declare("agent-second", first)
	says(t, c.run(t, "plan"), "agent agent-only/agent-only is replaced by agent agent-second/agent-second", "With `create_before_destroy`, here or in a resource that depends on it, the apply fails")
	if said, err = c.try(t, "apply", "-auto-approve"); err == nil {
		t.Errorf("the apply succeeds: %s", said)
	}
	says(t, said, "another agent is installed in the cluster: agent-only/agent-only", "Nothing has been changed", "remove `create_before_destroy`")
	if _, err := kube.CoreV1().Namespaces().Get(t.Context(), "agent-second", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the refused apply has created the namespace: %v", err)
	}
	if now, err := kube.AppsV1().Deployments("agent-only").Get(t.Context(), "agent-only", metav1.GetOptions{}); err != nil || now.UID != before.UID {
		t.Errorf("the refused apply has replaced the agent: %v", err)
	}
	says(t, c.run(t, "state", "pull"), `"namespace": "agent-only"`)

	declare("agent-second", "")
	if said, err = c.try(t, "apply", "-auto-approve"); err == nil {
		t.Errorf("the apply succeeds without a node: %s", said)
	}
	says(t, said, "it did not become ready in time")
	untouched()
	c.run(t, "destroy", "-auto-approve")
}

// Nodes of a provisioner that stays, or of a NodePool, would have nobody to look after them.
func TestAgentIsNotDestroyedUnderNodesOfOthers(t *testing.T) {
	untouched := ofOthers(t, "occupied")
	c := installation(t, "agent-needed", "")
	if said, err := c.try(t, "apply", "-auto-approve"); err == nil {
		t.Fatalf("the apply succeeds without a node: %s", said)
	}
	addNode(t, "occupied", "occupied-1")
	says(t, c.run(t, "plan", "-destroy"), "while such a provisioner has nodes, the destroy fails", "node occupied-1; provisioner occupied")
	said, err := c.try(t, "destroy", "-auto-approve")
	if err == nil {
		t.Fatalf("the destroy succeeds: %s", said)
	}
	says(t, said, "provisioners that this destroy does not delete have 1 node", "Nothing has been deleted", "node occupied-1; provisioner occupied")
	if _, err := kube.AppsV1().Deployments("agent-needed").Get(t.Context(), "agent-needed", metav1.GetOptions{}); err != nil {
		t.Errorf("the refused destroy has deleted the agent: %v", err)
	}
	if err := release(t.Context(), "occupied-1"); err != nil {
		t.Fatal(err)
	}
	addNode(t, "occupied", "pooled-1")
	patch(t, schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, "pooled-1",
		`{"metadata":{"labels":{"karpenter.sh/provisioner-name":"pool","karpenter.sh/nodepool":"pool"},"ownerReferences":null}}`)
	said, err = c.try(t, "destroy", "-auto-approve")
	if err == nil {
		t.Fatalf("the destroy succeeds: %s", said)
	}
	says(t, said, "NodePools have 1 node", "Nothing has been deleted", "node pooled-1; NodePool pool")
	if n, err := kube.CoreV1().Nodes().Get(t.Context(), "pooled-1", metav1.GetOptions{}); err != nil || n.DeletionTimestamp != nil {
		t.Errorf("the refused destroy has deleted the node of a NodePool: %v", err)
	}
	if err := release(t.Context(), "pooled-1"); err != nil {
		t.Fatal(err)
	}
	c.run(t, "destroy", "-auto-approve")
	untouched()
}

// Whatever the cluster or the state says, only configuration is judged.
func TestAgentThatIsScaledToNothing(t *testing.T) {
	ofOthers(t, "idle") // which keeps the definitions for other tests
	c := installation(t, "agent-scaled", "")
	if said, err := c.try(t, "apply", "-auto-approve"); err == nil {
		t.Fatalf("the apply succeeds without a node: %s", said)
	}
	c.run(t, "untaint", "packhorse_agent.test")
	scale := func() {
		t.Helper()
		live, err := kube.AppsV1().Deployments("agent-scaled").GetScale(t.Context(), "agent-scaled", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		live.Spec.Replicas = 0
		if _, err := kube.AppsV1().Deployments("agent-scaled").UpdateScale(t.Context(), "agent-scaled", live, metav1.UpdateOptions{FieldManager: "kubectl"}); err != nil {
			t.Fatal(err)
		}
	}
	scale()
	says(t, c.run(t, "plan"), "~ replicas = 0 -> 2")
	said, err := c.try(t, "apply", "-auto-approve")
	if err == nil || !strings.Contains(said, "it did not become ready in time") {
		t.Errorf("the apply: %v\n%s", err, said)
	}
	live, err := kube.AppsV1().Deployments("agent-scaled").Get(t.Context(), "agent-scaled", metav1.GetOptions{})
	if err != nil || ptr.Deref(live.Spec.Replicas, 0) != 2 {
		t.Errorf("replicas %v, %v", live.Spec.Replicas, err)
	}
	scale()
	c.run(t, "destroy", "-auto-approve")
}

// What an agent inherits from a provider block that is known only after apply stays as it was, or is planned as
// unknown if something else changes.
func TestProviderBlockUnknownToAnAgent(t *testing.T) {
	ofOthers(t, "unknown-block") // which keeps the definitions for other tests
	c := installation(t, "agent-unknown", "")
	declare := func(replace, arguments string) {
		t.Helper()
		c.write(t, map[string]string{"main.tf": unknownBlock(replace) + fmt.Sprintf(
			"resource \"packhorse_agent\" \"test\" {\n namespace = \"agent-unknown\"\n name = \"agent-unknown\"\n %s\n timeouts {\n create = \"20s\"\n update = \"20s\"\n }\n}\n", arguments)})
	}
	late := func(step string) {
		t.Helper()
		said, err := c.try(t, "apply", "-auto-approve")
		if err == nil || !words("it did not become ready in time").MatchString(said) {
			t.Errorf("%s: the apply: %v\n%s", step, err, said)
		}
	}
	declare("first", "")
	late("a new agent")
	c.run(t, "untaint", "packhorse_agent.test")
	declare("second", "")
	says(t, c.run(t, "plan"), "1 to add, 0 to change, 1 to destroy")
	declare("second", "replicas = 3")
	says(t, c.run(t, "plan"), "1 to add, 1 to change, 1 to destroy")
	late("a change")
	live, err := kube.AppsV1().Deployments("agent-unknown").Get(t.Context(), "agent-unknown", metav1.GetOptions{})
	if err != nil || ptr.Deref(live.Spec.Replicas, 0) != 3 {
		t.Errorf("replicas %d, %v", ptr.Deref(live.Spec.Replicas, 0), err)
	}
	c.run(t, "destroy", "-auto-approve")
}

// Definitions of a Helm release are found before anything is changed.
func TestAgentFindsDefinitionsOfOthersAtPlan(t *testing.T) {
	ofOthers(t, "helms")
	provisioners := api.CRDs()[slices.IndexFunc(api.CRDs(), func(c api.CRD) bool { return strings.HasPrefix(c.Name, "provisioners.") })]
	declareAs := func(manager, text string) {
		t.Helper()
		_, err := objects.Resource(crdResource).Patch(context.Background(), provisioners.Name, types.ApplyPatchType, []byte(text), metav1.PatchOptions{FieldManager: manager, Force: ptr.To(true)})
		if err != nil {
			t.Fatal(err)
		}
	}
	text := string(provisioners.YAML)
	declareAs("helm", strings.Replace(text, "    categories:\n", "    categories:\n    - helmed\n", 1))
	t.Cleanup(func() { declareAs("helm", text) })
	c := installation(t, "agent-helm", "")
	said, err := c.try(t, "plan")
	if err == nil {
		t.Fatalf("the plan succeeds: %s", said)
	}
	says(t, said, "CustomResourceDefinition provisioners.karpenter.sh", `conflict with "helm"`, "install_crds = false", "force_conflicts = true")
	says(t, installation(t, "agent-left", "  install_crds = false").run(t, "plan"), "1 to add")
	says(t, installation(t, "agent-forced", "  force_conflicts = true").run(t, "plan"), "1 to add")

	// What the resource says takes precedence over the provider block.
	for arguments, refused := range map[string]bool{"": false, "force_conflicts = false": true} {
		c.write(t, map[string]string{"main.tf": lookingAhead("  force_conflicts = true") + "resource \"packhorse_agent\" \"test\" {\n" + arguments + "\n}\n"})
		if said, err := c.try(t, "plan"); (err != nil) != refused {
			t.Errorf("with %q beside a provider block that forces conflicts, the plan: %v\n%s", arguments, err, said)
		}
	}
}

// The address of a proxy may have a password.
func TestAgentsEnvironmentIsNotShown(t *testing.T) {
	const password = "planted-password-5c1d"
	said := installation(t, "agent-proxied", `  environment = { HTTPS_PROXY = "http://agent:`+password+`@proxy:443" }`).run(t, "plan")
	says(t, said, "1 to add")
	if strings.Contains(said, password) {
		t.Errorf("the plan shows the password:\n%s", said)
	}
}

// Webhooks of a Karpenter that is stopped are named before the agent meets them.
func TestAgentFindsWebhooksOfKarpenterAtPlan(t *testing.T) {
	const found = "validatingwebhookconfigurations/validation.webhook.karpenter.sh"
	webhooks := kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	made := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "validation.webhook.karpenter.sh"}} // which holds up no other test
	if _, err := webhooks.Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := webhooks.Delete(context.Background(), made.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	says(t, installation(t, "agent-hooks", "  install_crds = false").run(t, "plan"), "Admission webhooks of Karpenter", "kubectl delete "+found)
	if got, err := survey.Webhooks(t.Context(), runner(t)); err != nil || !slices.Equal(got, []string{found}) {
		t.Errorf("with the rights of the guide: %v, %v", got, err)
	}
}

// A Karpenter that would terminate the agent's machines is named before there are any.
func TestAgentFindsOldKarpenterAtPlan(t *testing.T) {
	const warning = "Karpenter 0.28 to 0.32 would terminate the machines of the agent"
	c := installation(t, "agent-old-karpenter", "  install_crds = false")
	if said := c.run(t, "plan"); strings.Contains(said, warning) {
		t.Fatalf("without the kind Machine: %s", said)
	}
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "machines.karpenter.sh"},
		"spec": map[string]any{
			"group": "karpenter.sh", "scope": "Cluster", "names": map[string]any{"kind": "Machine", "plural": "machines", "singular": "machine", "listKind": "MachineList"},
			"versions": []any{map[string]any{"name": "v1alpha5", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
		},
	}}
	if _, err := objects.Resource(definitions).Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := objects.Resource(definitions).Delete(context.Background(), crd.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return survey.Machines(kube)
	})
	if err != nil {
		t.Fatal(err)
	}
	says(t, c.run(t, "plan"), warning)
}

// With the rights of the guide, a destroy that leaves the nodes can scale back what surge has scaled up.
func TestRunnerMayScaleBack(t *testing.T) {
	ofOthers(t, "surging")
	addNode(t, "surging", "surging-1")
	deployments := kube.AppsV1().Deployments("default")
	labels := map[string]string{"app": "surging"}
	d, err := deployments.Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "surging"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := deployments.Delete(context.Background(), d.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	more := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: d.Name, Namespace: d.Namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: 2}}
	if _, err := deployments.UpdateScale(t.Context(), d.Name, more, metav1.UpdateOptions{FieldManager: cluster.Manager + "-surge-from-1"}); err != nil {
		t.Fatal(err)
	}
	record := fmt.Sprintf(`[{"namespace": "default", "deployment": "surging", "uid": %q, "replicas": 1, "pods": [{"name": "a", "uid": "a"}]}]`, d.UID)
	patch := fmt.Sprintf(`{"metadata": {"annotations": {%q: %q}}}`, api.AnnotationSurging, record)
	if _, err := kube.CoreV1().Nodes().Patch(t.Context(), "surging-1", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := kubeinstallation.NewKeeper(objects, runner(t), nil, kubeapply.Manager{Name: "terraform"}).MayScaleBack(t.Context()); err != nil {
		t.Error(err)
	}
}

// runner returns access to the cluster with the rights that the guide about the Terraform runner gives.
func runner(t *testing.T) kubernetes.Interface {
	t.Helper()
	manifest, err := os.ReadFile("../examples/guides/runner/access.yaml")
	if err != nil {
		t.Fatal(err)
	}
	role, binding, _ := strings.Cut(string(manifest), "---\n")
	for resource, document := range map[string]string{"clusterroles": role, "clusterrolebindings": binding} {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		client := objects.Resource(schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: resource})
		if _, err := client.Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := client.Delete(context.Background(), "packhorse-terraform", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	access := rest.CopyConfig(box.RESTConfig())
	access.Impersonate = rest.ImpersonationConfig{UserName: "runner", Groups: []string{"packhorse-terraform"}}
	client, err := kubernetes.NewForConfig(access)
	if err != nil {
		t.Fatal(err)
	}
	// The API server takes a moment until it knows the role.
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		return err == nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// In a namespace of others, Pod Security would reject their pods. This is found at plan,
// and by the apply where plans look at nothing.
func TestAgentLeavesNamespacesOfOthersAsTheyAre(t *testing.T) {
	ofOthers(t, "hosts") // which keeps the definitions for other tests
	const name = "agent-guest"
	namespaces := kube.CoreV1().Namespaces()
	if _, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c := installation(t, name, "")
	declare := func(block, arguments string) {
		t.Helper()
		c.write(t, map[string]string{"main.tf": block + fmt.Sprintf(
			"resource \"packhorse_agent\" \"test\" {\n namespace = %q\n name = %[1]q\n %s\n timeouts {\n create = \"20s\"\n update = \"20s\"\n }\n}\n", name, arguments)})
	}
	untouched := func() {
		t.Helper()
		live, err := namespaces.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if level, ok := live.Labels["pod-security.kubernetes.io/enforce"]; ok {
			t.Errorf("Pod Security enforces %s in the namespace", level)
		}
	}
	refused := func() {
		t.Helper()
		for _, way := range []struct {
			block string
			args  []string
		}{{lookingAhead(""), []string{"plan"}}, {byName(), []string{"apply", "-auto-approve"}}} {
			declare(way.block, "")
			said, err := c.try(t, way.args...)
			if err == nil {
				t.Errorf("the %s succeeds: %s", way.args[0], said)
			}
			says(t, said, "namespace agent-guest already exists and was made for something else", "create_namespace = false")
			untouched()
		}
	}
	refused()
	if _, err := kube.CoreV1().ServiceAccounts(name).Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the refused apply has begun: %v", err)
	}

	declare(lookingAhead(""), "create_namespace = false")
	said, err := c.try(t, "apply", "-auto-approve")
	if err == nil {
		t.Fatalf("the apply succeeds without a node: %s", said)
	}
	says(t, said, "it did not become ready in time")
	c.run(t, "untaint", "packhorse_agent.test")
	says(t, c.run(t, "plan"), "No changes.")
	refused() // also a change that would take the namespace over
	c.run(t, "destroy", "-auto-approve")
	untouched()
}

// Endpoints are read back from the Deployment, also where a variable takes the place
// of one.
func TestAgentEndpointsAreReadBack(t *testing.T) {
	ofOthers(t, "endpoints") // which keeps the definitions for other tests
	c := installation(t, "agent-endpoints", "")
	declare := func(arguments, timeouts string) {
		t.Helper()
		c.write(t, map[string]string{"main.tf": lookingAhead("  endpoints = { ec2 = \""+box.AWSEndpoint+"\" }") +
			"resource \"packhorse_agent\" \"test\" {\n namespace = \"agent-endpoints\"\n name = \"agent-endpoints\"\n" + arguments + timeouts + "\n}\n"})
	}
	const short = "\n timeouts {\n create = \"20s\"\n update = \"20s\"\n }\n"
	declare("", short)
	if said, err := c.try(t, "apply", "-auto-approve"); err == nil {
		t.Fatalf("the apply succeeds without a node: %s", said)
	}
	c.run(t, "untaint", "packhorse_agent.test")
	says(t, c.run(t, "plan"), "No changes.")

	// Nobody has to say again what an import has found.
	c.run(t, "state", "rm", "packhorse_agent.test")
	declare("", "")
	c.run(t, "import", "packhorse_agent.test", "agent-endpoints/agent-endpoints")
	says(t, c.run(t, "plan"), "No changes.")

	const changed = ` endpoints = { ec2 = "https://replaced", sqs = "https://sqs.internal" }
 environment = { AWS_ENDPOINT_URL_EC2 = "https://ec2.internal" }`
	declare(changed, short)
	if said, err := c.try(t, "apply", "-auto-approve"); err == nil {
		t.Fatalf("the apply succeeds without a node: %s", said)
	}
	says(t, c.run(t, "plan"), "No changes.")
	// The import is over with that: what concerns only the state waits for no replica.
	declare(changed+"\n keep_crds = true", short)
	says(t, c.run(t, "apply", "-auto-approve"), "0 added, 1 changed, 0 destroyed")
	declare(" endpoints = {}", short)
	says(t, c.run(t, "plan"), `- "sqs" = "https://sqs.internal"`, "0 to add, 1 to change, 0 to destroy")
	c.run(t, "destroy", "-auto-approve")
}

// While an agent drains nodes, it is not removed: without their finalizer, they would go at once. If no agent is left
// that could drain them, the destroy names them apart from those that stay.
func TestAgentIsNotOrphanedWhileItDrains(t *testing.T) {
	untouched := ofOthers(t, "half-drained")
	c := installation(t, "agent-draining", `  on_destroy = "orphan"`)
	if said, err := c.try(t, "apply", "-auto-approve"); err == nil {
		t.Fatalf("the apply succeeds without a node: %s", said)
	}
	addNode(t, "half-drained", "half-stays")
	addNode(t, "half-drained", "half-leaves")
	if err := kube.CoreV1().Nodes().Delete(t.Context(), "half-leaves", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Run("an agent leads", func(t *testing.T) {
		holdLease(t)
		said, err := c.try(t, "destroy", "-auto-approve")
		if err == nil {
			t.Fatalf("the destroy succeeds: %s", said)
		}
		says(t, said, "the agent is draining 1 node", "Nothing has been deleted", "Destroy again when the nodes are gone", "node half-leaves")
		if _, err := kube.AppsV1().Deployments("agent-draining").Get(t.Context(), "agent-draining", metav1.GetOptions{}); err != nil {
			t.Errorf("the Deployment: %v", err)
		}
		if n, err := kube.CoreV1().Nodes().Get(t.Context(), "half-leaves", metav1.GetOptions{}); err != nil || len(n.Finalizers) == 0 {
			t.Errorf("the node that is being drained: %v", err)
		}
	})
	says(t, c.run(t, "destroy", "-auto-approve"), "1 node will continue to run without an agent", "1 node will be deleted, but no machine will be terminated",
		"Terminate their instances", "node half-leaves; provisioner half-drained; instance aws:///eu-west-1a/i-0123456789abcdef0")
	if n, err := kube.CoreV1().Nodes().Get(t.Context(), "half-stays", metav1.GetOptions{}); err != nil || len(n.Finalizers) > 0 || n.DeletionTimestamp != nil {
		t.Errorf("the node that stays: %v", err)
	}
	if _, err := kube.CoreV1().Nodes().Get(t.Context(), "half-leaves", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the node that was being drained: %v", err)
	}
	untouched()
}

// Something may hold the namespace, with which a destroy ends. Then the next destroy waits for it again.
func TestAgentDestroyedUnderAHeldNamespace(t *testing.T) {
	ofOthers(t, "held-space") // which keeps the definitions for other tests
	const name = "agent-held"
	c := installation(t, name, "")
	c.write(t, map[string]string{"main.tf": lookingAhead("") + fmt.Sprintf(
		"resource \"packhorse_agent\" \"test\" {\n namespace = %q\n name = %[1]q\n timeouts {\n create = \"20s\"\n delete = \"15s\"\n }\n}\n", name)})
	if said, err := c.try(t, "apply", "-auto-approve"); err == nil {
		t.Fatalf("the apply succeeds without a node: %s", said)
	}
	hold := func(finalizers string) {
		t.Helper()
		patch(t, schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, name, `{"metadata":{"finalizers":`+finalizers+`}}`)
	}
	hold(`["example.com/hold"]`)
	for range 2 {
		said, err := c.try(t, "destroy", "-auto-approve")
		if err == nil {
			t.Fatalf("the destroy succeeds: %s", said)
		}
		says(t, said, "Namespace agent-held was not deleted in time", "its finalizers: example.com/hold")
	}
	hold("null")
	c.run(t, "destroy", "-auto-approve")
	if _, err := kube.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace: %v", err)
	}
}

// When the nodes are gone, the pods of an API such as that of metrics-server may have no node to run on. Then
// no namespace of the cluster goes, and a destroy does not wait for that.
func TestAgentDestroyedWhileAnAPIDoesNotAnswer(t *testing.T) {
	ofOthers(t, "unanswered") // which keeps the definitions for other tests
	const name = "agent-unanswered"
	c := installation(t, name, "")
	if said, err := c.try(t, "apply", "-auto-approve"); err == nil {
		t.Fatalf("the apply succeeds without a node: %s", said)
	}
	services := objects.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
	metrics := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1beta1.metrics.k8s.io"},
		"spec": map[string]any{
			"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100), "insecureSkipTLSVerify": true,
			"service": map[string]any{"namespace": "kube-system", "name": "metrics-server"},
		},
	}}
	if _, err := services.Create(t.Context(), metrics, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := services.Delete(context.Background(), metrics.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	says(t, c.run(t, "destroy", "-auto-approve"), "Namespace agent-unanswered: it is empty, and is deleted once all APIs of the cluster respond", "kubectl get apiservices", "metrics.k8s.io/v1beta1")
	says(t, c.run(t, "destroy", "-auto-approve"), "0 destroyed")
}

// With on_destroy = "orphan", provisioners of the same configuration still go before the agent, with their nodes. To
// keep these, Terraform forgets the provisioners first, as docs/installation.md says, also if the agent is dead.
func TestAgentIsOrphanedWithoutItsProvisioners(t *testing.T) {
	untouched := ofOthers(t, "others-stay")
	const name = "left-behind"
	c := installation(t, "agent-left", `  on_destroy = "orphan"`)
	if said, err := c.try(t, "apply", "-auto-approve"); err == nil {
		t.Fatalf("the apply succeeds without a node: %s", said)
	}
	c.run(t, "untaint", "packhorse_agent.test")
	c.write(t, map[string]string{"provisioner.tf": fmt.Sprintf(
		"resource \"packhorse_provisioner\" \"default\" {\n name = %q\n provider_ref = { name = \"others-stay\" }\n depends_on = [packhorse_agent.test]\n}\n", name)})
	c.run(t, "apply", "-auto-approve")
	t.Cleanup(func() {
		if err := objects.Resource(api.ProvisionerGVR).Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	addNode(t, name, "left-behind-1")
	says(t, c.run(t, "plan", "-destroy"), "except those of provisioners that are destroyed too", "by `removed` blocks with `destroy = false`")
	said, err := c.try(t, "destroy", "-auto-approve")
	if err == nil {
		t.Fatalf("the destroy succeeds: %s", said)
	}
	says(t, said, "it has nodes (1), and no agent is running that could drain them", "replace the blocks of this resource and of its packhorse_node_role by `removed` blocks with `destroy = false`")

	page, err := os.ReadFile("../docs/installation.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "\n### Keeping the nodes\n")
	_, rest, _ = strings.Cut(rest, "```hcl\n")
	removed, _, _ := strings.Cut(rest, "```\n")
	c.write(t, map[string]string{"provisioner.tf": removed})
	c.run(t, "apply", "-auto-approve")
	says(t, c.run(t, "destroy", "-auto-approve"), "1 node will continue to run without an agent", "node left-behind-1; provisioner left-behind")
	n, err := kube.CoreV1().Nodes().Get(t.Context(), "left-behind-1", metav1.GetOptions{})
	if err != nil || len(n.Finalizers)+len(n.OwnerReferences) > 0 || n.DeletionTimestamp != nil {
		t.Errorf("the node: %+v, %v", n.ObjectMeta, err)
	}
	if object(t, api.ProvisionerGVR, name).GetDeletionTimestamp() != nil {
		t.Error("the provisioner is being deleted")
	}
	untouched()
}
