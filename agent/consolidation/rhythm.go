// Package consolidation is what the agent remembers of nodes in use between its turns: when pods came or went, and
// when it is time to look for a cheaper cluster again. A restart loses this memory, which delays consolidation for a
// while. What follows from the pods themselves is known again at once.
package consolidation

import (
	"maps"
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

const (
	// shortestRest is how long nodes in use are left alone after they were looked at.
	shortestRest = 10 * time.Second
	// restFactor makes the rest so much longer than the look took, so that a large cluster
	// does not keep a core busy.
	restFactor = 20
	// longestRest is after how long they are looked at although nothing has changed.
	longestRest = 5 * time.Minute
	// FailedRest is how long they are left alone after a look that failed.
	FailedRest = 10 * time.Minute
	// guideRest is how long the soft taints of nodes stay as they are: each change is a write
	// to the API server, and pods that arrive within minutes should find the same order.
	guideRest = 2 * time.Minute
)

// serverLag is how far the API server's clock, by which pods are created, may be behind.
const serverLag = 2 * time.Second

// Memory is used by one goroutine.
type Memory struct {
	places    map[string]place       // of workload pods, by UID
	evicted   map[string][]time.Time // when pods began to leave for consolidation, by owner
	moved     map[string]time.Time   // when the predecessors of pods were evicted, by UID
	disturbed map[string]time.Time
	seen      *cluster.Snapshot // at the last look
	looked    time.Time
	rest      time.Duration
	last      *decide.Consolidation
	failed    bool      // the last look
	succeeded time.Time // the last look that did, or the first observation
	guided    time.Time
}

type place struct {
	node  string
	going bool
}

// New remembers nothing.
func New() *Memory {
	return &Memory{disturbed: map[string]time.Time{}, evicted: map[string][]time.Time{}, moved: map[string]time.Time{}}
}

// Observe notes from which nodes pods have gone, or begun to go, since the last call, and
// to which they have come.
func (m *Memory) Observe(s *cluster.Snapshot, now time.Time) {
	places := make(map[string]place, len(s.Pods))
	for p := range s.EachPod() {
		if p.NodeName == "" || p.Template.BelongsToNode() {
			continue
		}
		is := place{p.NodeName, p.State == cluster.PodTerminating}
		places[p.UID] = is
		if was, known := m.places[p.UID]; m.places != nil && (!known || was != is) {
			m.disturbed[p.NodeName] = now
		}
	}
	for uid, was := range m.places {
		if _, there := places[uid]; !there {
			m.disturbed[was.node] = now
		}
	}
	m.follow(s, places, now)
	m.places = places
	if m.succeeded.IsZero() {
		m.succeeded = now
	}
	maps.DeleteFunc(m.disturbed, func(node string, _ time.Time) bool { return s.Node(node) == nil })
}

// Disturbed is when a pod was last seen to come to a node or to leave it.
func (m *Memory) Disturbed() map[string]time.Time { return maps.Clone(m.disturbed) }

// follow notes which pods have come in the place of those that were evicted to make their
// nodes go: the next ones of the same owners.
func (m *Memory) follow(s *cluster.Snapshot, places map[string]place, now time.Time) {
	going := map[string]bool{}
	for n := range s.EachNode() {
		going[n.Name] = n.Deleting && n.Mark().Reason == api.ReasonConsolidation
	}
	for p := range s.EachPod() {
		if p.Owner.UID == "" || p.Template.DaemonSet {
			continue
		}
		was, known := m.places[p.UID]
		if going[p.NodeName] && places[p.UID].going && known && !was.going {
			m.evicted[p.Owner.UID] = append(m.evicted[p.Owner.UID], now)
		}
	}
	for p := range s.EachPod() {
		at := m.evicted[p.Owner.UID]
		if _, known := m.moved[p.UID]; !known && len(at) > 0 && !p.Created.Before(at[0].Add(-serverLag)) && p.State != cluster.PodTerminating {
			m.moved[p.UID], m.evicted[p.Owner.UID] = at[0], at[1:]
		}
	}
	old := func(at time.Time) bool { return now.Sub(at) >= decide.MovedRest }
	maps.DeleteFunc(m.moved, func(_ string, at time.Time) bool { return old(at) })
	for owner, at := range m.evicted {
		if at = slices.DeleteFunc(at, old); len(at) == 0 {
			delete(m.evicted, owner)
		} else {
			m.evicted[owner] = at
		}
	}
}

// Moved is when the predecessors of pods were evicted, by UID, for as long as they are not
// moved again.
func (m *Memory) Moved() map[string]time.Time { return maps.Clone(m.moved) }

// Due reports whether nodes in use should be looked at again: something has changed, or
// time has made a step due, and the last look is long enough ago.
func (m *Memory) Due(s *cluster.Snapshot, now time.Time) bool {
	return !now.Before(m.Next(s))
}

// Next is when Due will be true if nothing changes any more.
func (m *Memory) Next(s *cluster.Snapshot) time.Time {
	if m.looked.IsZero() {
		return time.Time{}
	}
	soonest := m.looked.Add(m.rest)
	if s != m.seen {
		return soonest
	}
	next := m.looked.Add(longestRest)
	if m.last != nil && !m.last.Next.IsZero() && m.last.Next.Before(next) {
		next = m.last.Next
	}
	if again := m.GuidesAgain(); again.After(m.looked) && again.Before(next) {
		next = again
	}
	if next.Before(soonest) {
		return soonest
	}
	return next
}

// Looked notes what a look at a snapshot found, and how long it took. The result is nil if no
// Provisioner consolidates nodes in use; that was no work.
func (m *Memory) Looked(s *cluster.Snapshot, found *decide.Consolidation, now time.Time, took time.Duration) {
	m.failed, m.succeeded = false, now
	if found == nil {
		m.last = nil
		return
	}
	m.seen, m.last, m.looked = s, found, now
	m.rest = max(shortestRest, restFactor*took)
}

// Failed notes that a look failed, so that nothing is known of nodes in use.
func (m *Memory) Failed(now time.Time) {
	m.failed, m.last, m.looked, m.rest = true, nil, now, FailedRest
}

// HasFailed reports whether the last look failed.
func (m *Memory) HasFailed() bool { return m.failed }

// Age is for how long no look has succeeded, whether looks have failed or there were none.
func (m *Memory) Age(now time.Time) time.Duration { return now.Sub(m.succeeded) }

// Guides reports whether the soft taints of nodes may change again.
func (m *Memory) Guides(now time.Time) bool { return !now.Before(m.guided.Add(guideRest)) }

// GuidesAgain is when they may change again: what a look found until then was not carried
// out. It is zero where they have never changed.
func (m *Memory) GuidesAgain() time.Time {
	if m.guided.IsZero() {
		return time.Time{}
	}
	return m.guided.Add(guideRest)
}

// Guided notes that they have changed.
func (m *Memory) Guided(now time.Time) { m.guided = now }

// Last is what the last look found, and when; nil where there was none, or it failed.
func (m *Memory) Last() (found *decide.Consolidation, at time.Time) { return m.last, m.looked }
