package e2e

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// TestConsolidation lets nodes in use go under the real kube-scheduler. Three quarters of
// CONSOLIDATION_PODS (240) leave, and the cluster shrinks.
func TestConsolidation(t *testing.T) {
	s := newScene(t)
	t.Run("three quarters of the pods leave", func(t *testing.T) { s.in(t).shrinks(number(t, "CONSOLIDATION_PODS", 240)) })
	t.Run("a protected pod comes to a chosen node", func(t *testing.T) { s.in(t).callsOff() })
	t.Run("new pods are led to fuller nodes", func(t *testing.T) { s.in(t).leads() })
}

// shapes are what the pods that shrink ask for.
var shapes = []struct{ cpu, memory string }{
	{"250m", "512Mi"}, {"400m", "2Gi"}, {"700m", "1Gi"}, {"1100m", "2Gi"}, {"300m", "3Gi"}, {"900m", "900Mi"}, {"600m", "1500Mi"}, {"150m", "700Mi"},
}

// above is how far above its bound the cluster may end, besides one machine: machines are
// whole, and 56 pods need 17 of them.
const above = 1.10

// shrinks fills a cluster, lets three quarters of the pods leave, and waits until its price
// is near its bound. Evictions cost little, because what is waited for before a step grows
// with their cost.
func (s *scene) shrinks(pods int) {
	each := pods / len(shapes)
	s.longer = patience + time.Duration(pods)*time.Second
	s.apply(provisioner("shrink", `consolidation: {enabled: true}
disruption: {consolidateAfter: 5s, evictionCost: "0.001", drift: false, budgets: [{nodes: 100%}]}
requirements:
- {key: karpenter.k8s.aws/instance-size, operator: In, values: [large]}
`))
	for i, shape := range shapes {
		s.apply(deployment(fmt.Sprintf("shrink-%d", i), "shrink", each, shape.cpu, shape.memory))
	}
	for i := range shapes {
		s.untilRunning(fmt.Sprintf("shrink-%d", i), each)
	}
	defer s.deleteProvisioner("shrink")
	full := len(s.nodesOf("shrink"))
	began := time.Now()
	left := each / 4
	for i := range shapes {
		if err := s.scale(s.t.Context(), fmt.Sprintf("shrink-%d", i), left); err != nil {
			s.t.Fatal(err)
		}
	}
	text := "nothing"
	s.until("the price is near its bound", func(ctx context.Context) (bool, string, error) {
		now, err := statusOf(ctx, s.agent)
		if err != nil {
			text = err.Error()
		}
		if now.Bound == nil {
			return false, text, nil
		}
		text = fmt.Sprintf("$%.4f per hour for %d nodes, bound $%.4f for %d pods", now.HourlyPrice, len(now.Nodes), now.Bound.HourlyPrice, now.Bound.Pods)
		if now.Consolidation != nil {
			for _, held := range now.Consolidation.Held {
				text += "; " + held.Words()
			}
		}
		machine := now.HourlyPrice / float64(len(now.Nodes))
		return now.Bound.Pods == left*len(shapes) && now.HourlyPrice-machine <= above*now.Bound.HourlyPrice, text, nil
	})
	s.t.Logf("%d pods on %d nodes became %d in %s: %s", each*len(shapes), full, left*len(shapes), time.Since(began).Round(time.Second), text)
	for i := range shapes {
		s.untilRunning(fmt.Sprintf("shrink-%d", i), left)
	}
	const landed = `packhorse_consolidation_landed_pods_total{place=%q}`
	seen := s.metrics()
	s.t.Logf("%.0f moved pods have landed as planned, %.0f elsewhere", seen[fmt.Sprintf(landed, "planned")], seen[fmt.Sprintf(landed, "elsewhere")])
	s.noneOverfull("shrink")
}

