package drain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// holdUp is something that a drain waits for longer than it should.
type holdUp struct {
	cause Cause
	text  string
	pod   cluster.PodKey // empty if it is not about a pod
}

// Cause is the kind of a holdUp. It is a label of metrics.
type Cause string

// The causes.
const (
	HeldByBudget    Cause = "disruption-budget" // forbids an eviction
	HeldByRefusal   Cause = "eviction-refused"  // or a deletion, for another reason
	HeldByFinalizer Cause = "pod-finalizer"
	HeldByPod       Cause = "pod-not-stopping"
	HeldByKubelet   Cause = "kubelet-silent"
	HeldByVolume    Cause = "volume-attached"
	HeldByMachine   Cause = "machine" // is not terminated yet
	HeldByNode      Cause = "node"    // cannot be changed, or is held by other programs
	// HeldByAnnotation is of pods that must not be disrupted.
	HeldByAnnotation Cause = "do-not-disrupt"
)

// ReportAfter is how long something may hold up a drain before the agent sends an event about it.
// Much of it passes within seconds.
const ReportAfter = 15 * time.Second

// holdUps collects what holds up drains. The draining loop adds what it finds and ends the pass. Other
// loops may read what the last pass found.
type holdUps struct {
	mu    sync.Mutex
	found []*standing // in this pass
	known []*standing // in the last one that has ended, sorted
}

// standing is a holdUp of a node, and since when it has lasted.
type standing struct {
	holdUp
	node     string
	since    time.Time
	reported time.Time
}

func (s *standing) compare(o *standing) int {
	return cmp.Or(cmp.Compare(s.node, o.node), cmp.Compare(s.cause, o.cause), cmp.Compare(s.pod.String(), o.pod.String()), cmp.Compare(s.pod.UID, o.pod.UID))
}

func (h *holdUps) note(node string, one holdUp) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.found = append(h.found, &standing{holdUp: one, node: node})
}

// endPass ends a pass. It forgets what no longer holds up a drain, and returns what is to be reported
// now. What lasts is reported again before the API server forgets its event. What was known of a node of which
// a step still runs is kept.
func (h *holdUps) endPass(now time.Time, runs func(node string) bool) []standing {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.known {
		if runs(s.node) {
			h.found = append(h.found, &standing{holdUp: s.holdUp, node: s.node})
		}
	}
	slices.SortStableFunc(h.found, (*standing).compare)
	found := slices.CompactFunc(h.found, func(a, b *standing) bool { return a.compare(b) == 0 })
	var report []standing
	for _, s := range found {
		s.since = now
		if i, ok := slices.BinarySearchFunc(h.known, s, (*standing).compare); ok {
			s.since, s.reported = h.known[i].since, h.known[i].reported
		}
		if now.Sub(s.since) >= ReportAfter && now.Sub(s.reported) >= event.RepeatAfter {
			s.reported = now
			report = append(report, *s)
		}
	}
	h.known, h.found = found, nil
	return report
}

// words returns what holds up each node that is being drained, by its name.
func (h *holdUps) words() map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	byNode := map[string][]string{}
	for i := 0; i < len(h.known); {
		first, n := h.known[i], 1
		for i+n < len(h.known) && h.known[i+n].node == first.node && h.known[i+n].cause == first.cause {
			n++
		}
		text := first.text
		if n > 1 {
			text += fmt.Sprintf(" (and %d more like it)", n-1)
		}
		byNode[first.node] = append(byNode[first.node], text)
		i += n
	}
	out := make(map[string]string, len(byNode))
	for node, texts := range byNode {
		out[node] = strings.Join(texts, "; ")
	}
	return out
}

// causes returns what has held up each node for the longest time, for each cause.
func (h *holdUps) causes() []*standing {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := slices.Clone(h.known)
	slices.SortStableFunc(all, func(a, b *standing) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.cause, b.cause), a.since.Compare(b.since))
	})
	return slices.CompactFunc(all, func(a, b *standing) bool { return a.node == b.node && a.cause == b.cause })
}
