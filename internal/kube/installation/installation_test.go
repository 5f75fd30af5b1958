package installation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/apply"
)

func objects(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	settings := install.Settings{ClusterName: "prod"}.Defaulted("1.2.3")
	out, err := settings.Objects()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// keeper keeps the objects in a cluster of fakes.
func keeper(live []*unstructured.Unstructured, typed ...runtime.Object) *Keeper {
	kinds := map[schema.GroupVersionResource]string{}
	settings := install.Settings{ClusterName: "prod"}.Defaulted("")
	declared, err := settings.Objects()
	if err != nil {
		panic(err)
	}
	for _, o := range declared {
		resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
		kinds[resource] = o.GetKind() + "List"
	}
	kinds[api.ProvisionerGVR] = api.ProvisionerKind + "List"
	var all []runtime.Object
	for _, o := range live {
		all = append(all, o)
	}
	served := append(slices.Collect(maps.Keys(kinds)), others...)
	for _, resource := range others {
		kinds[resource] = "ObjectList"
	}
	objects := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, all...)
	client := fake.NewClientset(typed...)
	known := map[string]*metav1.APIResourceList{}
	for _, kind := range served {
		namespaced := kind.Group != "apiextensions.k8s.io" && kind != api.ProvisionerGVR && !slices.Contains([]string{"namespaces", "clusterroles", "clusterrolebindings"}, kind.Resource)
		verbs := metav1.Verbs{"get", "list", "delete"}
		if kind.Group == "metrics.k8s.io" {
			verbs = verbs[:2]
		}
		version := kind.GroupVersion().String()
		if known[version] == nil {
			known[version] = &metav1.APIResourceList{GroupVersion: version}
			client.Resources = append(client.Resources, known[version])
		}
		known[version].APIResources = append(known[version].APIResources, metav1.APIResource{Name: kind.Resource, Namespaced: namespaced, Verbs: verbs})
	}
	names := metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme())
	names.PrependReactor("list", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		live, err := objects.Resource(action.GetResource()).Namespace(action.GetNamespace()).List(context.Background(), metav1.ListOptions{})
		if err != nil {
			return true, nil, err
		}
		out := &metav1.List{}
		for _, o := range live.Items {
			only := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: o.GetName(), OwnerReferences: o.GetOwnerReferences()}}
			out.Items = append(out.Items, runtime.RawExtension{Object: only})
		}
		return true, out, nil
	})
	return NewKeeper(objects, client, names, apply.Manager{Name: "test"})
}

