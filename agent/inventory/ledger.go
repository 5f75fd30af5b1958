package inventory

import (
	"cmp"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// ledger compares what the cloud bills with the nodes that the cluster knows. It
// is shared by the planning and the draining loop.
type ledger struct {
	mu         sync.Mutex
	at         time.Time            // of the last comparison; zero: none yet
	asked      int                  // how often a comparison was asked for, because something may have no Node object
	answered   int                  // asked when the last comparison began
	wanted     bool                 // a comparison was asked for that purchases do not wait for
	failure    string               // why the last comparison failed; empty where it did not
	failures   *pace.Retries        // under an empty key: when to compare again after a failure
	nodeless   []string             // instances whose name or size is not known, or whose Node object is being deleted
	refused    map[string]refusal   // by Provisioner: instances whose Node objects it could not create
	terminated map[string]time.Time // when the agent terminated an instance, by id
	denied     map[string]denial    // refusals of the cloud to terminate an instance, by id
	missing    map[string]bool      // by provider id: nodes whose instance is gone; true if the cloud says so
	stopped    map[string]bool      // by provider id: instances that are stopped
	unknown    map[string]time.Time // by provider id: since when the cloud does not know the instance of a node
	scaled     map[string]time.Time // by Provisioner: a node came or went
	met        map[string]bool      // by provider id: instances whose kubelet registered by itself
	owned      atomic.Bool          // the cloud refuses the orders of earlier leaders
}

// denial is when the cloud refused something for the first time, and for the last, without doing it in between.
type denial struct{ since, last time.Time }

func newLedger() *ledger {
	return &ledger{failures: pace.NewRetries(2*time.Second, 30*time.Second), terminated: map[string]time.Time{}, denied: map[string]denial{}, missing: map[string]bool{}, scaled: map[string]time.Time{}, met: map[string]bool{}}
}

// Lead forgets what was compared before this process led.
func (l *ledger) Lead() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at, l.failure, l.nodeless, l.refused = time.Time{}, "", nil, nil
	l.failures.Succeeded("")
	l.owned.Store(false)
}

// Unsettled asks for a comparison before anything more is bought.
func (l *ledger) Unsettled() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
}

// want asks for a comparison that nothing waits for.
func (l *ledger) want() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wanted = true
}

// asks returns what a comparison that begins now answers: not what is asked while it lists instances.
func (l *ledger) asks() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wanted = false
	return l.asked
}

// Due reports whether a comparison is due.
func (l *ledger) Due(interval time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failures.Due("") && (!l.complete() || l.wanted || len(l.refused) > 0 || time.Since(l.at) >= interval)
}

// settled records a comparison, what had been asked for when it began, which nodes it found without an
// instance, and the instances that could not get their Node objects.
func (l *ledger) settled(asked int, missing map[string]bool, without *nodeless) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at, l.answered, l.missing = time.Now(), asked, missing
	l.failure, l.nodeless, l.refused = "", without.unknown, without.refused
	l.failures.Succeeded("")
	maps.DeleteFunc(l.terminated, func(_ string, t time.Time) bool { return time.Since(t) > time.Hour })
	maps.DeleteFunc(l.denied, func(_ string, d denial) bool { return time.Since(d.last) > denialPatience })
}

// Complete reports whether the last comparison succeeded and left nothing open:
// only then may machines be bought.
func (l *ledger) Complete() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.complete()
}

// Refused says why Node objects of a Provisioner's machines cannot be created; empty if they can be.
func (l *ledger) Refused(provisioner string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r, ok := l.refused[provisioner]; ok {
		return r.words()
	}
	return ""
}

// Waits reports whether the next comparison is due a little later. After one that failed, Next says when.
func (l *ledger) Waits() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failure == "" && (!l.complete() || len(l.refused) > 0)
}

func (l *ledger) complete() bool {
	return !l.at.IsZero() && l.answered == l.asked && len(l.nodeless) == 0 && l.failure == ""
}

