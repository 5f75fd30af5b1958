package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// maxConfirmations bounds how often places are sought again for pods that would have
// been refused.
const maxConfirmations = 4

// How many pods are placed one by one: the fewer the more pods there are, since after
// each of them all are looked at.
const (
	maxSingleSteps = 256
	podsLookedAt   = 100_000
)

// confirm makes the plan one that kube-scheduler can carry out: pods that it would
// refuse where they are planned get other places, or none. What room is left is
// given to pods without a place.
func (s *solver) confirm() {
	if !s.incomplete() && len(s.confirming().doubted()) == 0 {
		return
	}
	before := int64(-1)
	for try := range maxConfirmations {
		nodes, refused := s.confirming().replayAll()
		helped := s.incomplete() && s.confirming().refill(nodes)
		if !s.incomplete() || try == maxConfirmations-1 {
			return
		}
		changed := before != s.unplaced() && s.hopeful()
		before = s.unplaced()
		if allowed := s.allowSpecial(); !refused && !helped && !changed && !allowed {
			return
		}
		if refused && try > 0 && s.Uses(assign.OneByOne) {
			s.oneByOne()
		} else {
			s.again(s.Classes())
		}
	}
}

// confirming returns the confirmation of the assignment.
func (s *solver) confirming() confirmation { return confirmation{s.Assignment} }

// unplaced counts the pods without a place.
func (s *solver) unplaced() int64 {
	n := int64(0)
	for _, c := range s.Classes() {
		n += c.Left
	}
	return n
}

// hopeful reports whether pods have no place that may have one now: what others do has
// made room in domains, or a limit has come to bind where other domains are open.
func (s *solver) hopeful() bool {
	return slices.ContainsFunc(s.Classes(), func(c *assign.Class) bool {
		return c.WantsPlace() && (c.OrderMatters() || c.Limited) && s.forSale(c)
	})
}

// forSale reports whether something that holds a pod of the class may still be bought.
func (s *solver) forSale(c *assign.Class) bool {
	left := s.Remaining()
	return slices.ContainsFunc(c.Places, func(place match.Requirements) bool {
		for k := range s.OptionsFor(place, c.Template.Tolerations, c.Tolerates, false).Offerings.All {
			if o := &s.Offerings[k]; model.Fits(c.Need, o.Room) && left.Affords(o, 1) > 0 {
				return true
			}
		}
		return false
	})
}

// incomplete reports whether there are pods without a place that could have one.
func (s *solver) incomplete() bool {
	return slices.ContainsFunc(s.Classes(), (*assign.Class).WantsPlace)
}

// allowSpecial lets pods that limits keep from plain types have types that are not
// usually bought for them, and reports whether that may help.
func (s *solver) allowSpecial() bool {
	left := s.Remaining()
	some := false
	for _, c := range s.Classes() {
		if c.Left == 0 || c.AllowDevices || !c.Limited {
			continue
		}
		c.AllowDevices = slices.ContainsFunc(s.Offerings, func(o model.Offering) bool {
			return o.Special && model.Fits(c.Need, o.Room) && left.Affords(&o, 1) > 0
		})
		some = some || c.AllowDevices
	}
	return some
}

// again places pods of the classes once more that have no place yet, from their first
// level. Those that had to leave their places repeatedly wait until the others have theirs.
func (s *solver) again(classes []*assign.Class) {
	s.RelateNodeSpreads()
	waiting := false
	for _, c := range classes {
		if c.Left > 0 {
			c.Level = assign.Level{}
		}
		if c.Refusals > 1 {
			c.Held, waiting = c.Left, true
		}
	}
	s.rounds(classes, nil)
	if !waiting {
		return
	}
	for _, c := range classes {
		if c.Refusals > 1 {
			c.Held, c.Level = 0, assign.Level{}
		}
	}
	s.rounds(classes, nil)
}

// oneByOne is again for pods that are spread, one after the other and each confirmed:
// limits cannot leave the first of them without a machine while the next get one, and
// the DaemonSets of each machine are counted before the next is bought.
func (s *solver) oneByOne() {
	steps, most := 0, min(maxSingleSteps, podsLookedAt/len(s.Problem.Pods))
	for _, c := range s.Classes() {
		for refused := false; !refused && len(c.Spreads()) > 0 && c.WantsPlace() && steps < most; steps++ {
			before := c.Left
			c.Level, c.Held = assign.Level{}, c.Left-1
			s.rounds([]*assign.Class{c}, nil)
			c.Held = 0
			if c.Left == before {
				break
			}
			_, refused = s.confirming().replayAll()
		}
	}
	s.again(slices.DeleteFunc(slices.Clone(s.Classes()), func(c *assign.Class) bool { return len(c.Spreads()) > 0 }))
}
