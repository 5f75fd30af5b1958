package consolidate

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// The weights and limits of kube-scheduler's default profile.
const (
	fullScore                    = 100
	taintWeight, spreadWeight    = 3, 2
	hostnameMaxSkew, zoneMaxSkew = 3, 5
)

// preferred is the room that kube-scheduler's default profile scores highest for a pod: the least
// allocated one, with CPU and memory in balance, few soft taints and few pods of the same
// workload.
func (l *landings) preferred(t *cluster.Template, need []int64, among []*room) *room {
	crowds := l.crowds(t, among)
	least, most := slices.Min(crowds), slices.Max(crowds)
	taints, mostTaints := make([]int, len(among)), 0
	for i, m := range among {
		taints[i] = softTaints(m.node, t)
		mostTaints = max(mostTaints, taints[i])
	}
	best, highest := among[0], math.Inf(-1)
	for i, m := range among {
		score := l.allocated(m, need) + spreadWeight*fullScore*(most+least-crowds[i])/most
		if mostTaints > 0 {
			score += taintWeight * fullScore * float64(mostTaints-taints[i]) / float64(mostTaints)
		}
		if score > highest {
			best, highest = m, score
		}
	}
	return best
}

// crowds say how many pods of the same workload are near, by the scheduler's default
// constraints: on the node and in its zone.
func (l *landings) crowds(t *cluster.Template, among []*room) []float64 {
	zones := map[string]float64{}
	for _, m := range among {
		zones[m.zone] = 0
	}
	perNode, perZone := math.Log(float64(len(among)+2)), math.Log(float64(len(zones)+2))
	for zone := range zones {
		zones[zone] = float64(float64(l.zones[zone][t])*perZone) + hostnameMaxSkew - 1 + zoneMaxSkew - 1
	}
	out := make([]float64, len(among))
	for i, m := range among {
		out[i] = float64(float64(m.like[t])*perNode) + zones[m.zone]
	}
	return out
}

// allocated is the sum of the scores for the least allocated room and for a balanced one.
func (l *landings) allocated(m *room, need []int64) float64 {
	free := func(name string) float64 {
		i := slices.Index(l.rooms.space.Names, name)
		if m.all[i] <= 0 {
			return 0
		}
		return float64(m.free[i]-need[i]) / float64(m.all[i])
	}
	cpu, memory := free(amount.CPU), free(amount.Memory)
	return fullScore * ((cpu+memory)/2 + 1 - math.Abs(cpu-memory)/2)
}

// softTaints counts those that lead a pod away from a node.
func softTaints(n *cluster.Node, t *cluster.Template) int {
	count := n.Guide
	for i := range n.Taints {
		taint := &n.Taints[i]
		if taint.Effect == corev1.TaintEffectPreferNoSchedule && !slices.ContainsFunc(t.Tolerations, func(tol corev1.Toleration) bool { return cluster.Tolerates(&tol, taint) }) {
			count++
		}
	}
	return count
}
