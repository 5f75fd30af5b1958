package decide

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
)

// nominateFailing nominates the pods that their schedulers cannot bind because of errors to nodes that have room for them,
// and returns these places. If such pods had no place, the nodes that were bought for them would be empty and go. Then the
// scheduler would find no node, and other machines would be bought, for as long as the error lasts. Nothing is bought for
// these pods: if there is no room, their scheduler says that they are unschedulable. Pods that wait for a node compete
// with them for room, so that none loses a place that is kept for it.
func (in *Input) nominateFailing() (places []Binding) {
	if len(in.Snapshot.Failing()) == 0 {
		return nil
	}
	trial, asked, nominated := *in, *in.Snapshot, *in.Snapshot
	asked.Pods, nominated.Pods = slices.Clone(in.Snapshot.Pods), slices.Clone(in.Snapshot.Pods)
	trial.Snapshot, in.Snapshot = &asked, &nominated
	for p := range asked.EachPod() {
		if n := asked.Node(p.NominatedNode); p.State == cluster.PodFailing && (n == nil || leaving(n)) {
			p.State = cluster.PodPending
		}
	}
	d := newDecision(&trial)
	problem := d.problem(d.leaving)
	for i := range problem.Provisioners {
		problem.Provisioners[i].Closed = "nothing is bought for pods that a scheduler cannot bind"
	}
	to := map[cluster.PodKey]string{}
	for i, place := range pack.Solve(problem).Places {
		to[problem.Pods[i].Pod.PodKey] = place.Node
	}
	for p := range nominated.EachPod() {
		if p.State != cluster.PodFailing {
			continue
		}
		if node, tried := to[p.PodKey]; tried {
			p.NominatedNode = node
		}
		if p.NominatedNode != "" {
			places = append(places, Binding{Pod: p.PodKey, Node: p.NominatedNode})
		}
	}
	return places
}
