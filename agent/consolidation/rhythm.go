// Package consolidation is what the agent remembers of nodes in use between its turns:
// when pods came or went, and when it is time to look for a cheaper cluster again.
// Losing it at a restart costs some time: what the pods themselves tell is known again.
package consolidation

import (
	"maps"
	"time"

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
)

// Memory is used by one goroutine.
type Memory struct {
	places    map[string]place // of workload pods, by UID
	disturbed map[string]time.Time
	seen      *cluster.Snapshot // at the last look
	looked    time.Time
	rest      time.Duration
	last      *decide.Consolidation
}

type place struct {
	node  string
	going bool
}

// New remembers nothing.
func New() *Memory { return &Memory{disturbed: map[string]time.Time{}} }

// Observe notes from which nodes pods have gone, or begun to go, since the last call, and
// to which they have come.
func (m *Memory) Observe(s *cluster.Snapshot, now time.Time) {
	places := make(map[string]place, len(s.Pods))
	for i := range s.Pods {
		p := &s.Pods[i]
		if p.NodeName == "" || p.Template.DaemonSet || p.Template.Static {
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
	m.places = places
	exists := make(map[string]bool, len(s.Nodes))
	for i := range s.Nodes {
		exists[s.Nodes[i].Name] = true
	}
	maps.DeleteFunc(m.disturbed, func(node string, _ time.Time) bool { return !exists[node] })
}

// Disturbed is when a pod was last seen to come to a node or to leave it. It may not be
// changed.
func (m *Memory) Disturbed() map[string]time.Time { return maps.Clone(m.disturbed) }

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
	if next.Before(soonest) {
		return soonest
	}
	return next
}

// Looked notes what a look at a snapshot found, and how long it took.
func (m *Memory) Looked(s *cluster.Snapshot, found *decide.Consolidation, now time.Time, took time.Duration) {
	m.seen, m.last, m.looked = s, found, now
	m.rest = max(shortestRest, restFactor*took)
}

// Last is what the last look found; nil where there was none.
func (m *Memory) Last() *decide.Consolidation { return m.last }
