package drain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// memory is what the draining loop remembers between passes. The goroutines of a pass share it under
// its lock.
type memory struct {
	mu       sync.Mutex
	began    map[string]time.Time // by node
	closings map[string]int       // by node: how often this process has closed it
	shut     map[string]time.Time // by node: the caches show it as closed
	emptied  map[string]time.Time // by node: all pods that are waited for are gone
	retries  map[string]retry     // by UID of the pod
	denials  map[string]string    // by node: what the cloud has last said when it did not terminate the machine
	gone     map[string]object    // by node: without the finalizer, which the caches may still show
	thought  time.Duration        // how long the last pass took without its calls to the API server and the cloud
	held     *holdUps
}

// object tells a Node object from others of its name.
type object struct {
	providerID string
	created    int64 // in Unix seconds, as the API server counts
}

func objectOf(n *cluster.Node) object { return object{n.ProviderID, n.Created.Unix()} }

// retry is when an eviction or deletion may be tried again.
type retry struct {
	at       time.Time
	refused  int
	node     string
	last     holdUp    // what the last refusal said; empty while there was none
	reported time.Time // when that was reported
}

func newMemory() memory {
	return memory{began: map[string]time.Time{}, closings: map[string]int{}, emptied: map[string]time.Time{}, retries: map[string]retry{}, denials: map[string]string{}, gone: map[string]object{}, held: &holdUps{}}
}

// keep forgets nodes and pods that are gone, and notes when the drain of a node began.
func (m *memory) keep(leaving []*cluster.Node, s *cluster.Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	began := make(map[string]time.Time, len(leaving))
	for _, n := range leaving {
		t, known := n.DeletedAt, true
		if t.IsZero() {
			t, known = m.began[n.Name]
		}
		if !known {
			t = time.Now()
		}
		began[n.Name] = t
	}
	m.began = began
	maps.DeleteFunc(m.closings, func(node string, _ int) bool { return began[node].IsZero() })
	maps.DeleteFunc(m.emptied, func(node string, _ time.Time) bool { return began[node].IsZero() })
	maps.DeleteFunc(m.denials, func(node string, _ string) bool { return began[node].IsZero() })
	maps.DeleteFunc(m.gone, func(node string, gone object) bool {
		n := s.Node(node)
		return n == nil || objectOf(n) != gone || !n.Deleting
	})
	retries := make(map[string]retry, len(m.retries))
	for p := range s.EachPod() {
		if r, ok := m.retries[p.UID]; ok {
			retries[p.UID] = r
		}
	}
	m.retries = retries
}

// closedAgain notes that a node was closed, and returns how often it has been.
func (m *memory) closedAgain(node string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closings[node]++
	return m.closings[node]
}

func (m *memory) closingsOf(node string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closings[node]
}

// shutSince returns since when each of the closed nodes has been known to be closed. It forgets the others.
func (m *memory) shutSince(closed map[string]bool) map[string]time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	shut := make(map[string]time.Time, len(closed))
	for node := range closed {
		if shut[node] = m.shut[node]; shut[node].IsZero() {
			shut[node] = time.Now()
		}
	}
	m.shut = shut
	return shut
}

// occupied notes that there are pods on a node, so that it counts as empty only from a later time on.
func (m *memory) occupied(node string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.emptied, node)
}

// emptySince returns for how long a node has had nothing to evict, from the first
// call on.
func (m *memory) emptySince(node string) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.emptied[node].IsZero() {
		m.emptied[node] = time.Now()
	}
	return time.Since(m.emptied[node])
}

// since returns for how long a node has been drained, also by agents that led before. The API server's clock may be ahead.
func (m *memory) since(node string) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(0, time.Since(m.began[node]))
}

// letGo notes that the finalizer was removed from a node. A new machine may have its name before the caches
// show that, and its pods are no concern of the drain. While the machine shuts down, its kubelet may register again:
// that Node object is another one, which is drained in its turn.
func (m *memory) letGo(n *cluster.Node) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone[n.Name] = objectOf(n)
}

func (m *memory) wasLetGo(n *cluster.Node) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return n.ProviderID != "" && m.gone[n.Name] == objectOf(n)
}

// denies notes what the cloud said when it did not terminate the machine of a node: of an error about several machines,
// what names this one.
func (m *memory) denies(n *cluster.Node, why error) {
	lines := strings.Split(why.Error(), "\n")
	if own := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, n.InstanceID()) }); own >= 0 {
		lines = lines[own : own+1]
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.denials[n.Name] = strings.Join(lines, "; ")
}

// denial returns what the cloud has last said when it did not terminate the machine of a node; empty if nothing.
func (m *memory) denial(node string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.denials[node]
}

func (m *memory) due(uid string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !time.Now().Before(m.retries[uid].at)
}

// denied reports whether a request was refused a moment ago, other than by a disruption budget.
func (m *memory) denied(uid string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.retries[uid]
	return r.last.cause == HeldByRefusal && time.Now().Before(r.at)
}

func (m *memory) accepted(uid string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.retries[uid] = retry{at: time.Now().Add(evictionSettles)}
}

// refused notes a refusal, and reports whether it is another one than the last, or is to be reported again.
func (m *memory) refused(p *cluster.Pod, by Cause, why error) (report bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, said := m.retries[p.UID], holdUp{by, fmt.Sprintf("pod %s: %s", p.PodKey, why), p.PodKey}
	if report = said != r.last || time.Since(r.reported) >= event.RepeatAfter; report {
		r.reported = time.Now()
	}
	r.node, r.last = p.NodeName, said
	r.at = time.Now().Add(min(evictionRetry<<min(r.refused, 10), evictionRetryMax))
	r.refused++
	m.retries[p.UID] = r
	return report
}

// refusedByBudgets returns the UIDs of the pods whose last eviction a budget did not allow.
func (m *memory) refusedByBudgets() map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]bool{}
	for uid, r := range m.retries {
		if r.last.cause == HeldByBudget {
			out[uid] = true
		}
	}
	return out
}

// noteRefusals notes the evictions and deletions that were refused the last time they were asked for.
func (m *memory) noteRefusals() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.retries {
		if r.last.text != "" {
			m.held.note(r.node, r.last)
		}
	}
}