// noneOverfull checks that the agent and kube-scheduler, which place pods beside each other,
// have put no more on a node than it has room for. A kubelet would refuse pods there.
func (s *scene) noneOverfull(provisioner string) {
	s.t.Helper()
	pods, err := s.Kube.CoreV1().Pods(metav1.NamespaceAll).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	free, on := map[string]amount.List{}, map[string]string{}
	for _, n := range s.nodesOf(provisioner) {
		free[n.Name] = amount.FromResourceList(n.Status.Allocatable)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if room, ours := free[p.Spec.NodeName]; ours && p.DeletionTimestamp == nil {
			free[p.Spec.NodeName] = room.Minus(amount.FromResourceList(p.Spec.Containers[0].Resources.Requests))
			on[p.Spec.NodeName] += fmt.Sprintf("\n%s, made at %s, conditions %v", p.Name, p.CreationTimestamp, p.Status.Conditions)
		}
	}
	for name, left := range free {
		if left[amount.CPU] < 0 || left[amount.Memory] < 0 {
			s.t.Errorf("node %s has more pods than room: %v are left, with%s", name, left, on[name])
		}
	}
}

// hold keeps machines of a Provisioner from being up until the test says so.
const hold = "example.com/hold"

// release takes the hold off the nodes that have it now.
func (s *scene) release(ctx context.Context, provisioner string) {
	s.t.Helper()
	nodes, err := s.nodes(ctx, provisioner)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, n := range nodes {
		patch := fmt.Sprintf(`[{"op":"test","path":"/metadata/resourceVersion","value":%q}`, n.ResourceVersion)
		for i, taint := range n.Spec.Taints {
			if taint.Key == hold {
				patch += fmt.Sprintf(`,{"op":"remove","path":"/spec/taints/%d"}]`, i)
				// If the node has changed meanwhile, the next round does it.
				_, _ = s.Kube.CoreV1().Nodes().Patch(ctx, n.Name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
				break
			}
		}
	}
}

// callsOff lets a protected pod come to a node after its taint, and before its pods are
// evicted: the replacement is held back meanwhile.
func (s *scene) callsOff() {
	const large = `consolidation: {enabled: true}
startupTaints: [{key: example.com/hold, effect: NoSchedule}]
disruption: {consolidateAfter: 1s, drift: false, budgets: [{nodes: 100%}]}
requirements:
- {key: node.kubernetes.io/instance-type, operator: In, values: [`
	s.apply(provisioner("hold", large+"m6i.4xlarge]}"))
	s.apply(deployment("held", "hold", 2, "500m", "1Gi"))
	s.until("the pods run", func(ctx context.Context) (bool, string, error) {
		s.release(ctx, "hold")
		pods, err := s.pods(ctx, "app=held")
		running := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning }) < 0
		return len(pods) == 2 && running, fmt.Sprintf("%d pods", len(pods)), err
	})
	s.until("their node is up", func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx, "hold")
		return len(nodes) == 1 && nodes[0].Labels[api.LabelInitialized] == "true", "", err
	})
	node := s.nodesOf("hold")[0].Name
	s.apply(provisioner("hold", large+"m6i.4xlarge, m6i.large]}"))
	chosen := func(ctx context.Context) (*corev1.Node, bool, error) {
		n, err := s.Kube.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		if err != nil {
			return nil, false, err
		}
		return n, slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == api.TaintDisruption }), nil
	}
	s.until("the node is chosen", func(ctx context.Context) (bool, string, error) {
		_, is, err := chosen(ctx)
		return is, "", err
	})
	s.create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "precious", Annotations: map[string]string{api.AnnotationDoNotDisrupt: "true"}},
		Spec:       corev1.PodSpec{NodeName: node, TerminationGracePeriodSeconds: new(int64), Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10"}}},
	})
	s.until("the step is called off", func(ctx context.Context) (bool, string, error) {
		n, is, err := chosen(ctx)
		return err == nil && !is && n.Annotations[api.AnnotationDisruption] == "", "", err
	})
	s.until("an event says why", func(ctx context.Context) (bool, string, error) {
		message, err := s.event(ctx, "Node", node, "Kept")
		return message != "", message, err
	})
	pods, err := s.pods(s.t.Context(), "app=held")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, p := range pods {
		if p.Spec.NodeName != node || p.DeletionTimestamp != nil {
			s.t.Errorf("pod %s was moved to %s", p.Name, p.Spec.NodeName)
		}
	}
	if err := s.Kube.CoreV1().Pods(metav1.NamespaceDefault).Delete(s.t.Context(), "precious", metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.until("the node goes once the pod has", func(ctx context.Context) (bool, string, error) {
		s.release(ctx, "hold")
		nodes, err := s.nodes(ctx, "hold")
		return !slices.ContainsFunc(nodes, func(n corev1.Node) bool { return n.Name == node }), fmt.Sprintf("%d nodes", len(nodes)), err
	})
	s.untilRunning("held", 2)
	s.deleteProvisioner("hold")
}