// others are kinds of the cluster that no installation has.
var others = []schema.GroupVersionResource{
	{Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "events"}, {Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"},
	{Group: "monitoring.coreos.com", Version: "v1", Resource: "podmonitors"}, {Group: "metrics.k8s.io", Version: "v1beta1", Resource: "pods"},
}

func TestReadTellsWhatIsMissing(t *testing.T) {
	declared := objects(t)
	live, err := keeper(slices.DeleteFunc(slices.Clone(declared), func(o *unstructured.Unstructured) bool { return o.GetKind() == "Service" })).Read(t.Context(), declared)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Service packhorse-agent is not there"}, install.Differences(declared, live)); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}

// A downgrade to a release that does not know how objects are stored changes
// nothing, also where the other definition is not there.
func TestStoredVersions(t *testing.T) {
	declared := objects(t)
	crd := declared[1].DeepCopy()
	if err := unstructured.SetNestedStringSlice(crd.Object, []string{"v1alpha5", "v1"}, "status", "storedVersions"); err != nil {
		t.Fatal(err)
	}
	k := keeper([]*unstructured.Unstructured{crd})
	err := k.Apply(t.Context(), declared, false)
	if err == nil || !strings.Contains(err.Error(), "provisioners.karpenter.sh: objects may be stored in the version v1, which this release does not know (it knows v1alpha5)") {
		t.Errorf("error %v", err)
	}
	declared = slices.Delete(declared, 1, 2)
	if live, err := k.Read(t.Context(), declared); err != nil || slices.ContainsFunc(live, func(o *unstructured.Unstructured) bool { return o != nil }) {
		t.Errorf("applied %v, %v", live, err)
	}
}

// A webhook with side effects cannot be asked in a dry run. That says nothing of the installation.
func TestCheckPassesOverWebhooksWithSideEffects(t *testing.T) {
	k := keeper(nil)
	answer := func(kind string, err error) {
		k.objects.(*dynamicfake.FakeDynamicClient).PrependReactor("patch", kind, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err })
	}
	answer("deployments", errNoDryRun)
	if err := k.Check(t.Context(), objects(t), false); err != nil {
		t.Error(err)
	}
	answer("services", apierrors.NewBadRequest("unknown field"))
	if err := k.Check(t.Context(), objects(t), false); err == nil || !strings.Contains(err.Error(), "unknown field") {
		t.Errorf("error = %v, want that of the Service", err)
	}
}

// errNoDryRun is what the API server says of a webhook that has side effects.
var errNoDryRun = apierrors.NewBadRequest(`admission webhook "audit.example.com" does not support dry run`)

func TestRemoveKeepsAnInhabitedNamespace(t *testing.T) {
	foreign := func(version, kind, name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": name, "namespace": "packhorse"},
		}}
	}
	owned := foreign("monitoring.coreos.com/v1", "PodMonitor", "theirs")
	owned.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Operator", Name: "cluster-wide"}})
	declared := objects(t)
	for name, c := range map[string]struct {
		others []*unstructured.Unstructured
		denied string
		kept   []string
	}{
		"its own alone":          {nil, "", nil},
		"others' as well":        {[]*unstructured.Unstructured{foreign("v1", "ConfigMap", "theirs")}, "", []string{"configmaps/theirs"}},
		"of a kind that is rare": {[]*unstructured.Unstructured{foreign("networking.k8s.io/v1", "Ingress", "theirs")}, "", []string{"ingresses.networking.k8s.io/theirs"}},
		"of a kind of others":    {[]*unstructured.Unstructured{owned}, "", []string{"podmonitors.monitoring.coreos.com/theirs"}},
		"what is in all namespaces": {[]*unstructured.Unstructured{
			foreign("v1", "ConfigMap", "kube-root-ca.crt"), foreign("v1", "ServiceAccount", "default"), foreign("v1", "Event", "any"), foreign("metrics.k8s.io/v1beta1", "PodMetrics", "any"),
		}, "", nil},
		"what may not be listed": {nil, "ingresses", []string{"ingresses.networking.k8s.io: there is no right to list them"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := keeper(declared)
				for _, o := range c.others {
					kind, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
					if kind.Group == "metrics.k8s.io" {
						kind.Resource = "pods"
					}
					if _, err := k.objects.Resource(kind).Namespace("packhorse").Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				k.names.(*metadatafake.FakeMetadataClient).PrependReactor("list", c.denied, func(action clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, apierrors.NewForbidden(action.GetResource().GroupResource(), "", nil)
				})
				kept, err := k.Remove(t.Context(), declared)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.kept, kept); diff != "" {
					t.Errorf("kept (-want +got):\n%s", diff)
				}
				live, err := k.Read(t.Context(), declared)
				if err != nil {
					t.Fatal(err)
				}
				for i, o := range live {
					if (o != nil) != (declared[i].GetKind() == "Namespace" && len(c.kept) > 0) {
						t.Errorf("%s is there: %t", title(declared[i]), o != nil)
					}
				}
			})
		})
	}
}

// When the nodes are gone, an API such as that of metrics-server may have no node to run on. Then Kubernetes
// completes the deletion of no namespace.
func TestRemoveDoesNotWaitForAPIs(t *testing.T) {
	for name, c := range map[string]struct {
		remaining   string
		terminating bool
		want        string
	}{
		"an empty namespace": {"False", true, "Namespace packhorse: it is empty, and is deleted once all APIs of the cluster respond\n  NamespaceDeletionDiscoveryFailure: metrics.k8s.io/v1beta1 failed"},
		"one with content":   {"True", false, "Namespace packhorse was not deleted in time\n  its finalizers: \n  NamespaceDeletionDiscoveryFailure: metrics.k8s.io/v1beta1 failed\n  NamespaceContentRemaining: it says what"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				space := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "packhorse"}, "status": map[string]any{"conditions": []any{
					map[string]any{"type": "NamespaceDeletionDiscoveryFailure", "status": "True", "message": "metrics.k8s.io/v1beta1 failed"},
					map[string]any{"type": "NamespaceDeletionContentFailure", "status": "False", "message": "it says what"},
					map[string]any{"type": "NamespaceContentRemaining", "status": c.remaining, "message": "it says what"},
				}}}}
				k := keeper([]*unstructured.Unstructured{space})
				k.objects.(*dynamicfake.FakeDynamicClient).PrependReactor("delete", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, nil })
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
				defer cancel()
				_, err := k.Remove(ctx, []*unstructured.Unstructured{space})
				if err == nil || err.Error() != c.want || errors.Is(err, install.ErrTerminating) != c.terminating {
					t.Errorf("Remove() = %v, want %s", err, c.want)
				}
			})
		})
	}
}

