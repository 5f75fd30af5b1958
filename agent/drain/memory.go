package drain

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// memory is what the draining loop remembers between passes. Only that loop, and
// the goroutines of one pass under its lock, use it.
type memory struct {
	mu      sync.Mutex
	began   map[string]time.Time // by node
	emptied map[string]time.Time // by node: all pods that are waited for are gone
	retries map[string]retry     // by UID of the pod
	thought time.Duration        // how long the last pass took besides its calls
	held    *holdUps
}

// retry is when an eviction may be tried again.
type retry struct {
	at      time.Time
	refused int
	node    string
	last    holdUp // what the last refusal said; empty while there was none
}

func newMemory() memory {
	return memory{began: map[string]time.Time{}, emptied: map[string]time.Time{}, retries: map[string]retry{}, held: &holdUps{}}
}

// keep forgets what is gone and notes what is new.
func (d *memory) keep(leaving []*cluster.Node, s *cluster.Snapshot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	began := make(map[string]time.Time, len(leaving))
	for _, n := range leaving {
		t, known := d.began[n.Name]
		if !known {
			t = time.Now()
		}
		began[n.Name] = t
	}
	d.began = began
	maps.DeleteFunc(d.emptied, func(node string, _ time.Time) bool { return began[node].IsZero() })
	retries := make(map[string]retry, len(d.retries))
	for i := range s.Pods {
		if r, ok := d.retries[s.Pods[i].UID]; ok {
			retries[s.Pods[i].UID] = r
		}
	}
	d.retries = retries
}

// emptySince returns for how long a node has had nothing to evict, from the first
// call on.
func (d *memory) emptySince(node string) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.emptied[node].IsZero() {
		d.emptied[node] = time.Now()
	}
	return time.Since(d.emptied[node])
}

func (d *memory) since(node string) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Since(d.began[node])
}

func (d *memory) due(uid string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !time.Now().Before(d.retries[uid].at)
}

func (d *memory) accepted(uid string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.retries[uid] = retry{at: time.Now().Add(evictionSettles)}
}

func (d *memory) refused(p *cluster.Pod, by Cause, why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.retries[p.UID]
	r.node, r.last = p.NodeName, holdUp{by, fmt.Sprintf("pod %s: %s", p.PodKey, why), p.PodKey}
	r.at = time.Now().Add(min(evictionRetry<<min(r.refused, 10), evictionRetryMax))
	r.refused++
	d.retries[p.UID] = r
}

// noteRefusals notes the evictions that were refused the last time they were asked for.
func (d *memory) noteRefusals() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.retries {
		if r.last.text != "" {
			d.held.note(r.node, r.last)
		}
	}
}
