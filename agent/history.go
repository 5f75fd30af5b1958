package agent

import (
	"maps"
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/batch"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/launch"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/successors"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// history is what the planning loop remembers between turns. A restart loses it, which costs a
// repeated event or attempt. Only the planning loop uses it.
type history struct {
	firstSeen map[string]time.Time      // by pod UID: when the pod was first seen waiting for a node
	presumed  map[string]bool           // by pod UID: whether it was presumed unschedulable then
	planned   map[string]decide.Binding // by pod UID: where a plan has placed a waiting or moving pod
	hopeful   map[string]time.Time      // by pod UID: since when a waiting pod has had a place
	learnt    map[string]amount.List    // by node: its resources that were passed on to the cloud
	buyable   map[string]string         // by Provisioner: an instance type that it could buy
	batch     batch.State
	gone      successors.Gone
	rooms     successors.Rooms // of pods that stop
	deferred  deferrals
}

func newHistory() history {
	return history{
		firstSeen: map[string]time.Time{},
		presumed:  map[string]bool{},
		planned:   map[string]decide.Binding{},
		learnt:    map[string]amount.List{},
		deferred:  deferrals{},
	}
}

// prune forgets nodes that are gone, and pods that wait neither for a node nor for their start. For
// the pods that have started, it returns since when they had waited.
func (h *history) prune(s *cluster.Snapshot, keep func(waiting map[string]bool)) (started []time.Time) {
	waiting := map[string]bool{}
	for p := range s.EachPod() {
		since, known := h.firstSeen[p.UID]
		switch {
		case p.State == cluster.PodPending, p.State == cluster.PodFailing, known && p.State == cluster.PodBound && !p.Running:
			waiting[p.UID] = true
		case known && p.Running:
			started = append(started, since)
		}
	}
	maps.DeleteFunc(h.firstSeen, func(uid string, _ time.Time) bool { return !waiting[uid] })
	maps.DeleteFunc(h.presumed, func(uid string, _ bool) bool { return !waiting[uid] })
	maps.DeleteFunc(h.learnt, func(node string, _ amount.List) bool { return s.Node(node) == nil })
	keep(waiting)
	return started
}

// oldest notes since when the waiting pods have had a place, and returns the longest of these times.
func (h *history) oldest(s *cluster.Snapshot, plan *decide.Plan, now time.Time) (longest time.Duration) {
	placed, without := map[string]time.Time{}, map[string]bool{}
	for _, u := range plan.Waiting() {
		without[u.Pod.UID] = true
	}
	for _, p := range slices.Concat(s.Pending(), s.Failing()) {
		if _, known := h.planned[p.UID]; without[p.UID] || p.State == cluster.PodFailing && !known {
			continue
		}
		since, known := h.hopeful[p.UID]
		if !known {
			since = now
		}
		placed[p.UID] = since
		longest = max(longest, now.Sub(since))
	}
	h.hopeful = placed
	return longest
}

// place notes where a plan has placed pods that wait or have to move, so that the next plan leaves
// them there.
func (h *history) place(plan *decide.Plan, bought *launch.Outcome) {
	clear(h.planned)
	for _, b := range slices.Concat(plan.Bindings, plan.Failing) {
		h.planned[b.Pod.UID] = b
	}
	bought.EachMachine(h.placeOn)
}

// placeOn notes the node of the pods of a machine that was bought.
func (h *history) placeOn(m *decide.Machine, node string) {
	for _, pod := range m.Pods {
		h.planned[pod.UID] = decide.Binding{Pod: pod, Node: node}
	}
	for _, move := range m.Moving {
		h.planned[move.Pod.UID] = decide.Binding{Pod: move.Pod, Node: node, From: move.From}
	}
}

// placements returns the noted places of pods that still wait, or that still run on the node that they
// have to leave, in the order of the snapshot, and then those of pods that stop there, or that have just gone.
func (h *history) placements(s *cluster.Snapshot, now time.Time) []decide.Binding {
	var out []decide.Binding
	for p := range s.EachPod() {
		waits := p.State == cluster.PodPending || p.State == cluster.PodFailing
		if b, ok := h.planned[p.UID]; ok && (waits || p.State == cluster.PodBound && p.NodeName == b.From) {
			out = append(out, b)
		}
	}
	return append(out, h.rooms.Kept(s, h.planned, now)...)
}
