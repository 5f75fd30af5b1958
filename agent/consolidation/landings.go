package bind

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/nodes"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// clockSkew is how far the API server's clock, by which pods are created, may be behind.
const clockSkew = 2 * time.Second

// successorPatience is how long the place of an evicted pod is kept for its successor.
const successorPatience = time.Minute

// Successors binds the pods that come in the place of evicted ones where the plan has found
// room for them, as soon as they are made. kube-scheduler would place them without knowing
// that plan: where it is quicker, its choice holds. All fields but the last are to be set.
// It is safe for concurrent use.
type Successors struct {
	Pods    Pods
	Assumed *nodes.Assumptions
	Metrics *metrics.Metrics
	Log     hclog.Logger

	binding sync.WaitGroup

	mu sync.Mutex
	// places are where pods go that are to be evicted, by their UIDs.
	places map[string]place
	// came are successors, by UID, with the nodes where they were planned; the node is empty
	// once it is known where they have landed. Each has come in the place of one pod only.
	came map[string]string
}

// place is where a pod goes.
type place struct {
	Move
	left time.Time // when it was seen to go; zero before
}

// Move is a pod that is about to be evicted, and the node that the plan has for the pod that
// comes in its place.
type Move struct {
	Pod  *cluster.Pod
	Node string
	// Bound: the agent may bind it there; else it is only counted where it lands.
	Bound bool
}

// Expect takes over the moves of a plan in the place of those of earlier ones. The pods that
// have begun to go since keep the places that they had.
func (s *Successors) Expect(snapshot *cluster.Snapshot, moves []Move) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.places == nil {
		s.places, s.came = map[string]place{}, map[string]string{}
	}
	for i := range snapshot.Pods {
		if p := &snapshot.Pods[i]; p.State != cluster.PodTerminating {
			delete(s.places, p.UID)
		}
	}
	for _, m := range moves {
		if p := s.places[m.Pod.UID]; p.left.IsZero() {
			s.places[m.Pod.UID] = place{Move: m}
		}
	}
}

// Expecting reports whether Come has anything to look for.
func (s *Successors) Expecting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.places)+len(s.came) > 0
}

// Come begins to bind the successors that have come, and counts where others have landed.
//
// kube-scheduler places pods at the same time, and may have chosen a node for pods that are
// still on none as far as is known here. A kubelet refuses what its node has no room for, and
// the pod fails. So a successor is bound only where all pods that are on their way would
// have room beside it; else it is left to kube-scheduler.
func (s *Successors) Come(ctx context.Context, snapshot *cluster.Snapshot, now time.Time) {
	found := s.match(snapshot, now)
	if len(found) == 0 {
		return
	}
	room, coming := rooms(snapshot, found), s.coming(snapshot)
	for _, m := range found {
		if free, up := room[m.Node]; m.Bound && up && takes(free, m.Pod, coming) {
			s.binding.Go(func() { s.bind(ctx, m) })
		}
	}
}

// takes reports whether a pod has room together with those that may come.
func takes(free amount.List, p *cluster.Pod, coming []*cluster.Pod) bool {
	need := p.Template.Requests
	for _, other := range coming {
		if other.UID != p.UID && other.Template.Requests.Fits(free) {
			need = need.Plus(other.Template.Requests)
		}
	}
	return need.Fits(free)
}

