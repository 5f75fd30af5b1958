package sim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Moves is what became of pods that were evicted.
type Moves struct {
	// Evictions is how many there were.
	Evictions int
	// Again is how many of them were of pods whose predecessor had been evicted within the
	// hour before.
	Again int
	// Back is how many pods came to a node from which a predecessor had been evicted.
	Back int
}

// moves follows pods over their evictions: the next pod of the same workload stands in the
// place of the one that was evicted.
type moves struct {
	total   Moves
	trails  map[types.UID]*trail
	waiting map[string][]*trail // by workload, in the order of their evictions
	made    map[string]int      // pods by workload
}

// trail is what is known of a pod and its predecessors.
type trail struct {
	left  []string // nodes
	moved time.Time
	ends  time.Time
}

func newMoves() moves {
	return moves{trails: map[types.UID]*trail{}, waiting: map[string][]*trail{}, made: map[string]int{}}
}

func (m *moves) of(p *corev1.Pod) *trail {
	t := m.trails[p.UID]
	if t == nil {
		t = &trail{}
		m.trails[p.UID] = t
	}
	return t
}

// evicts notes an eviction, once for each pod.
func (m *moves) evicts(p *corev1.Pod) {
	if p.DeletionTimestamp != nil || metav1.GetControllerOf(p) == nil {
		return
	}
	t := m.of(p)
	delete(m.trails, p.UID)
	m.total.Evictions++
	if !t.moved.IsZero() && time.Since(t.moved) < time.Hour {
		m.total.Again++
	}
	t.moved, t.left = time.Now(), append(t.left, p.Spec.NodeName)
	load := p.Labels["app"]
	m.waiting[load] = append(m.waiting[load], t)
}

// succeeds gives a new pod the place of one that was evicted.
func (m *moves) succeeds(p *corev1.Pod) {
	load := p.Labels["app"]
	if q := m.waiting[load]; len(q) > 0 {
		m.trails[p.UID], m.waiting[load] = q[0], q[1:]
	}
}

// lands notes where a pod is bound.
func (m *moves) lands(p *corev1.Pod) {
	if t := m.trails[p.UID]; t != nil && slices.Contains(t.left, p.Spec.NodeName) {
		m.total.Back++
	}
}

// lifetime is how long a pod that starts now runs on.
func (m *moves) lifetime(p *corev1.Pod, load *Workload) time.Duration {
	t := m.of(p)
	if t.ends.IsZero() {
		t.ends = time.Now().Add(load.Lifetime(m.made[load.Name]))
		m.made[load.Name]++
	}
	return max(time.Until(t.ends), time.Second)
}

// Moves says what became of pods that were evicted.
func (w Records) Moves() Moves {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.moves.total
}

// Spent is what the machines have cost until now, in dollars.
func (w Records) Spent() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	total := 0.0
	for _, m := range w.past {
		total += w.costs(m)
	}
	for _, m := range w.machines {
		total += w.costs(m)
	}
	return total
}

// Price is what the machines cost now, in dollars per hour.
func (w Records) Price() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	total := 0.0
	for _, m := range w.machines {
		if m.goneAt.IsZero() {
			total += w.priceOf(m).Dollars()
		}
	}
	return total
}

// costs is what a machine has cost until now or its end, in dollars.
func (w *world) costs(m *machine) float64 {
	end := m.goneAt
	if end.IsZero() {
		end = w.now().Time
	} else {
		end = end.Add(w.options.Skew)
	}
	return w.priceOf(m).Dollars() * end.Sub(m.LaunchedAt).Hours()
}

// priceOf is what a machine costs an hour.
func (w *world) priceOf(m *machine) offer.Price {
	return w.stock.Price(m.InstanceType, m.Zone, m.CapacityType)
}
