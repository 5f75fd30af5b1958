package kube

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane/planetest"
)

// launching is a Node object as it is before the kubelet takes over.
func launching(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      map[string]string{api.LabelProvisioner: "default"},
			Annotations: map[string]string{"packhorse.io/launch-id": "l1"},
			Finalizers:  []string{api.Finalizer},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: api.ProvisionerGVK.GroupVersion().String(), Kind: api.ProvisionerKind, Name: "default", UID: "u1",
			}},
		},
		Spec: corev1.NodeSpec{
			ProviderID: "aws:///eu-west-1a/i-" + name,
			Taints: []corev1.Taint{
				{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule},
				{Key: "gpu", Value: "true", Effect: corev1.TaintEffectNoSchedule},
			},
		},
		Status: corev1.NodeStatus{
			Capacity:    corev1.ResourceList{"cpu": resource.MustParse("4"), "pods": resource.MustParse("58")},
			Allocatable: corev1.ResourceList{"cpu": resource.MustParse("3920m"), "pods": resource.MustParse("58")},
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "Launching"}},
		},
	}
}

func node(t *testing.T, name string) *corev1.Node {
	t.Helper()
	out, err := admin.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCreateNodeKeepsItsStatus(t *testing.T) {
	c := connect(t)
	want := launching("created")
	removeNode(t, want.Name)
	// The garbage collector would remove a node whose owner does not exist.
	want.OwnerReferences[0].UID = newProvisioner(t, "default", map[string]any{}).GetUID()
	if _, err := c.CreateNode(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the node is in the snapshot", func() error {
		for _, n := range c.Snapshot().Nodes {
			if n.Name != want.Name {
				continue
			}
			if n.Ready || n.Allocatable["cpu"] != 3920 || n.Capacity["pods"] != 58 || n.Provisioner != "default" || n.ProviderID != want.Spec.ProviderID {
				t.Errorf("got %+v", n)
			}
			if diff := cmp.Diff([]string{api.Finalizer}, n.Finalizers); diff != "" {
				t.Errorf("finalizers: -want +got\n%s", diff)
			}
			for _, taint := range want.Spec.Taints {
				if !hasTaint(n.Taints, taint) {
					t.Errorf("taint %s is missing in %v", taint.ToString(), n.Taints)
				}
			}
			return nil
		}
		return errors.New("it is not there")
	})
	if _, err := c.CreateNode(t.Context(), want); err != nil {
		t.Errorf("creating it again: %v", err)
	}
}

func hasTaint(taints []corev1.Taint, want corev1.Taint) bool {
	for _, have := range taints {
		if have.MatchTaint(&want) && have.Value == want.Value {
			return true
		}
	}
	return false
}

func TestCreateNodeTakesTheKubeletsOver(t *testing.T) {
	c := connect(t)
	const name = "kubelet-was-faster"
	removeNode(t, name)
	other := newProvisioner(t, "another", map[string]any{})
	kubelets := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubelet": "yes"}, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: other.GetAPIVersion(), Kind: other.GetKind(), Name: other.GetName(), UID: other.GetUID()},
		}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "startup", Effect: corev1.TaintEffectNoExecute}}},
	}
	if _, err := admin.CoreV1().Nodes().Create(t.Context(), kubelets, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ours := launching(name)
	ours.OwnerReferences[0].UID = newProvisioner(t, "default", map[string]any{}).GetUID()
	ours.Spec.Unschedulable = true
	dedicated := corev1.Taint{Key: "dedicated", Value: "db", Effect: corev1.TaintEffectNoSchedule}
	if ready, err := c.CreateNode(t.Context(), ours, dedicated); err != nil || ready {
		t.Fatalf("ready %t, error %v; want a node that is not ready", ready, err)
	}
	got := node(t, name)
	if got.Labels["kubelet"] != "yes" || got.Labels[api.LabelProvisioner] != "default" {
		t.Errorf("got labels %v", got.Labels)
	}
	if got.Annotations["packhorse.io/launch-id"] != "l1" || len(got.Finalizers) != 1 || len(got.OwnerReferences) != 1 || got.OwnerReferences[0].UID != ours.OwnerReferences[0].UID || got.Spec.ProviderID != ours.Spec.ProviderID {
		t.Errorf("got %+v and provider id %s", got.ObjectMeta, got.Spec.ProviderID)
	}
	if !hasTaint(got.Spec.Taints, kubelets.Spec.Taints[0]) || !hasTaint(got.Spec.Taints, dedicated) || hasTaint(got.Spec.Taints, ours.Spec.Taints[1]) {
		t.Errorf("got taints %v, want the kubelet's and the one to add", got.Spec.Taints)
	}
	if !got.Spec.Unschedulable {
		t.Error("the node takes pods")
	}
	if _, err := admin.CoreV1().Nodes().Patch(t.Context(), name, types.MergePatchType, []byte(`{"spec":{"unschedulable":false}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	up := []byte(`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
	if _, err := admin.CoreV1().Nodes().Patch(t.Context(), name, types.StrategicMergePatchType, up, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	ours.Annotations[api.AnnotationRemade] = "true"
	if ready, err := c.CreateNode(t.Context(), ours); err != nil || !ready {
		t.Errorf("ready %t, error %v; want a node that is ready", ready, err)
	}
	if n := node(t, name); n.Annotations[api.AnnotationRemade] != "" || n.Spec.Unschedulable {
		t.Errorf("a node that was ready is called made again, and would be drained: %v, cordoned: %t", n.Annotations, n.Spec.Unschedulable)
	}
}

// Where a policy lets only kubelets create Nodes, it refuses also one that is there. It is taken over nevertheless.
func TestCreateNodeThatIsRefused(t *testing.T) {
	for name, denied := range map[string]*apierrors.StatusError{
		"the API server": apierrors.NewForbidden(corev1.Resource("nodes"), "there", errors.New("only kubelets")),
		"a webhook":      apierrors.NewBadRequest("admission webhook denied the request"),
	} {
		client := kubefake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "there"}})
		client.PrependReactor("create", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, denied })
		c := &Cluster{client: client}
		if _, err := c.CreateNode(t.Context(), launching("there")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got, err := client.CoreV1().Nodes().Get(t.Context(), "there", metav1.GetOptions{})
		if err != nil || got.Labels[api.LabelProvisioner] != "default" || len(got.Finalizers) != 1 {
			t.Errorf("%s: the node is %+v, %v", name, got, err)
		}
		if _, err := c.CreateNode(t.Context(), launching("absent")); !errors.Is(err, denied) {
			t.Errorf("%s: %v for a node that is not there", name, err)
		}
	}
}

