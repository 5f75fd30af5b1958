package pack

import (
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// solver makes an assignment and completes it.
type solver struct {
	*Assignment
	placing    *placer
	purchasing *purchaser
	later      []*class // less important ones, whose turn has not come
}

func newSolver(p *Problem, binding limits, e *model.Effort) *solver {
	s := &solver{Assignment: newAssignment(p, binding, e)}
	s.placing = &placer{Assignment: s.Assignment}
	s.purchasing = &purchaser{Assignment: s.Assignment, buying: newBuyer(s.Market, len(p.Pods), p.Trials)}
	return s
}

// Solve finds a place for every pod that can have one. Nodes that exist are
// filled first, machines are bought for the rest, preferences are given up one
// by one where that is needed.
func Solve(p *Problem) *Layout {
	if len(p.Pods) == 0 {
		return &Layout{} // as most of the time
	}
	binding, e := make(limits, len(p.Provisioners)), model.NewEffort(p.Pods, len(p.Snapshot.Nodes))
	for {
		s := reordered(p, binding, e)
		if !binding.tighten(s) {
			return rendering{s.Assignment}.layout()
		}
		e.Again()
	}
}

// reordered places all pods, again in another order where some are crowded out.
func reordered(p *Problem, binding limits, e *model.Effort) *solver {
	s := solved(p, binding, e, nil)
	for range maxReorders {
		urgent := s.crowdedOut()
		if len(urgent) == 0 {
			break
		}
		again := solved(p, binding, e, urgent)
		if !again.serves(s) {
			break
		}
		s = again
	}
	return s
}

// maxReorders bounds how often all is placed anew in another order.
const maxReorders = 3

// solved places all pods, those of the urgent classes before others of their priority.
func solved(p *Problem, binding limits, e *model.Effort, urgent map[int]bool) *solver {
	s := newSolver(p, binding, e)
	s.hurry(urgent)
	s.placing.settleReserved()
	s.rounds()
	if s.unjust() {
		// The limits do not allow all: the important ones first.
		if again := byPriority(p, binding, e, urgent); again != nil {
			s = again
		}
	}
	zoneBalance{s.Assignment}.balanceZones()
	s.confirm()
	return s
}

// byPriority solves the problem one priority after the other; nil where all pods
// have the same.
func byPriority(p *Problem, binding limits, e *model.Effort, urgent map[int]bool) *solver {
	s := newSolver(p, binding, e)
	s.hurry(urgent)
	if len(s.classes) == 0 || s.classes[0].Template.Priority == s.classes[len(s.classes)-1].Template.Priority {
		return nil
	}
	s.placing.settleReserved()
	all := slices.Clone(s.classes)
	defer func(classes []*class) { s.classes = classes }(s.classes)
	for len(all) > 0 {
		end := slices.IndexFunc(all, func(c *class) bool { return c.Template.Priority != all[0].Template.Priority })
		if end < 0 {
			end = len(all)
		}
		s.classes, s.later = all[:end], all[end:]
		s.rounds()
		all = all[end:]
	}
	return s
}

// unjust reports whether a pod went without a place because of a limit while a
// machine is bought for a less important one.
func (s *solver) unjust() bool {
	least := int32(math.MaxInt32)
	for _, m := range s.machines {
		for _, p := range m.placed {
			least = min(least, p.class.Template.Priority)
		}
	}
	return slices.ContainsFunc(s.classes, func(c *class) bool { return c.left > 0 && c.limited && c.Template.Priority > least })
}

// rounds places the classes level by level until all have a place or have given
// up everything that they can.
func (s *solver) rounds() {
	open := slices.DeleteFunc(slices.Clone(s.classes), func(c *class) bool { return c.open() == 0 || c.never.Missed() })
	for len(open) > 0 {
		lots := s.placing.placeAll(slices.DeleteFunc(slices.Clone(open), func(c *class) bool { return !c.urgent }))
		lots = append(lots, s.placing.bundle(open, s.later)...)
		s.purchasing.buyAll(append(lots, s.placing.placeAll(open)...))
		var next []*class
		for _, c := range open {
			if c.open() == 0 || s.exhausted(c) {
				continue
			}
			if l, ok := c.next(c.level, func(l level) bool { return s.placing.servesAt(c, l) }); ok {
				c.level = l
				next = append(next, c)
			}
		}
		open = next
	}
}
