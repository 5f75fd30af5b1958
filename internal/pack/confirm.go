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
		s.again()
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
	affordable := s.affordable()
	return slices.ContainsFunc(s.Classes(), func(c *assign.Class) bool {
		return c.WantsPlace() && (c.OrderMatters() || c.Limited) && s.forSale(c, affordable)
	})
}

// affordable returns the offerings of which limits allow one more machine.
func (s *solver) affordable() model.Bitset {
	left, out := s.Remaining(), model.NewBitset(len(s.Offerings))
	for _, p := range s.Selling {
		if left.Spent(p) {
			continue
		}
		for k := p.Offerings[0]; k < p.Offerings[1]; k++ {
			if left.Allows(&s.Offerings[k]) {
				out.Add(k)
			}
		}
	}
	return out
}

// forSale reports whether one of the offerings may hold a pod of the class.
func (s *solver) forSale(c *assign.Class, offerings model.Bitset) bool {
	return slices.ContainsFunc(c.Places, func(place match.Requirements) bool {
		allowed := s.OptionsFor(place, c.Template.Tolerations, c.Tolerates, false).Offerings
		for k := range offerings.All {
			if allowed.Has(k) && model.Fits(c.Need, s.Offerings[k].Room) {
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
	special, some := s.affordable(), false
	special.Keep(s.Special)
	for _, c := range s.Classes() {
		if c.Left == 0 || c.AllowDevices || !c.Limited {
			continue
		}
		c.AllowDevices = s.forSale(c, special)
		some = some || c.AllowDevices
	}
	return some
}

// again places pods once more that have no place yet, from their first level.
func (s *solver) again() {
	s.RelateNodeSpreads()
	for _, c := range s.Classes() {
		if c.Left > 0 {
			c.Level = c.FirstLevel(0)
		}
	}
	s.rounds(s.Classes(), nil)
}
