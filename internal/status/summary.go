package status

import (
	"fmt"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
)

// Summary is what of a status is worth a headline.
type Summary struct {
	// Title says in a sentence how the cluster is.
	Title string
	// Waiting pods wait for a node; Stuck of them in vain.
	Waiting, Stuck int
	// Running is the number of pods on the nodes, without those of DaemonSets.
	Running int
	// Starting, Going and Blocked count nodes.
	Starting, Going, Blocked int
	// CPU and Memory are the shares that are asked for, from 0 to 1.
	CPU, Memory float64
	// Distance says how far the price is from the bound.
	Distance string
}

// Summary sums up.
func (s *Status) Summary() Summary {
	var out Summary
	for _, p := range s.Pending {
		out.Waiting += p.Count
		if p.Stuck {
			out.Stuck += p.Count
		}
	}
	allocatable, used := amount.List{}, amount.List{}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		out.Running += int(n.Pods())
		switch n.State {
		case "starting":
			out.Starting++
		case "draining":
			out.Going++
		}
		allocatable, used = allocatable.Plus(n.Allocatable), used.Plus(n.Held)
		for _, l := range n.Loads {
			used = used.Plus(l.Each.Times(l.Pods))
		}
	}
	for _, l := range s.Leaving {
		if l.Blocked {
			out.Blocked++
		}
	}
	out.CPU, out.Memory = share(used, allocatable, amount.CPU), share(used, allocatable, amount.Memory)
	out.Distance = s.distance()
	out.Title = out.title(s)
	return out
}

func share(used, of amount.List, name string) float64 {
	if of[name] == 0 {
		return 0
	}
	return float64(used[name]) / float64(of[name])
}

// title begins with what a person should look at.
func (m *Summary) title(s *Status) string {
	switch {
	case !s.Leading:
		return "This replica stands by"
	case s.At.IsZero():
		return "The first turn has not ended yet"
	case m.Stuck > 0:
		return fmt.Sprintf("%s cannot be placed", explain.Plural(m.Stuck, "pod"))
	case m.Waiting > 0:
		return fmt.Sprintf("%s about to get a node", explain.Plural(m.Waiting, "pod"))
	case m.Starting > 0:
		return fmt.Sprintf("%s starting", explain.Plural(m.Starting, "node"))
	case len(s.Nodes) == 0:
		return "No nodes, and no pods waiting for one"
	}
	return "Every pod has a node"
}

// distance compares what is paid with what would have to be.
func (s *Status) distance() string {
	b := s.Bound
	switch {
	case b == nil || b.Pods == 0:
		return ""
	case b.HourlyPrice == 0 && b.Rebought > 0:
		return "No lower bound on the price for these pods is known."
	case s.HourlyPrice <= b.HourlyPrice:
		return fmt.Sprintf("No choice of nodes for the same %s costs less at current prices: new nodes for them would cost %s per hour.",
			explain.Plural(b.Pods, "pod"), dollars(b.Rebought)) + s.leftOut()
	case b.HourlyPrice == 0:
		return fmt.Sprintf("The same %s would need no new nodes: nodes without a Provisioner have room for them.", explain.Plural(b.Pods, "pod")) + s.leftOut()
	}
	return fmt.Sprintf("%.1f%% above the lower bound of %s per hour for the same %s at current prices. New nodes for them would cost %s per hour.",
		100*(s.HourlyPrice/b.HourlyPrice-1), dollars(b.HourlyPrice), explain.Plural(b.Pods, "pod"), dollars(b.Rebought)) + s.leftOut()
}

func (s *Status) leftOut() string {
	if s.Bound.Unplaced == 0 {
		return ""
	}
	return fmt.Sprintf(" This leaves out %s for which no offering is available.", explain.Plural(s.Bound.Unplaced, "pod"))
}