// coming lists the pods that are on no node yet, and those that are being evicted, in the
// place of which others will come.
func (s *Successors) coming(snapshot *cluster.Snapshot) []*cluster.Pod {
	going := map[string]bool{}
	for i := range snapshot.Nodes {
		going[snapshot.Nodes[i].Name] = snapshot.Nodes[i].Deleting
	}
	var out []*cluster.Pod
	for i := range snapshot.Pods {
		if p := &snapshot.Pods[i]; p.NodeName == "" && p.State != cluster.PodTerminating {
			out = append(out, p)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.places {
		if !at.left.IsZero() || going[at.Pod.NodeName] {
			out = append(out, at.Pod)
		}
	}
	return out
}

// Wait returns when nothing is being bound.
func (s *Successors) Wait() { s.binding.Wait() }

// match finds the successors, and returns those that are on no node, with their places.
func (s *Successors) match(snapshot *cluster.Snapshot, now time.Time) []Move {
	s.mu.Lock()
	defer s.mu.Unlock()
	there := map[string]bool{}
	for i := range snapshot.Pods {
		p := &snapshot.Pods[i]
		there[p.UID] = p.State != cluster.PodTerminating
		if node := s.came[p.UID]; node != "" && p.NodeName != "" {
			s.landed(p, node)
		}
	}
	gone := map[string][]string{} // by owner
	for uid, at := range s.places {
		switch {
		case there[uid]:
			continue
		case at.left.IsZero():
			at.left = now
			s.places[uid] = at
		case now.Sub(at.left) >= successorPatience:
			delete(s.places, uid)
			continue
		}
		gone[at.Pod.Owner.UID] = append(gone[at.Pod.Owner.UID], uid)
	}
	maps.DeleteFunc(s.came, func(uid, node string) bool { return !there[uid] || node == "" && len(s.places) == 0 })
	for _, uids := range gone {
		slices.Sort(uids)
	}
	var out []Move
	for i := range snapshot.Pods {
		p := &snapshot.Pods[i]
		k := slices.IndexFunc(gone[p.Owner.UID], func(uid string) bool { return s.places[uid].succeeded(p) })
		if _, known := s.came[p.UID]; known || k < 0 {
			continue
		}
		uid := gone[p.Owner.UID][k]
		at := s.places[uid]
		gone[p.Owner.UID] = slices.Delete(gone[p.Owner.UID], k, k+1)
		delete(s.places, uid)
		if p.NodeName != "" {
			s.landed(p, at.Node)
			continue
		}
		s.came[p.UID] = at.Node
		if p.State == cluster.PodNew && !p.Template.ResourceClaims && !needsDevices(p) {
			out = append(out, Move{Pod: p, Node: at.Node, Bound: at.Bound})
		}
	}
	return out
}

// succeeded reports whether a pod has come in the place of the one that has left.
func (at place) succeeded(p *cluster.Pod) bool {
	if p.State == cluster.PodTerminating || p.UID == at.Pod.UID || p.Created.Before(at.left.Add(-clockSkew)) {
		return false
	}
	return (at.Pod.Owner.Kind != "StatefulSet" || p.Name == at.Pod.Name) && alike(p.Template, at.Pod.Template)
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

// landed counts where a successor is. The lock is held.
func (s *Successors) landed(p *cluster.Pod, planned string) {
	s.came[p.UID] = ""
	where := metrics.LandedElsewhere
	if p.NodeName == planned {
		where = metrics.LandedAsPlanned
	}
	s.Metrics.Consolidation.Landed.WithLabelValues(where).Inc()
}

// rooms is what the pods leave of the nodes that pods should be bound to, as far as these are
// up.
func rooms(snapshot *cluster.Snapshot, moves []Move) map[string]amount.List {
	out := map[string]amount.List{}
	for i := range snapshot.Nodes {
		n := &snapshot.Nodes[i]
		wanted := slices.ContainsFunc(moves, func(m Move) bool { return m.Node == n.Name })
		if wanted && n.Ready && n.Initialized && !n.Deleting && !n.Unschedulable {
			out[n.Name] = n.Allocatable
		}
	}
	for i := range snapshot.Pods {
		if free, wanted := out[snapshot.Pods[i].NodeName]; wanted {
			out[snapshot.Pods[i].NodeName] = free.Minus(snapshot.Pods[i].Template.Requests)
		}
	}
	return out
}

func (s *Successors) bind(ctx context.Context, m Move) {
	err := s.Pods.Bind(ctx, m.Pod.PodKey, m.Node)
	switch {
	case err == nil:
		s.Assumed.Bound(m.Pod.PodKey, m.Node)
		s.Log.Debug("bound a pod", "pod", m.Pod.String(), "node", m.Node)
	case errors.Is(err, cluster.ErrLeftToScheduler), errors.Is(err, cluster.ErrStale):
		s.Log.Debug("left a pod to the scheduler", "pod", m.Pod.String(), "node", m.Node, "reason", strings.TrimSpace(err.Error()))
	case ctx.Err() == nil:
		s.Log.Warn("could not bind a pod", "pod", m.Pod.String(), "node", m.Node, "error", err)
	}
}