func TestCreateNodeLeavesOthersAlone(t *testing.T) {
	c := connect(t)
	const name = "name-used-again"
	removeNode(t, name)
	old := launching(name)
	old.OwnerReferences = nil
	if _, err := c.CreateNode(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	other := launching(name)
	other.Spec.ProviderID = "aws:///eu-west-1a/i-another"
	if _, err := c.CreateNode(t.Context(), other); !errors.Is(err, cluster.ErrStale) {
		t.Errorf("got %v for another machine's node, want ErrStale", err)
	}
	if err := c.PatchNode(t.Context(), name, cluster.NodeChange{ProviderID: other.Spec.ProviderID, RemoveFinalizer: api.Finalizer}); !errors.Is(err, cluster.ErrGone) {
		t.Errorf("got %v for a change of another machine's node, want ErrGone", err)
	}
	if err := c.DeleteNode(t.Context(), name, other.Spec.ProviderID); !errors.Is(err, cluster.ErrGone) {
		t.Errorf("got %v for the deletion of another machine's node, want ErrGone", err)
	}
	if got := node(t, name); got.DeletionTimestamp != nil || len(got.Finalizers) != 1 {
		t.Errorf("got %+v, want a node as before", got.ObjectMeta)
	}
	if err := c.DeleteNode(t.Context(), name, old.Spec.ProviderID); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateNode(t.Context(), old); !errors.Is(err, cluster.ErrStale) {
		t.Errorf("got %v for a node that is being deleted, want ErrStale", err)
	}
}

// A policy may go on refusing a change, other than what keeps the API server from making it at the moment.
func TestRefusedNodeChange(t *testing.T) {
	nodes := schema.GroupResource{Resource: "nodes"}
	for name, c := range map[string]struct {
		err     error
		refused bool
	}{
		"forbidden":   {apierrors.NewForbidden(nodes, "n", errors.New("by a policy")), true},
		"invalid":     {apierrors.NewInvalid(schema.GroupKind{Kind: "Node"}, "n", nil), true},
		"credentials": {apierrors.NewUnauthorized("the webhook that checks them does not answer"), false},
		"conflict":    {apierrors.NewConflict(nodes, "n", errors.New("changed")), false},
		"throttled":   {apierrors.NewTooManyRequests("slow down", 1), false},
		"in trouble":  {apierrors.NewInternalError(errors.New("etcd")), false},
		"unavailable": {apierrors.NewServiceUnavailable("starting"), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := kubefake.NewClientset(launching("n"))
				client.PrependReactor("*", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
					return a.GetVerb() != "get", nil, c.err
				})
				on := &Cluster{client: client}
				for did, err := range map[string]error{
					"change": on.PatchNode(t.Context(), "n", cluster.NodeChange{RemoveFinalizer: api.Finalizer}),
					"delete": on.DeleteNode(t.Context(), "n", ""),
				} {
					if !errors.Is(err, c.err) || errors.Is(err, cluster.ErrRefused) != c.refused {
						t.Errorf("%s: got %v, want refused %t", did, err, c.refused)
					}
				}
			})
		})
	}
}

