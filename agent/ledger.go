package agent

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
)

// ledger compares what the cloud bills with the nodes that the cluster knows. It
// is shared by the planning and the draining loop.
type ledger struct {
	mu         sync.Mutex
	at         time.Time            // of the last comparison; zero: none yet
	open       bool                 // something was bought and may have no Node object
	failure    string               // why the last comparison failed; empty where it did not
	nodeless   []string             // instances for which it could make no Node object
	terminated map[string]time.Time // instances that the agent gave back
	missing    map[string]bool      // nodes whose instance is gone
	scaled     map[string]time.Time // by Provisioner: a node came or went
	met        map[string]bool      // instances whose kubelet registered by itself
	owned      bool                 // the cloud refuses the orders of earlier leaders
}

func newLedger() *ledger {
	return &ledger{terminated: map[string]time.Time{}, missing: map[string]bool{}, scaled: map[string]time.Time{}, met: map[string]bool{}}
}

// lead forgets what was compared before this process led.
func (l *ledger) lead() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at, l.owned, l.failure, l.nodeless = time.Time{}, false, "", nil
}

// own notes that the cloud refuses the orders of earlier leaders.
func (l *ledger) own() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owned = true
}

func (l *ledger) isOwned() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.owned
}

// unsettled asks for a comparison before anything more is bought.
func (l *ledger) unsettled() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = true
}

// due reports whether a comparison is due.
func (l *ledger) due(interval time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open || l.at.IsZero() || time.Since(l.at) >= interval
}

// settled records a comparison, which nodes it found without an instance, and the
// instances that could not get their Node objects: for these it stays open.
func (l *ledger) settled(missing map[string]bool, nodeless []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at, l.open, l.missing = time.Now(), len(nodeless) > 0, missing
	l.failure, l.nodeless = "", nodeless
	maps.DeleteFunc(l.terminated, func(_ string, t time.Time) bool { return time.Since(t) > time.Hour })
}

// complete reports whether the last comparison succeeded and left nothing open:
// only then may machines be bought.
func (l *ledger) complete() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.at.IsZero() && !l.open && l.failure == ""
}

// failed records that a comparison was not possible.
func (l *ledger) failed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failure = err.Error()
}

// obstacle says what the last comparison left open, which keeps anything from being
// bought. What has come up since it is not worth a word: the next turn compares again.
func (l *ledger) obstacle() obstacle {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.failure != "":
		return obstacle{view.ReasonInstances, "nothing is bought until AWS lists the cluster's instances again: " + l.failure}
	case len(l.nodeless) > 0:
		return obstacle{view.ReasonNodeless, fmt.Sprintf("nothing is bought until each instance has its Node object: %d have none, such as %s", len(l.nodeless), l.nodeless[0])}
	}
	return obstacle{}
}

func (l *ledger) next(interval time.Duration) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at.Add(interval)
}

func (l *ledger) gaveBack(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.terminated[id] = time.Now()
}

func (l *ledger) wasGivenBack(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.terminated[id]
	return ok
}

// meet reports whether an instance is new to the agent, once.
func (l *ledger) meet(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.met[id]
	l.met[id] = true
	return !known
}

// instanceGone reports whether the last comparison found no instance behind the node.
func (l *ledger) instanceGone(node string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.missing[node]
}

func (l *ledger) scale(provisioner string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.scaled[provisioner] = time.Now()
}

func (l *ledger) lastScale(provisioner string) (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.scaled[provisioner]
	return t, ok
}
