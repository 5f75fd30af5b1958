package pack

import (
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/place"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/purchase"
)

// solver makes an assignment and completes it.
type solver struct {
	*assign.Assignment
	placing    *place.Placer
	purchasing *purchase.Purchaser
}

func newSolver(p *assign.Problem, binding assign.Limits, e *model.Effort) *solver {
	s := &solver{Assignment: assign.New(p, binding, e)}
	s.placing = &place.Placer{Assignment: s.Assignment}
	s.purchasing = purchase.New(s.Assignment, p.Trials)
	return s
}

// Solve finds a place for every pod that can have one. Nodes that exist are
// filled first, machines are bought for the rest, preferences are given up one
// by one where that is needed.
func Solve(p *assign.Problem) *Layout {
	if len(p.Pods) == 0 {
		return &Layout{} // as most of the time
	}
	binding, e := make(assign.Limits, len(p.Provisioners)), model.NewEffort(p.Pods, len(p.Snapshot.Nodes))
	for {
		s := solved(p, binding, e, variant{})
		if !binding.Tighten(s.Assignment) {
			s = bestVariant(s, p, binding, e)
			if !binding.Tighten(s.Assignment) {
				return rendering{s.Assignment}.layout()
			}
		}
		e.Again()
	}
}

// variant is a way to place all pods. Which one serves most is known only at the end.
type variant struct {
	urgent   map[int]bool // classes that go before others of their priority, by their first pods
	patterns bool         // where limits leave pods over, machines are chosen by patterns, too
}

// bestVariant places all pods in other ways that may serve more of them than s does.
func bestVariant(s *solver, p *assign.Problem, binding assign.Limits, e *model.Effort) *solver {
	var v variant
	if s.Uses(assign.Patterns) && s.leavesOver() {
		// Patterns place more pods within limits, but do not know that those of some domains
		// lose their places where too many of another domain are left over.
		if again := solved(p, binding, e, variant{patterns: true}); again.serves(s) {
			s, v.patterns = again, true
		}
	}
	for range maxReorders {
		if v.urgent = s.crowdedOut(); len(v.urgent) == 0 {
			break
		}
		again := solved(p, binding, e, v)
		if !again.serves(s) {
			break
		}
		s = again
	}
	return s
}

// maxReorders bounds how often all is placed again in another order.
const maxReorders = 3

// leavesOver reports whether a limit leaves pods without a place.
func (s *solver) leavesOver() bool {
	return slices.ContainsFunc(s.Classes(), func(c *assign.Class) bool { return c.Left > 0 && c.Limited })
}

// solved places all pods.
func solved(p *assign.Problem, binding assign.Limits, e *model.Effort, v variant) *solver {
	s := begun(p, binding, e, v)
	s.rounds(s.Classes(), nil)
	if s.unjust() {
		// The limits do not allow all: the important ones first.
		if again := byPriority(p, binding, e, v); again != nil {
			s = again
		}
	}
	zoneBalance{s.Assignment}.balanceZones()
	s.confirm()
	return s
}

// begun returns a solver that has placed nothing but what is reserved.
func begun(p *assign.Problem, binding assign.Limits, e *model.Effort, v variant) *solver {
	s := newSolver(p, binding, e)
	if v.patterns {
		s.purchasing.UsePatternsUnderLimits()
	}
	s.Hurry(v.urgent)
	s.placing.SettleReserved()
	return s
}

// byPriority solves the problem one priority after the other; nil where all pods
// have the same.
func byPriority(p *assign.Problem, binding assign.Limits, e *model.Effort, v variant) *solver {
	s := begun(p, binding, e, v)
	all := s.Classes()
	if len(all) == 0 || all[0].Template.Priority == all[len(all)-1].Template.Priority {
		return nil
	}
	for len(all) > 0 {
		end := slices.IndexFunc(all, func(c *assign.Class) bool { return c.Template.Priority != all[0].Template.Priority })
		if end < 0 {
			end = len(all)
		}
		s.rounds(all[:end], all[end:])
		all = all[end:]
	}
	return s
}

// unjust reports whether a pod went without a place because of a limit while a
// machine is bought for a less important one.
func (s *solver) unjust() bool {
	least := int32(math.MaxInt32)
	for _, m := range s.Machines() {
		for _, p := range m.Placed {
			least = min(least, p.Class.Template.Priority)
		}
	}
	return slices.ContainsFunc(s.Classes(), func(c *assign.Class) bool { return c.Left > 0 && c.Limited && c.Template.Priority > least })
}

// rounds places the classes level by level until all have a place or have given up
// everything that they can. Those whose turn comes later may be followed already.
func (s *solver) rounds(classes, later []*assign.Class) {
	open := slices.DeleteFunc(slices.Clone(classes), func(c *assign.Class) bool { return c.Open() == 0 || c.Missing.Missed() })
	for len(open) > 0 {
		groups := s.placing.PlaceAll(slices.DeleteFunc(slices.Clone(open), func(c *assign.Class) bool { return !c.Urgent }))
		groups = append(groups, s.placing.Bundle(open, later)...)
		s.purchasing.BuyAll(append(groups, s.placing.PlaceAll(open)...))
		var next []*assign.Class
		for _, c := range open {
			if c.Open() == 0 || s.Exhausted(c) {
				continue
			}
			if l, ok := c.Next(c.Level, func(l assign.Level) bool { return s.placing.ServesAt(c, l) }); ok {
				c.Level = l
				next = append(next, c)
			}
		}
		open = next
	}
}
