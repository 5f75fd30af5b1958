// Package scheduler is a plain model of kube-scheduler: it says on which node a pod goes.
// It knows resources, taints, node selectors, required node affinity and spread
// constraints, and the scores of kube-scheduler's default profile. It has no state but the
// cluster that it is given, and no clock.
package scheduler

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	schedule "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
)

// Scheduler looks at one state of a cluster.
type Scheduler struct {
	nodes    map[string]*corev1.Node
	pods     map[types.UID]*corev1.Pod
	requests func(*corev1.Pod) (amount.List, bool)
	names    []string               // of the nodes, sorted
	free     map[string]amount.List // by node: what the pods leave of it
}

// New returns a scheduler for nodes by their names and the pods of the cluster. The
// function says what a pod takes of a node, false for one that has finished. Nodes and
// what they have free are read once; which pods are near is read at each call, so that
// pods count from when the caller has bound them.
func New(nodes map[string]*corev1.Node, pods map[types.UID]*corev1.Pod, requests func(*corev1.Pod) (amount.List, bool)) *Scheduler {
	s := &Scheduler{nodes: nodes, pods: pods, requests: requests, names: slices.Sorted(maps.Keys(nodes)), free: map[string]amount.List{}}
	for name, n := range nodes {
		s.free[name] = amount.FromResourceList(n.Status.Allocatable)
	}
	for _, p := range pods {
		if takes, unfinished := requests(p); unfinished && p.Spec.NodeName != "" {
			s.free[p.Spec.NodeName] = s.free[p.Spec.NodeName].Minus(takes)
		}
	}
	return s
}

// FirstFit returns the first node, by name, that may have the pod and has room for it, and
// takes that room; "" if there is none.
func (s *Scheduler) FirstFit(p *corev1.Pod) string {
	return s.take(p, func([]candidate) int { return 0 })
}

// Preferred returns the node that kube-scheduler's default profile scores highest among
// those that may have the pod and have room for it, and takes that room: the least
// allocated one, with CPU and memory in balance, few soft taints and few pods of the same
// workload; of equal ones the first by name. It is "" if there is none.
func (s *Scheduler) Preferred(p *corev1.Pod) string {
	takes, _ := s.requests(p)
	return s.take(p, func(among []candidate) int { return s.prefer(p, takes, among) })
}

// Mark says in a pod's condition why it is not bound, unless somebody else has said something. It reports whether that
// is new.
func Mark(p *corev1.Pod, reason string) bool {
	for _, c := range p.Status.Conditions {
		if c.Reason == reason || c.Reason != corev1.PodReasonUnschedulable && c.Reason != corev1.PodReasonSchedulerError {
			return false
		}
	}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason}}
	return true
}

func (s *Scheduler) take(p *corev1.Pod, choose func([]candidate) int) string {
	takes, _ := s.requests(p)
	var among []candidate
	for _, name := range s.names {
		if takes.Fits(s.free[name]) && admits(s.nodes[name], p) {
			among = append(among, candidate{node: s.nodes[name], free: s.free[name]})
		}
	}
	if among = s.spreads(p, among); len(among) == 0 {
		return ""
	}
	at := among[choose(among)].node.Name
	s.free[at] = s.free[at].Minus(takes)
	return at
}

func admits(n *corev1.Node, p *corev1.Pod) bool {
	if n.DeletionTimestamp != nil {
		return false
	}
	taints := n.Spec.Taints
	if n.Spec.Unschedulable {
		taints = append(slices.Clone(taints), corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	_, untolerated := schedule.FindMatchingUntoleratedTaint(klog.Background(), taints, p.Spec.Tolerations, func(t *corev1.Taint) bool {
		return t.Effect != corev1.TaintEffectPreferNoSchedule
	}, false)
	return !untolerated && selects(p, n)
}

// selects reports whether the pod's node selector and required node affinity allow a node.
func selects(p *corev1.Pod, n *corev1.Node) bool {
	ok, err := nodeaffinity.GetRequiredNodeAffinity(p).Match(n)
	return err == nil && ok
}

// spreads leaves out the candidates on which a pod would violate its own spread
// constraints.
func (s *Scheduler) spreads(p *corev1.Pod, among []candidate) []candidate {
	for i := range p.Spec.TopologySpreadConstraints {
		c := &p.Spec.TopologySpreadConstraints[i]
		if c.WhenUnsatisfiable != corev1.DoNotSchedule {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
		if err != nil {
			return nil
		}
		byNode, byZone := s.spreadOf(func(o *corev1.Pod) bool { return selector.Matches(labels.Set(o.Labels)) })
		count, domain := byNode, func(n *corev1.Node) string { return n.Name }
		if c.TopologyKey == corev1.LabelTopologyZone {
			count, domain = byZone, func(n *corev1.Node) string { return n.Labels[corev1.LabelTopologyZone] }
		}
		least := math.MaxInt
		for _, n := range s.nodes {
			if selects(p, n) {
				least = min(least, count[domain(n)])
			}
		}
		var left []candidate
		for _, at := range among {
			if count[domain(at.node)]+1-least <= int(c.MaxSkew) {
				left = append(left, at)
			}
		}
		among = left
	}
	return among
}
