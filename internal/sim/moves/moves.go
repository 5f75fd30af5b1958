// Package moves follows pods over their evictions: the next pod of the same workload stands in the place
// of the one that was evicted.
package moves

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

// Record is what is known of the moves in a cluster. Workloads are named by the label app of their pods.
type Record struct {
	Total Moves

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

// New returns an empty Record.
func New() *Record {
	return &Record{trails: map[types.UID]*trail{}, waiting: map[string][]*trail{}, made: map[string]int{}}
}

func (r *Record) of(p *corev1.Pod) *trail {
	t := r.trails[p.UID]
	if t == nil {
		t = &trail{}
		r.trails[p.UID] = t
	}
	return t
}

// Evicts notes an eviction, once for each pod.
func (r *Record) Evicts(p *corev1.Pod) {
	if p.DeletionTimestamp != nil || metav1.GetControllerOf(p) == nil {
		return
	}
	t := r.of(p)
	delete(r.trails, p.UID)
	r.Total.Evictions++
	if !t.moved.IsZero() && time.Since(t.moved) < time.Hour {
		r.Total.Again++
	}
	t.moved, t.left = time.Now(), append(t.left, p.Spec.NodeName)
	load := p.Labels["app"]
	r.waiting[load] = append(r.waiting[load], t)
}

// Succeeds gives a new pod the place of one that was evicted.
func (r *Record) Succeeds(p *corev1.Pod) {
	load := p.Labels["app"]
	if q := r.waiting[load]; len(q) > 0 {
		r.trails[p.UID], r.waiting[load] = q[0], q[1:]
	}
}

// Lands notes where a pod is bound.
func (r *Record) Lands(p *corev1.Pod) {
	if t := r.trails[p.UID]; t != nil && slices.Contains(t.left, p.Spec.NodeName) {
		r.Total.Back++
	}
}

// Lifetime is how long a pod that starts now runs on, where the n-th pod of its workload lives for so long.
func (r *Record) Lifetime(p *corev1.Pod, lives func(n int) time.Duration) time.Duration {
	t, load := r.of(p), p.Labels["app"]
	if t.ends.IsZero() {
		t.ends = time.Now().Add(lives(r.made[load]))
		r.made[load]++
	}
	return max(time.Until(t.ends), time.Second)
}