func (s *scene) create(p *corev1.Pod) {
	s.t.Helper()
	if _, err := s.Kube.CoreV1().Pods(metav1.NamespaceDefault).Create(s.t.Context(), p, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// leads compares nodes that should become empty, which have soft taints, with the others:
// kube-scheduler prefers the others for new pods as long as they have room, against its own
// preferences for empty nodes and for an even spread.
func (s *scene) leads() {
	s.apply(provisioner("lead", `consolidation: {enabled: true}
disruption: {consolidateAfter: 1s, evictionCost: Never, drift: false}
requirements:
- {key: node.kubernetes.io/instance-type, operator: In, values: [m6i.xlarge]}
`))
	s.delete("held")
	const each, nodes = 12, 6
	s.apply(deployment("old", "lead", each*nodes, "300m", "512Mi"))
	s.untilRunning("old", each*nodes)
	kept := s.leaveSome("old", []int{2, 3, 4, 6, 12, 12})
	grades := map[string]int{}
	s.longer = 2 * patience // the order of the nodes is renewed every two minutes
	s.until("the full nodes have no soft taints, and the emptiest has two more than the next fuller ones", func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx, "lead")
		most := map[int]int{} // soft taints, by the pods that a node has kept
		for _, n := range nodes {
			grades[n.Name] = softTaints(&n)
			most[kept[n.Name]] = max(most[kept[n.Name]], grades[n.Name])
		}
		return len(nodes) > 0 && most[12] == 0 && most[6]+2 <= most[2], fmt.Sprintf("pods %v, soft taints %v", kept, grades), err
	})
	const come = 6 // for which nodes with fewer soft taints have room
	s.apply(deployment("new", "lead", come, "300m", "512Mi"))
	s.untilRunning("new", come)
	pods, err := s.pods(s.t.Context(), "app=new")
	if err != nil {
		s.t.Fatal(err)
	}
	got := map[int]int{}
	for _, p := range pods {
		got[grades[p.Spec.NodeName]]++
	}
	s.t.Logf("soft taints of the nodes: %v; new pods by the soft taints of their nodes: %v", slices.Sorted(maps.Values(grades)), got)
	if most := slices.Max(slices.Collect(maps.Values(grades))); got[most] > 0 {
		s.t.Errorf("new pods by the soft taints of their nodes: %v", got)
	}
	s.deleteProvisioner("lead")
}

func softTaints(n *corev1.Node) (count int) {
	for _, t := range n.Spec.Taints {
		if t.Effect == corev1.TaintEffectPreferNoSchedule {
			count++
		}
	}
	return count
}

// leaveSome scales the app down so that its nodes keep so many of its pods: the node with
// the fewest the first number, and so on. It returns how many each node keeps.
func (s *scene) leaveSome(app string, keep []int) map[string]int {
	s.t.Helper()
	ctx := s.t.Context()
	pods, err := s.pods(ctx, "app="+app)
	if err != nil {
		s.t.Fatal(err)
	}
	on := map[string][]string{}
	for _, p := range pods {
		on[p.Spec.NodeName] = append(on[p.Spec.NodeName], p.Name)
	}
	if len(on) != len(keep) {
		s.t.Fatalf("%d nodes have pods of %s, want %d", len(on), app, len(keep))
	}
	total, kept := 0, map[string]int{}
	nodes := slices.SortedFunc(maps.Keys(on), func(a, b string) int { return cmp.Or(cmp.Compare(len(on[a]), len(on[b])), cmp.Compare(a, b)) })
	for i, node := range nodes {
		total += keep[i]
		kept[node] = keep[i]
		for _, name := range on[node][keep[i]:] {
			patch := []byte(`{"metadata":{"annotations":{"controller.kubernetes.io/pod-deletion-cost":"-100"}}}`)
			if _, err := s.Kube.CoreV1().Pods(metav1.NamespaceDefault).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	if err := s.scale(ctx, app, total); err != nil {
		s.t.Fatal(err)
	}
	s.untilRunning(app, total)
	return kept
}
