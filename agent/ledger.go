package agent

import (
	"maps"
	"sync"
	"time"
)

// ledger compares what the cloud bills with the nodes that the cluster knows. It
// is shared by the planning and the draining loop.
type ledger struct {
	mu         sync.Mutex
	at         time.Time            // of the last comparison; zero: none yet
	open       bool                 // something was bought and may have no Node object
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
	l.at, l.owned = time.Time{}, false
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

// settled records a comparison and which nodes it found without an instance. It
// stays open if some machine could not get its Node object.
func (l *ledger) settled(missing map[string]bool, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at, l.open, l.missing = time.Now(), open, missing
	maps.DeleteFunc(l.terminated, func(_ string, t time.Time) bool { return time.Since(t) > time.Hour })
}

// complete reports whether the last comparison succeeded and left nothing open:
// only then may machines be bought.
func (l *ledger) complete() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.at.IsZero() && !l.open
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
