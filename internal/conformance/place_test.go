package conformance

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// tickets is how many pods may be sent to one node.
var tickets = resource.MustParse("1000")

// ticketFor is an extended resource that only one node has. A pod that requests one
// can go nowhere else, and unlike a node selector that changes nothing for its
// topology spread, affinities and tolerations.
func ticketFor(node string) corev1.ResourceName {
	return corev1.ResourceName("ticket.example.com/" + node)
}

func withTicket(pod *corev1.Pod, node string) *corev1.Pod { return requesting(pod, ticketFor(node)) }

// admission is an extended resource that every node has except those that are over
// a limit. A pod that requests it goes to none of those. A taint would say the same,
// but spread constraints with the node taints policy Honor would not count the node,
// and the scheduler has to see it as a domain.
const admission corev1.ResourceName = "ticket.example.com/admission"

func withAdmission(pods []*corev1.Pod) []*corev1.Pod {
	out := make([]*corev1.Pod, 0, len(pods))
	for _, p := range pods {
		out = append(out, requesting(p, admission))
	}
	return out
}

// requesting returns a copy of the pod that asks for one of an extended resource.
func requesting(pod *corev1.Pod, name corev1.ResourceName) *corev1.Pod {
	out := pod.DeepCopy()
	r := &out.Spec.Containers[0].Resources
	for _, list := range []*corev1.ResourceList{&r.Requests, &r.Limits} {
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[name] = *resource.NewQuantity(1, resource.DecimalSI)
	}
	return out
}

// orders is how many orders of the pods are tried before the scheduler is said to
// refuse a placement: some placements can be reached in some orders only.
const orders = 5

// placeAll creates the pods with tickets for the nodes that home names, and returns
// why the scheduler refuses those that it refuses. Another order begins with those that
// were refused before: others whom their constraints do not hold were in their way.
func (l *lab) placeAll(ctx context.Context, pods []*corev1.Pod, home map[string]string, r *rand.Rand) (map[string]string, error) {
	pods = byTurns(pods, home)
	var refused map[string]string
	refusals := map[string]int{}
	for try := range orders {
		if try > 0 {
			if err := l.remove(ctx, pods...); err != nil {
				return nil, err
			}
			r.Shuffle(len(pods), func(i, k int) { pods[i], pods[k] = pods[k], pods[i] })
			slices.SortStableFunc(pods, func(a, b *corev1.Pod) int { return refusals[keyOf(b)] - refusals[keyOf(a)] })
		}
		again, err := l.placeInOrder(ctx, pods, home)
		if err != nil || len(again) == 0 {
			return nil, err
		}
		for pod := range again {
			refusals[pod]++
		}
		if refused == nil || len(again) < len(refused) {
			refused = again
		}
	}
	return refused, nil
}

// placeInOrder lets the scheduler try the pods again as long as that helps: a pod
// may have to wait for others, by its affinity or spread.
func (l *lab) placeInOrder(ctx context.Context, pods []*corev1.Pod, home map[string]string) (map[string]string, error) {
	for {
		sent := make([]*corev1.Pod, 0, len(pods))
		for _, p := range pods {
			sent = append(sent, withTicket(p, home[keyOf(p)]))
		}
		got, err := l.tryAll(ctx, sent)
		if err != nil {
			return nil, err
		}
		refused := map[string]string{}
		var again []*corev1.Pod
		for _, p := range pods {
			switch v := got[keyOf(p)]; v.node {
			case home[keyOf(p)]:
			case "":
				refused[keyOf(p)] = v.message
				again = append(again, p)
			default:
				return nil, fmt.Errorf("pod %s with a ticket for node %s was bound to %s", keyOf(p), home[keyOf(p)], v.node)
			}
		}
		if len(again) == 0 || len(again) == len(pods) {
			return refused, nil
		}
		if err := l.remove(ctx, again...); err != nil {
			return nil, err
		}
		pods = again
	}
}