// Only what is named leaves, and what is leaving already.
func TestDrainLeavesOthersAlone(t *testing.T) {
	object := func(name string, deleting bool) *unstructured.Unstructured {
		p := &unstructured.Unstructured{Object: map[string]any{}}
		p.SetName(name)
		if deleting {
			p.SetDeletionTimestamp(ptr.To(metav1.Now()))
		}
		return p
	}
	labelled := func(name, provisioner string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{api.LabelProvisioner: provisioner}}}
	}
	node := func(name, provisioner string) *corev1.Node {
		n := labelled(name, provisioner)
		n.Finalizers = []string{api.Finalizer}
		return n
	}
	pooled := func(name, pool string, deleted *metav1.Time) *corev1.Node {
		n := node(name, pool)
		n.Labels[api.LabelNodePool], n.DeletionTimestamp = pool, deleted
		return n
	}
	unheld := labelled("h", "named")
	unheld.Annotations = map[string]string{api.AnnotationLaunchID: "launch-1"}
	k := keeper(nil,
		node("a", "foreign"), node("b", "named"), node("c", "deleting"), node("d", "gone"),
		pooled("e", "pool", nil), pooled("f", "named", nil), pooled("g", "emptied", ptr.To(metav1.Now())),
		unheld, labelled("of a node group", "gone"), labelled("another", "named"),
	)
	nodes, err := k.nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := removalOf([]*unstructured.Unstructured{object("named", false), object("foreign", false), object("deleting", true)}, nodes, []string{"named"})
	want := removal{names: []string{"deleting", "emptied", "gone", "named"}, nodes: 5, ownerless: []string{"d"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(removal{})); diff != "" {
		t.Errorf("what leaves (-want +got):\n%s", diff)
	}
}

