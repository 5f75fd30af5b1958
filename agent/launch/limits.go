package launch

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// withinLimits keeps what can be bought without exceeding any Provisioner's
// limits, even if the cloud serves every machine with its largest candidate: a
// candidate that might exceed them is taken off its order, and an order that
// would exceed them anyway, or that lacks a candidate which it needs for minValues, is
// dropped. The plan respects limits already; this
// looks again at what exists now.
func withinLimits(v *view.Verifier, all []*order) []*order {
	slack := map[string]amount.List{}
	used := view.Capacities(v.Snapshot)
	for _, o := range all {
		if room, ok := slack[o.Provisioner]; ok {
			slack[o.Provisioner] = room.Minus(o.planned())
		} else if l := o.by.Limits(); l != nil {
			slack[o.Provisioner] = l.Minus(used[o.Provisioner]).Minus(o.planned())
		}
	}
	return slices.DeleteFunc(all, func(o *order) bool {
		room, limited := slack[o.Provisioner]
		if !limited {
			return false
		}
		limits := o.by.Limits()
		if exceeded(room, limits, o.planned()) {
			slack[o.Provisioner] = room.Plus(o.planned())
			return true
		}
		beyond := o.keepWithin(room, limits)
		if slices.ContainsFunc(o.Needed, func(c offer.Candidate) bool { return !slices.Contains(o.Candidates, c) }) {
			slack[o.Provisioner] = room.Plus(o.planned())
			return true
		}
		slack[o.Provisioner] = room.Minus(beyond)
		return false
	})
}

// exceeded reports whether the added machines exceed a limit. Resources that the machines do not have are ignored, so
// that a limit which was lowered below the existing capacity blocks only machines that add to it.
func exceeded(room, limits, added amount.List) bool {
	for name := range limits {
		if room[name] < 0 && added[name] > 0 {
			return true
		}
	}
	return false
}

// planned is the capacity of the order's machines if all come as planned.
func (o *order) planned() amount.List { return o.capacity(o.Candidates[0]) }

// capacity is that of the order's machines if all come as the candidate.
func (o *order) capacity(c offer.Candidate) amount.List {
	t := o.by.InstanceType(c.InstanceType)
	if t == nil {
		return nil
	}
	out := amount.List{}
	for name, v := range t.Capacity.OfNode() {
		out[name] = v * int64(o.Count)
	}
	return out
}

// keepWithin takes off the candidates that need more than the room beyond what is
// planned, and returns the most that the others may need beyond it.
func (o *order) keepWithin(room, limits amount.List) amount.List {
	planned, most := o.planned(), amount.List{}
	o.Candidates = slices.DeleteFunc(slices.Clone(o.Candidates), func(c offer.Candidate) bool {
		beyond := amount.List{}
		for name, v := range o.capacity(c).Minus(planned) {
			if _, limited := limits[name]; limited {
				beyond[name] = v
			}
		}
		if !beyond.Fits(room) {
			return true
		}
		most = most.Max(beyond)
		return false
	})
	return most
}
