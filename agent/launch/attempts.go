package launch

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"sync"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/batch"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// attemptsShared is for how long two agents that order for the same pods arrive at the same id.
const attemptsShared = 5 * time.Minute

// attempts counts how often machines were ordered for each pod and the cloud has
// answered. A launch id is made from that. Two agents that order machines for the same pods
// use the same id, so that the cloud sells these machines once. An agent that orders again
// after a refusal or a failure uses another id.
//
// A new agent counts from zero and therefore repeats the ids of its predecessor: it receives
// the machines that its predecessor bought, if they still run. The id also depends on the age
// of the pods, so that ids are not repeated for a whole day.
type attempts struct {
	mu       sync.Mutex
	answered map[string]int // by UID of the pod
}

func newAttempts() *attempts { return &attempts{answered: map[string]int{}} }

// launchID is the id of an order. It depends on the oldest of its pods alone, since
// the two agents may have seen different pods come since then.
func (a *attempts) launchID(o *order, pods map[string]*cluster.Pod, now time.Time) string {
	var first *cluster.Pod
	o.eachPod(func(key cluster.PodKey) {
		p := pods[key.UID]
		if p != nil && !batch.IsExpected(key) && (first == nil || older(p, first)) {
			first = p
		}
	})
	if first == nil {
		return rand.Text() // for pods that are yet to be made
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	age := now.Sub(first.Created) / attemptsShared
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d/%d", o.Provisioner, first.UID, age, a.answered[first.UID]))
	return base32.StdEncoding.EncodeToString(sum[:])[:26]
}

func older(a, b *cluster.Pod) bool {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.UID, b.UID)) < 0
}

// count notes that the cloud has answered an order.
func (a *attempts) count(o *order) {
	a.mu.Lock()
	defer a.mu.Unlock()
	o.eachPod(func(key cluster.PodKey) { a.answered[key.UID]++ })
}

// prune forgets the pods that are gone.
func (a *attempts) prune(s *cluster.Snapshot) {
	a.mu.Lock()
	defer a.mu.Unlock()
	kept := make(map[string]int, len(a.answered))
	for p := range s.EachPod() {
		if n := a.answered[p.UID]; n > 0 {
			kept[p.UID] = n
		}
	}
	a.answered = kept
}

// eachPod calls use with each pod that the order's machines are for.
func (o *order) eachPod(use func(cluster.PodKey)) {
	for _, m := range o.machines {
		for _, key := range m.AllPods() {
			use(key)
		}
	}
}
