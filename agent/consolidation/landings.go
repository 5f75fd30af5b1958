package consolidation

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// landingPatience is how long the successor of an evicted pod is waited for.
const landingPatience = time.Minute

// Landings counts on which nodes the successors of evicted pods land. The plan names a node for each successor, but
// kube-scheduler decides. If many land elsewhere, nodes that should have been filled come up for consolidation again.
// Landings is not safe for concurrent use.
type Landings struct {
	metrics *metrics.Consolidation
	// departures are the pods that are to be evicted, or have been, by their UIDs.
	departures map[string]departure
	// came are successors, by UID, with the nodes that were planned for them; the node is
	// empty once the successor has landed. Each has come in the place of one pod only.
	came map[string]string
}

// NewLandings returns Landings that count in m.
func NewLandings(m *metrics.Consolidation) *Landings {
	return &Landings{metrics: m, departures: map[string]departure{}, came: map[string]string{}}
}

type departure struct {
	name     string
	owner    cluster.Owner
	template *cluster.Template
	planned  string    // the node for its successor
	alive    time.Time // when the pod was last seen to stay
	gone     time.Time // when it was first seen to go; zero before
}

// Look replaces the moves of earlier plans by those of this plan, except for pods that have
// begun to go since, and counts the successors that have landed. The moves are the nodes that
// the plan has for the successors of pods, by the UIDs of the pods.
func (l *Landings) Look(snapshot *cluster.Snapshot, moves map[string]string, now time.Time) {
	if len(moves)+len(l.departures)+len(l.came) == 0 {
		return
	}
	stay := make(map[string]bool, len(snapshot.Pods))
	for p := range snapshot.EachPod() {
		if p.State == cluster.PodTerminating {
			continue
		}
		stay[p.UID] = true
		delete(l.departures, p.UID)
		if node, moved := moves[p.UID]; moved {
			l.departures[p.UID] = departure{name: p.Name, owner: p.Owner, template: p.Template, planned: node, alive: now}
		}
	}
	gone := l.gone(stay, now)
	maps.DeleteFunc(l.came, func(uid, node string) bool { return !stay[uid] || node == "" && len(l.departures) == 0 })
	for p := range snapshot.EachPod() {
		l.look(p, gone)
	}
}

// gone returns the UIDs of the pods that have gone and whose successors have not come, by
// the UIDs of their owners.
func (l *Landings) gone(stay map[string]bool, now time.Time) map[string][]string {
	out := map[string][]string{}
	for _, uid := range slices.Sorted(maps.Keys(l.departures)) {
		at := l.departures[uid]
		switch {
		case stay[uid]:
			continue
		case at.gone.IsZero():
			at.gone = now
			l.departures[uid] = at
		case now.Sub(at.gone) >= landingPatience:
			delete(l.departures, uid)
			continue
		}
		out[at.owner.UID] = append(out[at.owner.UID], uid)
	}
	return out
}

// look counts a pod that is a successor, once it is on a node.
func (l *Landings) look(p *cluster.Pod, gone map[string][]string) {
	planned, known := l.came[p.UID]
	if !known {
		uids := gone[p.Owner.UID]
		k := slices.IndexFunc(uids, func(uid string) bool { return l.departures[uid].succeeded(p) })
		if k < 0 {
			return
		}
		planned = l.departures[uids[k]].planned
		delete(l.departures, uids[k])
		gone[p.Owner.UID] = slices.Delete(uids, k, k+1)
		l.came[p.UID] = planned
	}
	if p.NodeName == "" || planned == "" {
		return
	}
	l.came[p.UID] = ""
	where := metrics.LandedElsewhere
	if p.NodeName == planned {
		where = metrics.LandedAsPlanned
	}
	l.metrics.Landed.WithLabelValues(where).Inc()
}

// succeeded reports whether a pod has come in the place of the one that has gone.
func (at departure) succeeded(p *cluster.Pod) bool {
	if p.State == cluster.PodTerminating || p.Created.Before(at.alive.Add(-serverLag)) {
		return false
	}
	return (at.owner.Kind != "StatefulSet" || p.Name == at.name) && alike(p.Template, at.template)
}

// alike compares templates without their labels: the API server gives a pod the zone and the
// region of its node as labels once it is bound, so that its successor has others.
func alike(a, b *cluster.Template) bool {
	if a == b {
		return true
	}
	x, y := *a, *b
	x.Labels, y.Labels = nil, nil
	return reflect.DeepEqual(x, y)
}
