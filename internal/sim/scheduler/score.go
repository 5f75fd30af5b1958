package scheduler

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
)

// The weights and limits of kube-scheduler's default profile.
const (
	taintWeight, spreadWeight     = 3, 2
	hostnameMaxSkew, zoneMaxSkew  = 3, 5
	fullScore                     = 100
	allocatedWeight, evenlyWeight = 1, 1
)

// candidate is a node that a pod could be bound to.
type candidate struct {
	node         *corev1.Node
	free, all    amount.List
	taints       int
	crowd, score float64
}

// prefer returns the candidate with the highest score; of equal ones the first.
func (s *Scheduler) prefer(p *corev1.Pod, needs amount.List, among []candidate) int {
	s.crowds(p, among)
	mostTaints, least, most := 0, math.Inf(1), 0.0
	for i := range among {
		c := &among[i]
		c.all, c.taints = amount.FromResourceList(c.node.Status.Allocatable), softTaints(c.node, p)
		mostTaints = max(mostTaints, c.taints)
		least, most = min(least, c.crowd), max(most, c.crowd)
	}
	best := 0
	for i := range among {
		c := &among[i]
		c.score = allocatedWeight*leastAllocated(c, needs) + evenlyWeight*balanced(c, needs)
		if mostTaints > 0 {
			c.score += taintWeight * fullScore * float64(mostTaints-c.taints) / float64(mostTaints)
		}
		if most > 0 {
			c.score += spreadWeight * fullScore * (most + least - c.crowd) / most
		}
		if c.score > among[best].score {
			best = i
		}
	}
	return best
}

// scored are the resources that the scheduler looks at.
var scored = []string{amount.CPU, amount.Memory}

func leastAllocated(c *candidate, needs amount.List) float64 {
	sum := 0.0
	for _, name := range scored {
		if c.all[name] > 0 {
			sum += float64(c.free[name]-needs[name]) / float64(c.all[name])
		}
	}
	return fullScore * sum / float64(len(scored))
}

func balanced(c *candidate, needs amount.List) float64 {
	used := func(name string) float64 {
		if c.all[name] == 0 {
			return 0
		}
		return 1 - float64(c.free[name]-needs[name])/float64(c.all[name])
	}
	return fullScore * (1 - math.Abs(used(amount.CPU)-used(amount.Memory))/2)
}

func softTaints(n *corev1.Node, p *corev1.Pod) int {
	count := 0
	for i := range n.Spec.Taints {
		if t := &n.Spec.Taints[i]; t.Effect == corev1.TaintEffectPreferNoSchedule && !tolerated(p, t) {
			count++
		}
	}
	return count
}

func tolerated(p *corev1.Pod, t *corev1.Taint) bool {
	return corev1helpers.TolerationsTolerateTaint(klog.Background(), p.Spec.Tolerations, t, false)
}

// crowds says how many pods of the same workload are near, by the scheduler's default
// constraints: on the node and in its zone.
func (s *Scheduler) crowds(p *corev1.Pod, among []candidate) {
	owner := metav1.GetControllerOf(p)
	if owner == nil {
		return
	}
	byNode, byZone := s.spreadOf(func(o *corev1.Pod) bool {
		of := metav1.GetControllerOf(o)
		return of != nil && of.UID == owner.UID
	})
	zones := map[string]bool{}
	for i := range among {
		zones[among[i].node.Labels[corev1.LabelTopologyZone]] = true
	}
	perNode, perZone := math.Log(float64(len(among)+2)), math.Log(float64(len(zones)+2))
	for i := range among {
		n := among[i].node
		among[i].crowd = float64(byNode[n.Name])*perNode + hostnameMaxSkew - 1 +
			float64(byZone[n.Labels[corev1.LabelTopologyZone]])*perZone + zoneMaxSkew - 1
	}
}

// spreadOf counts pods by the node that they are on, and by its zone.
func (s *Scheduler) spreadOf(which func(*corev1.Pod) bool) (byNode, byZone map[string]int) {
	byNode, byZone = map[string]int{}, map[string]int{}
	for _, o := range s.pods {
		if n := s.nodes[o.Spec.NodeName]; n != nil && o.DeletionTimestamp == nil && which(o) {
			byNode[n.Name]++
			byZone[n.Labels[corev1.LabelTopologyZone]]++
		}
	}
	return byNode, byZone
}
