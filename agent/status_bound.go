package agent

import (
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/status"
)

// boundAge is how long a bound is good enough for: it takes a whole decision.
const boundAge = 30 * time.Second

// bound says what the cluster would have to cost, or returns the last answer while
// that is young.
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
