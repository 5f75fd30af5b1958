package decide

import (
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

const (
	// stepApart is the least time between the creation of pods that belong to different steps
	// of their owner. Times of creation are whole seconds.
	stepApart = 2 * time.Second
	// stepLately is the longest time between two steps of one growth.
	stepLately = 2 * time.Minute
	// stepsOfGrowth is how many steps make a growth, before that of the pods that wait.
	stepsOfGrowth = 2
)

// growers returns the owners, by UID, of pending pods which grow: they have scaled up in
// several steps lately, and take another step now. Only the times at which pods were created
// show this. The argument has that of each owner's oldest pending pod.
func (d *decision) growers(oldest map[string]time.Time) map[string]bool {
	if len(oldest) == 0 {
		return nil
	}
	made := map[string][]time.Time{}
	for _, p := range d.onNodes {
		if first, waits := oldest[p.Owner.UID]; waits && p.State == cluster.PodBound && p.Created.Before(first) {
			made[p.Owner.UID] = append(made[p.Owner.UID], p.Created)
		}
	}
	out := map[string]bool{}
	for owner, times := range made {
		out[owner] = steps(times, oldest[owner]) >= stepsOfGrowth
	}
	return out
}

// steps counts the steps in which pods were created before a step at the given time.
func steps(made []time.Time, next time.Time) int {
	n := 0
	slices.SortFunc(made, time.Time.Compare)
	for _, at := range slices.Backward(made) {
		switch apart := next.Sub(at); {
		case apart > stepLately:
			return n
		case apart >= stepApart:
			n++
		}
		next = at
	}
	return n
}
