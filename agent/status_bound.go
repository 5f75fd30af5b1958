package agent

import (
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/status"
)

// boundAge is how long a bound is used: another one takes a whole decision.
const boundAge = 30 * time.Second

// bound returns the lower bound on the price of the cluster's pods, or the last answer while
// that is recent.
func (s *statusSnapshot) bound(plan func(decide.Input) decide.Plan, last *status.Bound) *status.Bound {
	if last != nil && s.at.Sub(last.At) < boundAge {
		return last
	}
	in := decide.Input{Now: s.view.Now, Settings: s.options.Settings, Prove: true}
	in.Snapshot, in.Provisioners = s.view.WithoutNodes()
	again := plan(in)
	out := &status.Bound{
		HourlyPrice: again.LowerBound.Dollars(), Rebought: again.HourlyPrice.Dollars(),
		Pods: len(in.Snapshot.Pending()), Unplaced: len(again.Unplaced), At: s.at,
	}
	out.Pods -= out.Unplaced
	return out
}
