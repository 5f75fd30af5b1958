package agent

import (
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
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
	in := decide.Input{Now: s.view.Now, Snapshot: withoutNodes(s.view.Snapshot), Provisioners: s.view.Markets(), Settings: s.options.Settings, Prove: true}
	again := plan(in)
	out := &status.Bound{
		HourlyPrice: again.LowerBound.Dollars(), Rebought: again.HourlyPrice.Dollars(),
		Pods: len(in.Snapshot.Pending()), Unplaced: len(again.Unplaced), At: s.at,
	}
	out.Pods -= out.Unplaced
	return out
}

// withoutNodes is the cluster without the nodes that belong to Provisioners, with their
// pods waiting. What nodes bring along is left out.
func withoutNodes(s *cluster.Snapshot) *cluster.Snapshot {
	out := *s
	out.Nodes, out.Pods = nil, make([]cluster.Pod, 0, len(s.Pods))
	ours := map[string]bool{}
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Provisioner != "" {
			ours[n.Name] = true
		} else {
			out.Nodes = append(out.Nodes, *n)
		}
	}
	for _, p := range s.Pods {
		if ours[p.NodeName] {
			if !p.NeedsNode() {
				continue
			}
			p.NodeName, p.State, p.Running = "", cluster.PodPending, false
		}
		out.Pods = append(out.Pods, p)
	}
	return &out
}
