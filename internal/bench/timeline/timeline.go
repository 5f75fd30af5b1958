// Package timeline plays months of a cluster's life in virtual time: pods come, leave, are
// rolled out and scaled, and a policy keeps the nodes. It measures what the nodes cost,
// what the pods would have to cost, and how often pods were evicted.
package timeline

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// Timeline is what happens to a cluster. It depends on nothing but its seed and size.
type Timeline struct {
	Name, Title string
	// Length is how long is measured, after Settles.
	Length, Settles time.Duration
	// Sample is the time between two bounds.
	Sample time.Duration
	// Types can be bought, on demand.
	Types []offer.InstanceType
	// Budgets are the pods' disruption budgets.
	Budgets []sim.Budget
	// Changes are sorted by time, which counts from the beginning of Settles.
	Changes []Change
	// Stayed: evictions are counted for each pod that stays, not for each pod and day.
	Stayed bool
}

// Change is something that users do. One of the fields besides At is set.
type Change struct {
	At time.Duration
	// Deploy creates a workload or replaces it.
	Deploy *sim.Workload
	// Leave takes this share of the pods of every workload away, drawn at random.
	Leave float64
	// Gone removes a workload with its pods.
	Gone string
}

// Size scales a timeline: 1 is what the page shows.
type Size struct {
	// Scale multiplies the number of pods.
	Scale float64
	// Days is how many are measured at most; 0: all.
	Days float64
}

func (s Size) count(n int) int { return max(1, int(float64(n)*s.Scale+0.5)) }

func (s Size) length(days float64) time.Duration {
	if s.Days > 0 {
		days = min(days, s.Days)
	}
	return time.Duration(days * 24 * float64(time.Hour)).Round(time.Minute)
}

// Named lists the timelines by name.
var Named = map[string]func(seed uint64, size Size) *Timeline{
	"breathing": breathing, "batch": batch, "services": services, "collapse": collapse, "fragments": fragments, "guarded": guarded,
}

// Names are in the order of the page.
var Names = []string{"breathing", "batch", "services", "collapse", "fragments", "guarded"}

// sort brings the changes into order; those of the same time stay as they are.
func (t *Timeline) sort() *Timeline {
	slices.SortStableFunc(t.Changes, func(a, b Change) int { return cmp.Compare(a.At, b.At) })
	return t
}

func (t *Timeline) deploy(at time.Duration, w sim.Workload) {
	t.Changes = append(t.Changes, Change{At: at, Deploy: &w})
}

func random(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// daemonSetName is the name of the DaemonSet that runs on every node.
const daemonSetName = "agent-per-node"

// usage is what it takes of every node.
func usage() corev1.PodSpec { return sim.Requests("100m", "128Mi") }
