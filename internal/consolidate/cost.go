package consolidate

import (
	"math"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

const (
	// alone is how many times as much a single replica costs: its workload is down while it
	// moves.
	alone = 10
	// covered is the same for a pod that goes only when another one is ready in its place.
	covered = 0.1
	// again is the same for a pod that was moved a short while ago: a move that saves much per
	// hour still pays, and nothing is moved back and forth for a small saving.
	again = 10
	// The ecosystem's scales of the deletion cost and of the priority, and the bounds of
	// their sum.
	deletionScale, priorityScale = 1 << 27, 1 << 25
	leastWeight, mostWeight      = 0, 10
)

// Weight is how many times more than usual a pod's eviction costs, given how many
// replicas of its workload run, and whether it was moved lately.
func Weight(p *cluster.Pod, replicas int, moved bool) float64 {
	w := 1 + float64(p.DeletionCost)/deletionScale + float64(p.Template.Priority)/priorityScale
	w = math.Max(leastWeight, math.Min(mostWeight, w))
	switch {
	case p.Covered:
		w *= covered
	case replicas <= 1:
		w *= alone
	}
	if moved {
		w *= again
	}
	return w
}

// Demand is what all pods on nodes ask for together.
func Demand(s *cluster.Snapshot) amount.List {
	out := amount.List{}
	for i := range s.Pods {
		if p := &s.Pods[i]; p.NodeName != "" {
			for name, v := range p.Template.Requests {
				out[name] = amount.Add(out[name], v)
			}
		}
	}
	return out
}
