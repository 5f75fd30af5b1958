package teardown_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/teardown"
)

func TestAgentAlive(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	lease := func(holder string, renewed time.Duration) *coordinationv1.Lease {
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: install.LeaseName, Namespace: "packhorse"},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: ptr.To(holder), LeaseDurationSeconds: ptr.To[int32](15), RenewTime: &metav1.MicroTime{Time: now.Add(renewed)},
			},
		}
	}
	tests := map[string]struct {
		lease, becomes *coordinationv1.Lease
		want           bool
	}{
		"renewed a moment ago":                 {lease("agent-0", -2*time.Second), nil, true},
		"renewed long ago":                     {lease("agent-0", -2*time.Minute), nil, false},
		"renewed by a clock that is behind":    {lease("agent-0", -2*time.Minute), lease("agent-0", -2*time.Minute+2*time.Second), true},
		"renewed in the future, long ago":      {lease("agent-0", 2*time.Minute), nil, false},
		"renewed by a clock that is ahead":     {lease("agent-0", 2*time.Minute), lease("agent-0", 2*time.Minute+2*time.Second), true},
		"free in a rolling update":             {lease("", -2*time.Second), lease("agent-1", 2*time.Second), true},
		"given back":                           {lease("", -2*time.Second), nil, false},
		"given back by a clock that is behind": {lease("agent-0", -2*time.Minute), lease("", -2*time.Minute+2*time.Second), false},
		"never held":                           {&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: install.LeaseName, Namespace: "packhorse"}}, nil, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset(tt.lease)
				if tt.becomes != nil {
					time.AfterFunc(2*time.Second, func() {
						if _, err := client.CoordinationV1().Leases("packhorse").Update(t.Context(), tt.becomes, metav1.UpdateOptions{}); err != nil {
							t.Error(err)
						}
					})
				}
				got, err := teardown.NewWatch(client, nil, nil).AgentAlive(t.Context(), now)
				if err != nil || got != tt.want {
					t.Errorf("alive = %v, %v, want %v", got, err, tt.want)
				}
			})
		})
	}
}

// metadataOf is an API that lists the nodes' metadata.
func metadataOf(t *testing.T, nodes ...*corev1.Node) *metadatafake.FakeMetadataClient {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var objects []runtime.Object
	for _, n := range nodes {
		objects = append(objects, &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: n.ObjectMeta})
	}
	return metadatafake.NewSimpleMetadataClient(scheme, objects...)
}

func TestNodes(t *testing.T) {
	node := func(name, provisioner string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{api.LabelProvisioner: provisioner}, Finalizers: []string{api.Finalizer},
		}}
	}
	watch := teardown.NewWatch(nil, nil, metadataOf(t, node("n2", "p"), node("n1", "p"), node("m", "q"), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "of nobody"}}))
	for provisioner, want := range map[string][]string{"p": {"n1", "n2"}, "q": {"m"}, "none": nil} {
		if got, err := watch.Nodes(t.Context(), provisioner); err != nil || !slices.Equal(got, want) {
			t.Errorf("nodes of %s: %v, %v, want %v", provisioner, got, err, want)
		}
	}
}

// gone is a reader for which the Provisioner is gone after some reads, or fails.
type gone struct {
	after int
	err   error
	reads *int
}

func (g gone) Get(_ context.Context, name string) (*unstructured.Unstructured, error) {
	*g.reads++
	if g.err != nil {
		return nil, g.err
	}
	if *g.reads > g.after {
		return nil, apierrors.NewNotFound(api.ProvisionerGVR.GroupResource(), "p")
	}
	live := &unstructured.Unstructured{Object: map[string]any{}}
	live.SetName(name)
	live.SetFinalizers([]string{api.Finalizer})
	return live, nil
}

func TestWait(t *testing.T) {
	labels := map[string]string{api.LabelProvisioner: "p"}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: labels, Annotations: map[string]string{api.AnnotationLaunchID: "launch-1"}}}
	others := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "of a node group", Labels: labels}}
	held := node.DeepCopy()
	held.DeletionTimestamp, held.Finalizers = ptr.To(metav1.Now()), []string{"example.com/other"}
	none, one, two := metadataOf(t), metadataOf(t, node), metadataOf(t, node, others)
	tests := map[string]struct {
		client *fake.Clientset
		nodes  *metadatafake.FakeMetadataClient
		reader gone
		want   string
		told   [][]string
	}{
		"gone after a while": {fake.NewClientset(), none, gone{after: 3}, "", [][]string{nil}},
		"its nodes stay": {
			fake.NewClientset(node), one, gone{after: 3},
			"it was not deleted in time\n  node n; not marked for deletion", [][]string{{"n"}},
		},
		"only a node of others stays":                  {fake.NewClientset(others), metadataOf(t, others), gone{after: 3}, "", [][]string{nil}},
		"only a node stays that another program holds": {fake.NewClientset(held), metadataOf(t, held), gone{after: 3}, "", [][]string{nil}},
		"beside a node of others, its own stay": {
			fake.NewClientset(node, others), two, gone{after: 3},
			"it was not deleted in time\n  node n; not marked for deletion", [][]string{{"n"}},
		},
		"the object stays": {
			fake.NewClientset(), none, gone{after: 1000},
			"it was not deleted in time\n  its finalizers: karpenter.sh/termination", [][]string{nil},
		},
		"the API server stays away": {
			fake.NewClientset(), none, gone{err: errors.New("refused")}, `wait for the deletion of provisioner "p": refused`, nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var told [][]string
				tt.reader.reads = new(int)
				err := teardown.NewWatch(tt.client, tt.reader, tt.nodes).Wait(ctx, "p", func(remaining []string) { told = append(told, remaining) })
				got := ""
				if err != nil {
					got = err.Error()
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("error (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.told, told); diff != "" {
					t.Errorf("progress (-want +got):\n%s", diff)
				}
			})
		})
	}
}