// failed records that a comparison was not possible.
func (l *ledger) failed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failure = err.Error()
	l.failures.Failed("")
}

// Obstacle says what the last comparison left open, which keeps anything from being
// bought, with a reason of the condition Ready; empty for nothing. What has come up since
// is left out: the next turn compares again.
func (l *ledger) Obstacle() (reason, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.failure != "":
		return view.ReasonInstances, "nothing is bought until AWS lists the cluster's instances again: " + l.failure
	case len(l.nodeless) > 0:
		return view.ReasonNodeless, fmt.Sprintf("waiting for the Node objects of %s, such as %s", explain.Plural(len(l.nodeless), "instance"), l.nodeless[0])
	}
	return "", ""
}

// Next returns when the next comparison is due.
func (l *ledger) Next(interval time.Duration) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure != "" {
		return l.failures.Next("")
	}
	return l.at.Add(interval)
}

func (l *ledger) noteTerminated(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.terminated[id] = time.Now()
	delete(l.denied, id)
}

func (l *ledger) noteDenied(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d, now := l.denied[id], time.Now()
	if now.Sub(d.last) > denialGap {
		d.since = now
	}
	d.last = now
	l.denied[id] = d
}

// denialPatience is for how long the cloud must have refused to terminate an instance until nobody waits for that.
// Refusals further apart than denialGap say nothing about the time in between: the drain tries again once a minute.
const denialPatience, denialGap = time.Hour, 10 * time.Minute

// deniedForLong reports whether the cloud has refused for long to terminate an instance.
func (l *ledger) deniedForLong(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.denied[id]
	return d.last.Sub(d.since) >= denialPatience
}

func (l *ledger) wasTerminated(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.terminated[id]
	return ok
}

// meet reports whether an instance is new to the agent, once.
func (l *ledger) meet(providerID string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.met[providerID]
	l.met[providerID] = true
	return !known
}

// part forgets the instances that were met and have no node any more.
func (l *ledger) part(nodes map[string][]*cluster.Node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.met, func(providerID string, _ bool) bool { return len(nodes[providerID]) == 0 })
}

// InstanceGone reports whether the last comparison found no instance with the provider id. A node
// may have the name of an earlier one.
func (l *ledger) InstanceGone(providerID string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, gone := l.missing[providerID]
	return gone
}

// InstanceEnded reports whether the cloud says that the instance with the provider id has ended. It lists
// an instance for an hour after its end, so that one which it does not know may run nevertheless.
func (l *ledger) InstanceEnded(providerID string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.missing[providerID]
}

// noteStopped notes which instances are stopped.
func (l *ledger) noteStopped(instances []offer.Instance) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = map[string]bool{}
	for _, i := range instances {
		l.stopped[i.ProviderID] = i.State == offer.StateStopped
	}
}

// InstanceStopped reports whether the last comparison found the instance with the provider id stopped. Somebody may have
// started it again since.
func (l *ledger) InstanceStopped(providerID string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopped[providerID]
}

// unknownSince notes the nodes that are not ready and whose instances the cloud does not know, and returns
// by their provider ids since when that is so. It does not go by the age of a node: the clocks may differ, and
// the cloud may leave an old instance out of an answer too.
func (l *ledger) unknownSince(nodes []*cluster.Node) map[string]time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	since := make(map[string]time.Time, len(nodes))
	for _, n := range nodes {
		since[n.ProviderID] = cmp.Or(l.unknown[n.ProviderID], time.Now())
	}
	l.unknown = since
	return since
}

// Scaled notes that a node of a Provisioner came or went.
func (l *ledger) Scaled(provisioner string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.scaled[provisioner] = time.Now()
}

// LastScale returns when a node of a Provisioner came or went, if that is known.
func (l *ledger) LastScale(provisioner string) (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.scaled[provisioner]
	return t, ok
}