// Only an agent knows whether instances are left of a Provisioner that has its finalizer.
func TestDrainWithoutAnAgent(t *testing.T) {
	for name, c := range map[string]struct {
		finalizers []string
		want       string
	}{
		"never seen by an agent": {nil, ""},
		"held by an agent":       {[]string{api.Finalizer}, "provisioner default has the finalizer karpenter.sh/termination, so that machines may be left, and no agent is running that could drain them"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &unstructured.Unstructured{}
			p.SetGroupVersionKind(api.ProvisionerGVR.GroupVersion().WithKind(api.ProvisionerKind))
			p.SetName("default")
			p.SetFinalizers(c.finalizers)
			k := keeper([]*unstructured.Unstructured{p})
			err := k.Drain(t.Context(), []string{"default"}, func([]string) {})
			if said := fmt.Sprint(err); err != nil && (said != c.want || !errors.Is(err, install.ErrNoAgent)) || (err == nil) != (c.want == "") {
				t.Errorf("error %v, want %s", err, c.want)
			}
			_, err = k.objects.Resource(api.ProvisionerGVR).Get(t.Context(), "default", metav1.GetOptions{})
			if gone := apierrors.IsNotFound(err); gone != (c.want == "") {
				t.Errorf("the Provisioner is gone: %t, %v", gone, err)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	labels := map[string]string{"a": "b"}
	deployment := func(status appsv1.DeploymentStatus) *appsv1.Deployment {
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "packhorse-agent", Namespace: "packhorse", Generation: 2},
			Spec:       appsv1.DeploymentSpec{Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: labels}}, Status: status,
		}
	}
	up := appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2}
	lease := func(holder string, renewed time.Duration) *coordinationv1.Lease {
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: install.LeaseName, Namespace: "packhorse"},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To(holder), LeaseDurationSeconds: ptr.To[int32](15), RenewTime: &metav1.MicroTime{Time: now.Add(renewed)}},
		}
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "packhorse", Labels: labels},
		Status:     corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Ready: true, ImageID: "registry/agent@sha256:12"}}},
	}
	stuck := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "two", Namespace: "packhorse", Labels: labels},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such tag"}},
		}}},
	}
	crashing := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "three", Namespace: "packhorse", Labels: labels},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			RestartCount:         334,
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 5m0s"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "started\nno region: set AWS_REGION\n"}},
		}}},
	}
	ended := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "four", Namespace: "packhorse", Labels: labels},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}},
		}}},
	}
	for name, c := range map[string]struct {
		live []runtime.Object
		want install.Status
	}{
		"all is well":        {[]runtime.Object{deployment(up), pod, lease("one_7", -time.Second)}, install.Status{Leader: "one", ImageDigest: "sha256:12"}},
		"nobody leads":       {[]runtime.Object{deployment(up), pod}, install.Status{Waiting: "no replica leads"}},
		"the leader is dead": {[]runtime.Object{deployment(up), pod, lease("one_7", -time.Hour)}, install.Status{Waiting: "no replica leads"}},
		"another one leads":  {[]runtime.Object{deployment(up), pod, lease("old_1", -time.Second)}, install.Status{Waiting: "no replica leads"}},
		"not looked at": {
			[]runtime.Object{deployment(appsv1.DeploymentStatus{ObservedGeneration: 1})}, install.Status{Waiting: "the Deployment controller has not observed the change yet"},
		},
		"an image that is not there": {
			[]runtime.Object{deployment(appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 1, AvailableReplicas: 2}), pod, stuck, lease("one_7", 0)},
			install.Status{Leader: "one", ImageDigest: "sha256:12", Waiting: "1 of 2 replicas are updated", Troubles: []string{"pod two: ImagePullBackOff: no such tag"}},
		},
		"a container that ends again and again": {
			[]runtime.Object{deployment(appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 1}), crashing},
			install.Status{Waiting: "1 of 2 replicas are updated", Troubles: []string{"pod three: restarts: 334; CrashLoopBackOff: back-off 5m0s; " +
				"ended with exit code 1, its last line: no region: set AWS_REGION"}},
		},
		"a container that has just ended": {
			[]runtime.Object{deployment(appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2}), ended},
			install.Status{Waiting: "0 of 2 replicas are available", Troubles: []string{"pod four: ended with exit code 137 (OOMKilled)"}},
		},
		"pods that admission refuses": {
			[]runtime.Object{deployment(appsv1.DeploymentStatus{ObservedGeneration: 2, Conditions: []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse, Reason: "MinimumReplicasUnavailable", Message: "Deployment does not have minimum availability."},
				{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: `admission webhook "policy" denied the request: no label team`},
			}})},
			install.Status{Waiting: "0 of 2 replicas are updated", Troubles: []string{`FailedCreate: admission webhook "policy" denied the request: no label team`}},
		},
		"an old replica": {
			[]runtime.Object{deployment(appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 2, AvailableReplicas: 3}), pod, lease("one_7", 0)},
			install.Status{Leader: "one", ImageDigest: "sha256:12", Waiting: "old replicas that still exist: 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, err := keeper(nil, c.live...).Status(t.Context(), "packhorse", "packhorse-agent", now)
				if err != nil {
					t.Fatal(err)
				}
				c.want.Definitions = map[string][]string{}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("status (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// What has been interrupted was not late.
func TestAwaitSaysHowItHasEnded(t *testing.T) {
	waiting := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "packhorse-agent", Namespace: "packhorse", Generation: 1},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 1},
	}
	for want, end := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"the wait was interrupted: 0 of 1 replicas are updated": context.WithCancel,
		"it did not become ready in time: 0 of 1 replicas are updated": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Millisecond)
		},
	} {
		ctx, cancel := end(t.Context())
		_, err := keeper(nil, waiting).Await(ctx, "packhorse", "packhorse-agent", func(string) {
			if want[0] == 't' {
				cancel()
			}
		})
		cancel()
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// A node that is given up keeps the taints of others, and none of the agent's.
func TestReleaseTakesTheAgentsTaintsOff(t *testing.T) {
	others := []corev1.Taint{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}, {Key: "team", Effect: corev1.TaintEffectPreferNoSchedule}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "n1", Labels: map[string]string{api.LabelProvisioner: "default"}, Finalizers: []string{api.Finalizer, "other.io/keep"},
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "karpenter.sh/v1alpha5", Kind: api.ProvisionerKind, Name: "default", UID: "1"},
			{APIVersion: "karpenter.sh/v1", Kind: api.NodePoolKind, Name: "default", UID: "2"},
			{APIVersion: "other.io/v1", Kind: api.NodePoolKind, Name: "default", UID: "3"},
		},
	}}
	node.Spec.Taints = append(cluster.WithGuide(others, cluster.MostGuide), corev1.Taint{Key: api.TaintDisruption, Effect: corev1.TaintEffectNoSchedule})
	k := keeper(nil, node)
	if err := k.releaseNode(t.Context(), "n1"); err != nil {
		t.Fatal(err)
	}
	got, err := k.typed.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(others, got.Spec.Taints); diff != "" || !slices.Equal(got.Finalizers, []string{"other.io/keep"}) {
		t.Errorf("finalizers %v, taints: %s", got.Finalizers, diff)
	}
	if len(got.OwnerReferences) != 1 || got.OwnerReferences[0].UID != "3" {
		t.Errorf("owners %v, want only the one of others", got.OwnerReferences)
	}
}

