package pack

import (
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/place"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/purchase"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// solver makes an assignment and completes it.
type solver struct {
	*assign.Assignment
	made       variant
	placing    *place.Placer
	purchasing *purchase.Purchaser
	bought     []int64 // by class: the pods that had a place before the plan was confirmed
}

// planning is what all passes that it takes to make a plan share.
type planning struct {
	problem  *assign.Problem
	binding  assign.Limits
	effort   *model.Effort
	trials   *purchase.Trials
	prepared *assign.Prepared // with the limits that bind; nil until a pass needs it
}

func newPlanning(p *assign.Problem) *planning {
	return &planning{
		problem: p, binding: make(assign.Limits, len(p.Provisioners)),
		effort: model.NewEffort(p.Pods, len(p.Snapshot.Nodes)), trials: purchase.NewTrials(len(p.Pods), p.Trials),
	}
}

// tighten adds the limits that a solution breaks, and reports whether there are any. Limits that it keeps may be added, too.
func (p *planning) tighten(s *solver) bool {
	before := p.binding.Count()
	broken := p.binding.Tighten(s.Assignment)
	if broken || p.binding.Count() > before {
		p.prepared = nil
	}
	return broken
}

func (p *planning) newSolver() *solver {
	if p.prepared == nil {
		p.prepared = assign.Prepare(p.problem, p.binding, p.effort)
	}
	s := &solver{Assignment: p.prepared.New()}
	s.placing = &place.Placer{Assignment: s.Assignment}
	s.purchasing = purchase.New(s.Assignment, p.trials)
	return s
}

// Solve finds a place for every pod that can have one. Nodes that exist are
// filled first, machines are bought for the rest, preferences are given up one
// by one where that is needed.
func Solve(p *assign.Problem) *Layout {
	if len(p.Pods) == 0 {
		return &Layout{} // as most of the time
	}
	for planning := newPlanning(p); ; {
		first := planning.solved(variant{})
		if planning.tighten(first) {
			continue
		}
		s := planning.bestVariant(first)
		if planning.tighten(s) {
			continue
		}
		if s != first {
			s = planning.searched(s)
		}
		if !planning.tighten(s) {
			return rendering{s.Assignment}.layout()
		}
	}
}

// variant is a way to place all pods. Which one serves most is known only at the end.
type variant struct {
	urgent   map[int]bool                 // classes that go before others of their priority, by their first pods
	patterns bool                         // where limits leave pods over, machines are chosen by patterns, too
	uneven   bool                         // nodes are filled by the order of pods only, see Placer.Uneven
	zones    map[int]place.ZonePreference // the zones that classes prefer, by their first pods
	first    map[int]int64                // how many pods of classes go before others of theirs, by their first pods
	later    map[int]bool                 // classes for which machines are chosen after all others, by their first pods
	plain    map[int]topology.Relaxed     // the preferences that classes give up at once, by their first pods
	gather   map[int]bool                 // classes that even out their spreads only as far as they must, by their first pods
}

// bestVariant places all pods in other ways that may serve more of them than s does.
func (p *planning) bestVariant(s *solver) *solver {
	s = p.bestPatterns(s)
	if s.Uses(assign.EvenNodes) && len(s.Existing()) > 0 && s.leavesOver() {
		other := s.made
		other.uneven = true
		s = p.better(s, other)
	}
	s = p.bestPlain(p.bestShares(s))
	tried := s
	for range maxReorders {
		other := tried.made
		if other.urgent = tried.crowdedOut(); len(other.urgent) == 0 || !p.effort.Spare() {
			break
		}
		tried = p.solved(other)
		s = better(s, tried)
	}
	return p.bestZones(p.bestGathered(s))
}

// searched makes a plan again with as many trials as the first plan had, if the search for cheaper machines has used up
// all of them: few were left for other ways to place all pods, which may have places for more. World 897261104 costs 37 %
// more without it.
func (p *planning) searched(s *solver) *solver {
	if !p.trials.Over() {
		return s
	}
	p.trials = purchase.NewTrials(len(p.problem.Pods), p.problem.Trials)
	return better(s, p.solved(s.made))
}

// bestPatterns returns the plan that serves most: s or, where limits leave pods over, one in which machines are chosen by
// patterns. These place more pods within limits, but do not know that those of some domains lose their places where too
// many of another domain are left over.
func (p *planning) bestPatterns(s *solver) *solver {
	if !s.Uses(assign.Patterns) || !s.leavesOver() {
		return s
	}
	other := s.made
	other.patterns = true
	return p.better(s, other)
}

// mayGainPlaces reports whether a class has pods left over that may have a place once preferences are given up: because
// of limits, or because some of its pods have one, where there may be no room for the others that must be with them.
func mayGainPlaces(c *assign.Class) bool { return c.WantsPlace() && (c.Limited || served(c) > 0) }

// bestPlain returns the plan that serves most: s or one in which classes give up their preferences. First those with
// pods left over do, and then all. A preference must keep no pod pending, neither one that has it nor another. How many
// pods fit within the limits is asked again, since preferences change that.
func (p *planning) bestPlain(s *solver) *solver {
	for _, all := range []bool{false, true} {
		if !slices.ContainsFunc(s.Classes(), mayGainPlaces) {
			break
		}
		other := s.made
		other.plain, other.first = map[int]topology.Relaxed{}, nil
		for _, c := range s.Classes() {
			if len(c.Preferences) > 0 && (all || mayGainPlaces(c)) {
				other.plain[c.First()] = c.Everything()
			}
		}
		if len(other.plain) > len(s.made.plain) && p.effort.Spare() {
			s = better(s, p.bestShares(p.bestPatterns(p.solved(other))))
		}
	}
	return p.keepPreferences(s)
}

// mostKept bounds how many of their preferences classes may try to keep that would give up all.
const mostKept = 3

// keepPreferences lets classes that give up all preferences keep the most important ones, as long as no fewer pods have a
// place.
func (p *planning) keepPreferences(s *solver) *solver {
	tried := map[int]topology.Relaxed{}
	for range mostKept {
		other := s.made
		other.plain = maps.Clone(s.made.plain)
		some := false
		for id, given := range s.made.plain {
			if rest := given &^ tried[id]; rest != 0 {
				next := topology.Relaxed(1) << (bits.Len64(uint64(rest)) - 1)
				tried[id], other.plain[id], some = tried[id]|next, given&^next, true
			}
		}
		if !some || !p.effort.Spare() {
			break
		}
		if again := p.solved(other); !s.serves(again) {
			s = again
		}
	}
	return s
}

// better places all pods in another way, as long as there is effort for that, and returns the
// better one of the two plans.
func (p *planning) better(s *solver, other variant) *solver {
	if !p.effort.Spare() {
		return s
	}
	return better(s, p.solved(other))
}

// better returns the other plan if it serves more or costs less than s, and s if not.
func better(s, other *solver) *solver {
	if other.serves(s) || other.cheaper(s) {
		return other
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
func (p *planning) solved(v variant) *solver {
	p.effort.Again()
	s := p.begun(v)
	s.rounds(s.Classes(), nil)
	if s.unjust() {
		s = p.begun(v) // the limits do not allow all: the important ones first
		s.byPriority(s.Classes())
	}
	s.placeOthers(v)
	if s.Uses(assign.BalancedZones) {
		balanceZones(s.Assignment)
	}
	s.confirm()
	return s
}

// begun returns a solver that has placed nothing but what is reserved.
func (p *planning) begun(v variant) *solver {
	s := p.newSolver()
	s.made = v
	if v.patterns {
		s.purchasing.UsePatternsUnderLimits()
	}
	s.GiveUp(v.plain)
	s.Hurry(v.urgent)
	s.placing.Zones, s.placing.Gather, s.placing.Uneven = v.zones, v.gather, v.uneven
	s.placing.PlaceReserved()
	s.placeFirst(v)
	return s
}

// byPriority places the classes one priority after the other.
func (s *solver) byPriority(all []*assign.Class) {
	for len(all) > 0 {
		end := slices.IndexFunc(all, func(c *assign.Class) bool { return c.Template.Priority != all[0].Template.Priority })
		if end < 0 {
			end = len(all)
		}
		s.rounds(all[:end], all[end:])
		all = all[end:]
	}
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

// fewPreferences are so few that it takes little work to find out which of them nothing meets.
const fewPreferences = 8

// giveUpInVain gives up the preferences of a class that nothing meets. If it did so only after a round, its pods would not
// be beside others on the machines that are bought in the first one.
func (s *solver) giveUpInVain(c *assign.Class) {
	if c.Level.Relaxed == c.Everything() || len(c.Preferences) > fewPreferences || s.placing.MayServe(c, c.Level) {
		return
	}
	may := func(l assign.Level) bool { return s.placing.MayServe(c, l) }
	if l, ok := c.Next(c.Level, may); ok && may(l) {
		c.Level = l
	}
}

// rounds places the classes level by level until all have a place or have given up
// everything that they can. Those whose turn comes later may be followed already.
func (s *solver) rounds(classes, later []*assign.Class) {
	open := slices.DeleteFunc(slices.Clone(classes), func(c *assign.Class) bool { return c.Open() == 0 || c.Missing.Missed() })
	for _, c := range open {
		s.giveUpInVain(c)
	}
	for len(open) > 0 {
		groups := s.placing.PlaceAll(slices.DeleteFunc(slices.Clone(open), func(c *assign.Class) bool { return !c.Urgent }))
		groups = append(groups, s.placing.Bundle(open, later)...)
		s.purchasing.BuyAll(append(groups, s.placing.PlaceAll(open)...))
		var next []*assign.Class
		for _, c := range open {
			if c.Open() == 0 {
				continue
			}
			if s.Exhausted(c) {
				if s.Relent(c) {
					next = append(next, c)
				}
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