func TestPatchNode(t *testing.T) {
	c := connect(t)
	const name = "patched"
	removeNode(t, name)
	start := launching(name)
	start.OwnerReferences = nil
	start.Annotations["old"] = "x"
	if _, err := c.CreateNode(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	yes := true
	leaving := corev1.Taint{Key: api.TaintDisruption, Effect: corev1.TaintEffectNoSchedule}
	change := cluster.NodeChange{
		SetLabels:         map[string]string{"a": "b"},
		RemoveLabels:      []string{"absent"},
		SetAnnotations:    map[string]string{"c": "d"},
		RemoveAnnotations: []string{"old"},
		AddTaints:         []corev1.Taint{leaving},
		RemoveTaints:      []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}},
		AddFinalizer:      "example.com/other",
		Cordon:            &yes,
	}
	if err := c.PatchNode(t.Context(), name, change); err != nil {
		t.Fatal(err)
	}
	got := node(t, name)
	if got.Labels["a"] != "b" || got.Annotations["c"] != "d" || got.Annotations["old"] != "" || !got.Spec.Unschedulable {
		t.Errorf("got %+v, unschedulable %v", got.ObjectMeta, got.Spec.Unschedulable)
	}
	if !hasTaint(got.Spec.Taints, leaving) || hasTaint(got.Spec.Taints, start.Spec.Taints[1]) {
		t.Errorf("got taints %v", got.Spec.Taints)
	}
	if diff := cmp.Diff([]string{api.Finalizer, "example.com/other"}, got.Finalizers); diff != "" {
		t.Errorf("finalizers: -want +got\n%s", diff)
	}
	if got.Labels[api.LabelProvisioner] != "default" {
		t.Error("a label that the change does not name was lost")
	}
}

func TestNodeLifeEndsWithItsFinalizer(t *testing.T) {
	c := connect(t)
	const name = "released"
	removeNode(t, name)
	start := launching(name)
	start.OwnerReferences = nil
	if _, err := c.CreateNode(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	if err := c.DeleteNode(t.Context(), name, ""); err != nil {
		t.Fatal(err)
	}
	if node(t, name).DeletionTimestamp == nil {
		t.Fatal("the node is not being deleted")
	}
	if err := c.PatchNode(t.Context(), name, cluster.NodeChange{RemoveFinalizer: api.Finalizer}); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("got %v, want that the node is gone", err)
	}
	if err := c.PatchNode(t.Context(), name, cluster.NodeChange{SetLabels: map[string]string{"a": "b"}}); !errors.Is(err, cluster.ErrGone) {
		t.Errorf("got %v from changing it, want ErrGone", err)
	}
	if err := c.DeleteNode(t.Context(), name, ""); err != nil {
		t.Errorf("got %v from deleting it again, want nothing", err)
	}
}

func TestNodePatch(t *testing.T) {
	no := false
	have := launching("n")
	have.ResourceVersion = "7"
	have.Labels["team"] = "a"
	for name, c := range map[string]struct {
		change cluster.NodeChange
		want   string
	}{
		"nothing": {cluster.NodeChange{}, ""},
		"everything is as wanted": {
			cluster.NodeChange{
				SetLabels:       map[string]string{api.LabelProvisioner: "default"},
				RemoveLabels:    []string{"absent"},
				AddTaints:       have.Spec.Taints[:1],
				RemoveTaints:    []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoExecute}},
				AddFinalizer:    api.Finalizer,
				RemoveFinalizer: "absent",
				Cordon:          &no,
			}, "",
		},
		"a taint gets another value": {
			cluster.NodeChange{AddTaints: []corev1.Taint{{Key: "gpu", Value: "false", Effect: corev1.TaintEffectNoSchedule}}},
			`{"metadata":{"resourceVersion":"7"},"spec":{"taints":[{"effect":"NoSchedule","key":"node.kubernetes.io/not-ready"},{"effect":"NoSchedule","key":"gpu","value":"false"}]}}`,
		},
		"a label goes": {
			cluster.NodeChange{RemoveLabels: []string{api.LabelProvisioner}},
			`{"metadata":{"labels":{"` + api.LabelProvisioner + `":null},"resourceVersion":"7"}}`,
		},
	} {
		got, err := nodePatch(have, c.change)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: the patch is %s (%v), want %s", name, got, err, c.want)
		}
	}
}
