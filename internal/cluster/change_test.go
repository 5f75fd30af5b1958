package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// A change does the same to a Node object and to a node of a snapshot, so that what the agent
// assumes is what the API server makes of it. Nothing is assumed of finalizers.
func TestNodeChange(t *testing.T) {
	gpu := corev1.Taint{Key: "gpu", Value: "true", Effect: corev1.TaintEffectNoSchedule}
	otherValue := corev1.Taint{Key: "gpu", Value: "false", Effect: corev1.TaintEffectNoSchedule}
	tests := map[string]struct {
		change  NodeChange
		edit    func(*corev1.Node)
		differs bool
	}{
		"nothing":                        {edit: func(*corev1.Node) {}},
		"a label":                        {NodeChange{SetLabels: map[string]string{"team": "b"}}, func(n *corev1.Node) { n.Labels["team"] = "b" }, true},
		"a label that is there":          {NodeChange{SetLabels: map[string]string{"team": "a"}}, func(*corev1.Node) {}, false},
		"a label goes":                   {NodeChange{RemoveLabels: []string{"team"}}, func(n *corev1.Node) { delete(n.Labels, "team") }, true},
		"an annotation":                  {NodeChange{SetAnnotations: map[string]string{"a": "b"}}, func(n *corev1.Node) { n.Annotations = map[string]string{"a": "b"} }, true},
		"what is not there goes":         {NodeChange{RemoveLabels: []string{"x"}, RemoveAnnotations: []string{"x"}, RemoveTaints: []corev1.Taint{{Key: "x"}}}, func(*corev1.Node) {}, false},
		"a taint that is there":          {NodeChange{AddTaints: []corev1.Taint{gpu}}, func(*corev1.Node) {}, false},
		"a taint with another value":     {NodeChange{AddTaints: []corev1.Taint{otherValue}}, func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{otherValue} }, true},
		"a taint goes":                   {NodeChange{RemoveTaints: []corev1.Taint{otherValue}}, func(n *corev1.Node) { n.Spec.Taints = nil }, true},
		"soft taints beside the others":  {NodeChange{Guide: ptr.To(1)}, func(n *corev1.Node) { n.Spec.Taints = WithGuide(n.Spec.Taints, 1) }, true},
		"cordoned":                       {NodeChange{Cordon: ptr.To(true)}, func(n *corev1.Node) { n.Spec.Unschedulable = true }, true},
		"initialized, of a Provisioner":  {NodeChange{SetLabels: map[string]string{api.LabelInitialized: "true", api.LabelProvisioner: "p"}}, func(n *corev1.Node) { n.Labels[api.LabelInitialized], n.Labels[api.LabelProvisioner] = "true", "p" }, true},
		"a finalizer for another":        {NodeChange{AddFinalizer: "b", RemoveFinalizer: "a"}, func(n *corev1.Node) { n.Finalizers = []string{"b"} }, false},
		"a finalizer that is there":      {NodeChange{AddFinalizer: "a"}, func(*corev1.Node) {}, false},
		"one owner instead of all":       {NodeChange{Owner: &metav1.OwnerReference{UID: "2"}}, func(n *corev1.Node) { n.OwnerReferences = []metav1.OwnerReference{{UID: "2"}} }, true},
		"owners need not wait for it":    {NodeChange{FreeOwners: true}, func(n *corev1.Node) { n.OwnerReferences[0].BlockOwnerDeletion = nil }, false},
		"not cordoned, which it was not": {NodeChange{Cordon: ptr.To(false)}, func(*corev1.Node) {}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			have := &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"team": "a"}, Finalizers: []string{"a"}, OwnerReferences: []metav1.OwnerReference{{UID: "1", BlockOwnerDeletion: ptr.To(true)}}},
				Spec:       corev1.NodeSpec{Taints: []corev1.Taint{gpu}},
			}
			want, got := have.DeepCopy(), have.DeepCopy()
			tt.edit(want)
			tt.change.Apply(got)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the Node object: -want +got\n%s", diff)
			}
			inSnapshot, shared := FromNode(have.DeepCopy(), nil), FromNode(have.DeepCopy(), nil)
			if copied := shared; tt.change.ApplyTo(&copied) != tt.differs {
				t.Errorf("it says that it made a difference: %t, want %t", !tt.differs, tt.differs)
			} else if diff := cmp.Diff(FromNode(want, nil), copied, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Node{}, "Finalizers")); diff != "" {
				t.Errorf("the node of the snapshot: -want +got\n%s", diff)
			}
			if diff := cmp.Diff(inSnapshot, shared); diff != "" {
				t.Errorf("what the node shares has changed: -want +got\n%s", diff)
			}
		})
	}
}
