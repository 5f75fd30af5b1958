package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// holdUp is what a drain waits for that takes longer than it should.
type holdUp struct {
	cause cause
	text  string
	pod   cluster.PodKey // empty where it is not about one
}

// cause is the kind of a holdUp, as a label of metrics.
type cause string

// The causes.
const (
	heldByBudget    cause = "disruption-budget" // forbids an eviction
	heldByRefusal   cause = "eviction-refused"  // for another reason
	heldByFinalizer cause = "pod-finalizer"
	heldByPod       cause = "pod-not-stopping"
	heldByKubelet   cause = "kubelet-silent"
	heldByVolume    cause = "volume-attached"
	heldByMachine   cause = "machine" // is not given back yet
	heldByNode      cause = "node"    // cannot be changed, or is held by other programs
)

// tellHoldUpAfter is how long something may hold up a drain before an event says so.
// What passes by itself within seconds would only be noise.
const tellHoldUpAfter = 15 * time.Second

// holdUps are what holds up drains. The draining loop notes what it finds in a pass,
// and settles it at the end; others may ask for what was found last.
type holdUps struct {
	mu    sync.Mutex
	found []*standing // in this pass
	known []*standing // in the last one that was settled, sorted
}

// standing is a holdUp of a node for as long as it lasts.
type standing struct {
	holdUp
	node  string
	since time.Time
	told  time.Time
}

func (s *standing) compare(o *standing) int {
	return cmp.Or(cmp.Compare(s.node, o.node), cmp.Compare(s.cause, o.cause), cmp.Compare(s.pod.String(), o.pod.String()), cmp.Compare(s.pod.UID, o.pod.UID))
}

func (h *holdUps) note(node string, one holdUp) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.found = append(h.found, &standing{holdUp: one, node: node})
}

// settle ends a pass. It forgets what does not hold up anything any more and returns
// what is to be told now: everything that lasts, again before its event is forgotten.
func (h *holdUps) settle(now time.Time) []standing {
	h.mu.Lock()
	defer h.mu.Unlock()
	slices.SortStableFunc(h.found, (*standing).compare)
	found := slices.CompactFunc(h.found, func(a, b *standing) bool { return a.compare(b) == 0 })
	var tell []standing
	for _, s := range found {
		s.since = now
		if i, ok := slices.BinarySearchFunc(h.known, s, (*standing).compare); ok {
			s.since, s.told = h.known[i].since, h.known[i].told
		}
		if now.Sub(s.since) >= tellHoldUpAfter && now.Sub(s.told) >= tellAgain {
			s.told = now
			tell = append(tell, *s)
		}
	}
	h.known, h.found = found, nil
	return tell
}

// words say what holds up each node that is being drained.
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

// nodeCause is one cause that holds up one node.
type nodeCause struct {
	node  string
	cause cause
}

// causes returns what holds up which nodes, each once.
func (h *holdUps) causes() []nodeCause {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []nodeCause
	for _, s := range h.known {
		out = append(out, nodeCause{s.node, s.cause})
	}
	return slices.Compact(out)
}