// byTurns orders pods so that each node gets one before any gets another: an even
// spread is never far. Those that are spread come first, since others cannot be kept
// away by it.
func byTurns(pods []*corev1.Pod, home map[string]string) []*corev1.Pod {
	seen := map[string]int{}
	turn := map[string]int{}
	for _, p := range pods {
		turn[keyOf(p)] = seen[home[keyOf(p)]]
		seen[home[keyOf(p)]]++
	}
	out := slices.Clone(pods)
	slices.SortStableFunc(out, func(a, b *corev1.Pod) int { return turn[keyOf(a)] - turn[keyOf(b)] })
	slices.SortStableFunc(out, func(a, b *corev1.Pod) int {
		switch {
		case isSpread(a) == isSpread(b):
			return 0
		case isSpread(a):
			return -1
		}
		return 1
	})
	return out
}

func isSpread(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.TopologySpreadConstraints, func(s corev1.TopologySpreadConstraint) bool {
		return s.WhenUnsatisfiable == corev1.DoNotSchedule
	})
}

// awaitDaemons waits until the controller has given each node its DaemonSets' pods
// and the scheduler has looked at them. It returns the pods.
func (l *lab) awaitDaemons(ctx context.Context, sets []*appsv1.DaemonSet, nodes []*corev1.Node) ([]corev1.Pod, error) {
	want := map[string]bool{}
	for _, d := range sets {
		for _, n := range nodes {
			if daemonRunsOn(d, n) {
				want[d.Namespace+"/"+d.Name+" on "+n.Name] = true
			}
		}
	}
	pods, err := l.awaitDaemonPods(ctx, want, nil)
	if err != nil {
		return nil, err
	}
	// The scheduler may have looked at a pod before it knew the node. Instead of
	// those that have no place the controller creates others.
	early := map[string]bool{}
	for i := range pods {
		if pods[i].Spec.NodeName == "" {
			early[keyOf(&pods[i])] = true
			if err := l.remove(ctx, &pods[i]); err != nil {
				return nil, err
			}
		}
	}
	if len(early) == 0 {
		return pods, nil
	}
	return l.awaitDaemonPods(ctx, want, early)
}

// awaitDaemonPods waits for verdicts on the wanted pods, told by DaemonSet and
// node, without those that are ignored.
func (l *lab) awaitDaemonPods(ctx context.Context, want, ignored map[string]bool) ([]corev1.Pod, error) {
	var found map[string]corev1.Pod
	err := l.await(ctx, "the pods of DaemonSets", func(ctx context.Context) (bool, error) {
		found = map[string]corev1.Pod{}
		for _, ns := range namespaces {
			list, err := l.client.CoreV1().Pods(ns.Name).List(ctx, metav1.ListOptions{})
			if err != nil {
				return false, err
			}
			for i := range list.Items {
				p := &list.Items[i]
				owner := metav1.GetControllerOf(p)
				if _, looked := verdictOn(p); owner == nil || !looked || ignored[keyOf(p)] {
					continue
				}
				if id := p.Namespace + "/" + owner.Name + " on " + nodeMeant(p); want[id] {
					found[id] = *p
				}
			}
		}
		return len(found) == len(want), nil
	})
	return slices.Collect(maps.Values(found)), err
}

// nodeMeant is the node that the DaemonSet controller made a pod for.
func nodeMeant(p *corev1.Pod) string {
	if p.Spec.NodeName != "" {
		return p.Spec.NodeName
	}
	for _, t := range p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, f := range t.MatchFields {
			return strings.Join(f.Values, ",")
		}
	}
	return ""
}

// daemonRunsOn is the DaemonSet controller's rule, with the scheduler's own code.
func daemonRunsOn(d *appsv1.DaemonSet, n *corev1.Node) bool {
	pod := &corev1.Pod{Spec: d.Spec.Template.Spec}
	if ok, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(n); err != nil || !ok {
		return false
	}
	tolerations := append(slices.Clone(pod.Spec.Tolerations), corev1.Toleration{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists})
	_, untolerated := scheduling.FindMatchingUntoleratedTaint(klog.Logger{}, n.Spec.Taints, tolerations, func(t *corev1.Taint) bool {
		return t.Effect != corev1.TaintEffectPreferNoSchedule
	}, false)
	return !untolerated
}
