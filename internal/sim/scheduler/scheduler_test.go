package scheduler

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
)

func node(name, zone string, cores, gibi int64, edits ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: zone}}}
	n.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(cores, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(gibi<<30, resource.BinarySI),
	}
	for _, edit := range edits {
		edit(n)
	}
	return n
}

func taint(effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Effect: effect}} }
}

// pod asks for one core and a GiB. It belongs to the workload, if one is named.
func pod(workload, on string, edits ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": workload}}, Spec: corev1.PodSpec{NodeName: on}}
	if workload != "" {
		p.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(workload), Controller: ptr.To(true)}}
	}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

func spread(key string, when corev1.UnsatisfiableConstraintAction) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: when, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
		}}
	}
}

// requests is one core and a GiB of every pod that has not finished.
func requests(p *corev1.Pod) (amount.List, bool) {
	if p.Status.Phase == corev1.PodSucceeded {
		return nil, false
	}
	return amount.List{amount.CPU: 1000, amount.Memory: 1 << 30}, true
}

// scheduling returns a scheduler for the nodes and pods.
func scheduling(nodes []*corev1.Node, pods []*corev1.Pod) *Scheduler {
	byName, byUID := map[string]*corev1.Node{}, map[types.UID]*corev1.Pod{}
	for _, n := range nodes {
		byName[n.Name] = n
	}
	for i, p := range pods {
		byUID[types.UID(rune('a'+i))] = p
	}
	return New(byName, byUID, requests)
}

func TestFirstFit(t *testing.T) {
	big := node("b-big", "z1", 8, 8)
	tests := map[string]struct {
		nodes []*corev1.Node
		there []*corev1.Pod
		pod   *corev1.Pod
		want  string
	}{
		"the first by name":   {nodes: []*corev1.Node{big, node("a", "z1", 8, 8)}, pod: pod("web", ""), want: "a"},
		"where there is room": {nodes: []*corev1.Node{node("a", "z1", 1, 8), big}, there: []*corev1.Pod{pod("", "a")}, pod: pod("web", ""), want: "b-big"},
		"a pod that has finished has left": {
			nodes: []*corev1.Node{node("a", "z1", 1, 8), big},
			there: []*corev1.Pod{pod("", "a", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })}, pod: pod("web", ""), want: "a",
		},
		"nowhere":          {nodes: []*corev1.Node{node("a", "z1", 8, 0)}, pod: pod("web", "")},
		"not past a taint": {nodes: []*corev1.Node{node("a", "z1", 8, 8, taint(corev1.TaintEffectNoSchedule)), big}, pod: pod("web", ""), want: "b-big"},
		"past a taint if it may": {
			nodes: []*corev1.Node{node("a", "z1", 8, 8, taint(corev1.TaintEffectNoSchedule)), big},
			pod:   pod("web", "", func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} }), want: "a",
		},
		"a soft taint keeps nothing away": {nodes: []*corev1.Node{node("a", "z1", 8, 8, taint(corev1.TaintEffectPreferNoSchedule)), big}, pod: pod("web", ""), want: "a"},
		"not on a cordoned node": {
			nodes: []*corev1.Node{node("a", "z1", 8, 8, func(n *corev1.Node) { n.Spec.Unschedulable = true }), big}, pod: pod("web", ""), want: "b-big",
		},
		"on a cordoned node if it may": {
			nodes: []*corev1.Node{node("a", "z1", 8, 8, func(n *corev1.Node) { n.Spec.Unschedulable = true }), big},
			pod:   pod("web", "", func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} }), want: "a",
		},
		"not on a node that is being deleted": {
			nodes: []*corev1.Node{node("a", "z1", 8, 8, func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{} }), big}, pod: pod("web", ""), want: "b-big",
		},
		"where the selector says": {
			nodes: []*corev1.Node{node("a", "z1", 8, 8), node("c", "z2", 8, 8)},
			pod:   pod("web", "", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "z2"} }), want: "c",
		},
		"spread over hosts": {
			nodes: []*corev1.Node{node("a", "z1", 8, 8), big}, there: []*corev1.Pod{pod("web", "a")},
			pod: pod("web", "", spread(corev1.LabelHostname, corev1.DoNotSchedule)), want: "b-big",
		},
		"spread over zones": {
			nodes: []*corev1.Node{node("a", "z1", 8, 8), big, node("c", "z2", 8, 8)}, there: []*corev1.Pod{pod("web", "a")},
			pod: pod("web", "", spread(corev1.LabelTopologyZone, corev1.DoNotSchedule)), want: "c",
		},
		"a spread that may be violated": {
			nodes: []*corev1.Node{node("a", "z1", 8, 8), big}, there: []*corev1.Pod{pod("web", "a")},
			pod: pod("web", "", spread(corev1.LabelHostname, corev1.ScheduleAnyway)), want: "a",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := scheduling(tt.nodes, tt.there).FirstFit(tt.pod); got != tt.want {
				t.Errorf("on node %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPreferred(t *testing.T) {
	tests := map[string]struct {
		nodes []*corev1.Node
		there []*corev1.Pod
		want  string
	}{
		"the first of equal ones":        {nodes: []*corev1.Node{node("b", "z1", 8, 8), node("a", "z1", 8, 8)}, want: "a"},
		"the least allocated":            {nodes: []*corev1.Node{node("a", "z1", 8, 8), node("b", "z1", 8, 8)}, there: []*corev1.Pod{pod("", "a")}, want: "b"},
		"CPU and memory in balance":      {nodes: []*corev1.Node{node("a", "z1", 3, 60), node("b", "z1", 5, 5)}, want: "b"},
		"away from a soft taint":         {nodes: []*corev1.Node{node("a", "z1", 64, 64, taint(corev1.TaintEffectPreferNoSchedule)), node("b", "z1", 2, 2)}, want: "b"},
		"away from others of its kind":   {nodes: []*corev1.Node{node("a", "z1", 64, 64), node("b", "z1", 4, 4)}, there: []*corev1.Pod{pod("web", "a")}, want: "b"},
		"away from their zone":           {nodes: []*corev1.Node{node("a", "z1", 8, 8), node("b", "z1", 64, 64), node("c", "z2", 8, 8)}, there: []*corev1.Pod{pod("web", "a")}, want: "c"},
		"and nowhere if nothing is free": {nodes: []*corev1.Node{node("a", "z1", 0, 8)}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := scheduling(tt.nodes, tt.there).Preferred(pod("web", "")); got != tt.want {
				t.Errorf("on node %q, want %q", got, tt.want)
			}
		})
	}
}

// An answer takes the room on its node, whether or not the pod has been bound yet.
func TestAnswersTakeRoom(t *testing.T) {
	s := scheduling([]*corev1.Node{node("a", "z1", 2, 8), node("b", "z1", 1, 8)}, nil)
	for _, want := range []string{"a", "a", "b", ""} {
		if got := s.FirstFit(pod("web", "")); got != want {
			t.Errorf("on node %q, want %q", got, want)
		}
	}
}