// Deployments that were scaled up to move pods off a node are scaled back, unless somebody else has scaled them since. The number of
// replicas that they had before is known from them: a kubelet may write any number to its node.
func TestReleaseScalesDeploymentsBack(t *testing.T) {
	const surge = cluster.Manager + "-surge-from-5"
	deployment := func(name string, uid types.UID, replicas int32, manager string) *appsv1.Deployment {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: uid}}
		d.Spec.Replicas = ptr.To(replicas)
		d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: manager, Subresource: "scale", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`)}}
		return d
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{api.LabelProvisioner: "default"}, Finalizers: []string{api.Finalizer}, Annotations: map[string]string{api.AnnotationSurging: `[
		{"namespace": "a", "deployment": "grown", "uid": "1", "replicas": 5, "pods": [{"name": "x"}, {"name": "y"}]},
		{"namespace": "a", "deployment": "by-others", "uid": "2", "replicas": 5, "pods": [{"name": "x"}, {"name": "y"}]},
		{"namespace": "a", "deployment": "again", "uid": "3", "replicas": 5, "pods": [{"name": "x"}, {"name": "y"}]},
		{"namespace": "a", "deployment": "forged", "uid": "6", "replicas": 0, "pods": [{"name": "x"}]},
		{"namespace": "a", "deployment": "back", "uid": "7", "replicas": 5, "pods": [{"name": "x"}, {"name": "y"}]},
		{"namespace": "a", "deployment": "gone", "uid": "4", "replicas": 5, "pods": [{"name": "x"}, {"name": "y"}]}
	]`}}}
	k := keeper(nil, node, deployment("grown", "1", 7, surge), deployment("by-others", "2", 7, "kubectl"),
		deployment("again", "5", 7, surge), deployment("forged", "6", 7, surge), deployment("back", "7", 7, cluster.Manager))
	scaled, tried := map[string]int32{}, map[string]int32{}
	denied := map[string]error{}
	k.typed.(*fake.Clientset).PrependReactor("update", "deployments", func(action clienttesting.Action) (bool, runtime.Object, error) {
		scale := action.(clienttesting.UpdateAction).GetObject().(*autoscalingv1.Scale)
		into := scaled
		if len(action.(clienttesting.UpdateActionImpl).UpdateOptions.DryRun) > 0 {
			into = tried
		}
		into[scale.Name] = scale.Spec.Replicas
		return true, scale, denied[scale.Name]
	})
	if err := k.MayScaleBack(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int32{"grown": 5, "forged": 5}, tried); diff != "" || len(scaled) > 0 {
		t.Errorf("scaled %v, tried: %s", scaled, diff)
	}
	denied["grown"] = errNoDryRun
	if err := k.MayScaleBack(t.Context()); err != nil {
		t.Errorf("with a webhook that has side effects: %v", err)
	}
	denied["forged"] = apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "forged", nil)
	if err := k.MayScaleBack(t.Context()); err == nil || !strings.Contains(err.Error(), "scale Deployment a/forged back: ") {
		t.Errorf("without the right to scale one behind it: %v", err)
	}
	clear(denied)
	if _, err := k.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int32{"grown": 5, "forged": 5}, scaled); diff != "" {
		t.Errorf("scaled: %s", diff)
	}
	got, err := k.typed.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{})
	if err != nil || got.Annotations[api.AnnotationSurging] != "" {
		t.Errorf("the record stays: %v, %v", got.Annotations, err)
	}
}

// The pods of nodes that are given up lose the deletion costs of the agent, and none that
// somebody else has set.
func TestReleaseTakesTheAgentsMarksOff(t *testing.T) {
	pod := func(name string, annotations map[string]string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Annotations: annotations}}
		p.Spec.NodeName = "n1"
		return p
	}
	marked := pod("marked", map[string]string{corev1.PodDeletionCost: "-2", api.AnnotationSteered: "-2", "a": "b"})
	changed := pod("changed", map[string]string{corev1.PodDeletionCost: "7", api.AnnotationSteered: "-2"})
	others := pod("others", map[string]string{corev1.PodDeletionCost: "-2"})
	k := keeper(nil, marked, changed, others)
	if err := k.unmarkPods(t.Context(), []install.Node{{Name: "n1"}}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]map[string]string{
		"marked": {"a": "b"}, "changed": {corev1.PodDeletionCost: "7"}, "others": {corev1.PodDeletionCost: "-2"},
	} {
		got, err := k.typed.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Annotations); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
