package purchase

import (
	"cmp"
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/colgen"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/price"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

const (
	// closeEnough is the share by which a cost may be above what is proven, so
	// that looking further is not worth the time.
	closeEnough = 3e-3
	// nearEnough is the same where no better way than another greedy one is known.
	nearEnough = 1e-2
	// solvedGap is the distance from its bound at which an LP solution is good enough.
	solvedGap = 1e-3
	// mostSolved bounds the pod groups: the linear program's effort grows with their square.
	mostSolved = 400
	// operationsPerTrial is about how many operations of an LP solution take as long as to
	// fill a machine on trial.
	operationsPerTrial = 5000
	// maxDives bounds how often an LP solution is looked for, each time for what is left.
	maxDives = 16
	// Of a pattern of which so much of a machine is used, a whole one is bought.
	nearlyWhole, halfWhole = 0.7, 0.2
	// wholeEnough makes up for what rounding has taken off a whole number.
	wholeEnough = 1e-6
)

// patternsPay reports whether it is worth while to look for an LP solution of machines. As many
// of its machines as there are pod groups may be parts, in each region, so that with much
// fewer machines than that no whole ones are left.
func (c *purchase) patternsPay() bool {
	return 2*len(c.bought) >= len(c.groups)*c.regions && len(c.groups) <= mostSolved
}

// patternProgram buys by the linear program over what machines may hold.
type patternProgram struct{ *purchase }

// solve buys what the cheapest LP solution of parts of machines has of whole ones, and looks
// for the cheapest LP solution for the rest, as long as there are any. What is left over is
// for run to buy. It starts from what another purchase has bought.
func (c patternProgram) solve(other *purchase, guess []float64) {
	g := colgen.New(colgen.Program{
		Loads: c.loads(), Kinds: c.kinds(), Start: patternProgram{other}.patterns(), Guesses: [][]float64{guess},
		Slack: solvedGap * float64(other.cost), Target: float64(other.cost),
	})
	for times := range maxDives {
		solution := g.Solve(c.s.trials * operationsPerTrial)
		c.s.trials = max(0, c.s.trials-solution.Spent/operationsPerTrial)
		if times == 0 {
			c.duals = solution.Duals
		}
		if !solution.Close {
			c.buyCut(solution)
			return
		}
		if !c.buyWhole(solution, nearlyWhole) && !c.buyMost(solution) {
			return
		}
		g.Recount(c.left)
	}
}

// buyWhole buys the patterns of an LP solution as often as whole machines of them are used,
// and once more where so much of another is. It reports whether it bought any.
func (c patternProgram) buyWhole(s colgen.Solution, whole float64) bool {
	before := len(c.bought)
	for _, i := range byPart(s) {
		if n := int64(s.Times[i] + 1 - whole); n > 0 {
			c.buyPattern(s.Patterns[i], n)
		}
	}
	return len(c.bought) > before
}

// buyCut buys the machines of an LP solution that there was no time to make good: whole ones
// first, then those of the largest parts. Its patterns have more of some loads than
// there are: of what has run out there is less on whole machines.
func (c patternProgram) buyCut(s colgen.Solution) {
	order := byPart(s)
	for _, i := range order {
		c.buyReduced(s.Patterns[i], int64(s.Times[i]+wholeEnough))
	}
	for _, i := range order {
		if s.Times[i]-math.Floor(s.Times[i]+wholeEnough) >= halfWhole {
			c.buyPattern(s.Patterns[i], 1)
		}
	}
}

// buyReduced buys machines of the pattern, with what is left of its loads.
func (c patternProgram) buyReduced(p colgen.Pattern, n int64) {
	for n > 0 {
		m := c.filledBy(p)
		if len(m.Items) == 0 {
			return
		}
		c.s.Shrink(m, func(col *model.Offering) bool { return c.budget.Affords(col, 1) > 0 })
		if c.budget.Affords(&c.s.Offerings[m.Offering], 1) == 0 {
			return
		}
		before := len(c.bought)
		c.buy(m, n)
		n -= int64(len(c.bought) - before)
	}
}

// buyMost buys the one machine of which most is used.
func (c patternProgram) buyMost(s colgen.Solution) bool {
	for _, i := range byPart(s) {
		if s.Times[i] < halfWhole {
			return false
		}
		if c.buyPattern(s.Patterns[i], 1) {
			return true
		}
	}
	return false
}

// byPart lists the patterns of which the largest part of a machine is used first.
func byPart(s colgen.Solution) []int {
	order := make([]int, len(s.Patterns))
	for i := range order {
		order[i] = i
	}
	part := func(i int) float64 { return s.Times[i] - math.Floor(s.Times[i]) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(part(b), part(a)) })
	return order
}

// buyPattern buys machines of the pattern at most so often, as long as limits allow
// and everything that is on them is still to be bought for.
func (c patternProgram) buyPattern(p colgen.Pattern, n int64) bool {
	n = c.budget.Affords(&c.s.Offerings[c.candidates[p.Kind]], n)
	for _, part := range p.Parts {
		n = min(n, c.left[part.Load]/part.N)
	}
	if n == 0 {
		return false
	}
	c.buy(c.filledBy(p), n)
	return true
}

// filledBy returns a machine with what is left of a pattern's loads.
func (c patternProgram) filledBy(p colgen.Pattern) *assign.Machine {
	m := c.s.NewMachine(c.candidates[p.Kind])
	clear(c.taken)
	for _, part := range p.Parts {
		c.take(m, part.Load, part.N)
	}
	return m
}

// loads states what is left to be bought.
func (c patternProgram) loads() []colgen.Load {
	out := make([]colgen.Load, len(c.groups))
	for i, l := range c.groups {
		var none topology.NodeCounts
		out[i] = colgen.Load{Need: l.Need, Count: c.left[i], Most: none.Room(l.Host, c.left[i])}
	}
	return out
}

// kinds states the candidates.
func (c patternProgram) kinds() []colgen.Kind {
	masks := make([]model.Bitset, len(c.groups))
	for i, l := range c.groups {
		masks[i] = l.Mask
	}
	return c.s.kindsOf(c.candidates, masks, c.nodeCost())
}

// patterns states what was bought.
func (c patternProgram) patterns() []colgen.Pattern {
	at := make(map[int]int, len(c.candidates))
	for j, k := range c.candidates {
		at[k] = j
	}
	var out []colgen.Pattern
	for i, m := range c.bought {
		j, ok := at[m.Offering]
		if !ok || i > 0 && m == c.bought[i-1] {
			continue
		}
		p := colgen.Pattern{Kind: j}
		for _, it := range m.Items {
			p.Parts = append(p.Parts, colgen.Part{Load: it.Group.Index, N: it.N})
		}
		slices.SortFunc(p.Parts, func(a, b colgen.Part) int { return cmp.Compare(a.Load, b.Load) })
		out = append(out, p)
	}
	return out
}

// duals are what a load of each pod group is worth, and a unit of each resource to it.
type duals struct {
	value []float64
	unit  [][]float64
}

// guess prices the resources by the relaxation that lets parts of machines be
// bought, for each offering so that its whole room is worth what it costs. It also
// returns what all loads are worth by their needs then: nothing that holds them costs
// less.
func (c *purchase) guess() (out duals, total float64) {
	d := price.NewDemand(len(c.s.Space.Names))
	for i, l := range c.groups {
		d.Add(l.Need, c.left[i])
	}
	found := c.pricing.Price(d)
	out = duals{value: make([]float64, len(c.groups)), unit: make([][]float64, len(c.groups))}
	list := make([]price.Ask, len(c.groups))
	for i, l := range c.groups {
		list[i] = price.Ask{Need: l.Need, Count: c.left[i], Options: l.Opt, Mask: l.Mask}
		out.unit[i] = make([]float64, len(found.Dual))
		if least, ok := found.Least(l.Mask); ok {
			for r, v := range found.Dual {
				out.unit[i][r] = float64(least * v)
			}
			out.value[i] = price.Value(l.Need, out.unit[i])
			total += float64(out.value[i] * float64(c.left[i]))
		}
	}
	if len(c.masks) > 1 && c.s.Uses(assign.PriceApart) {
		if found := price.Apart(c.s.Supply, list, c.candidates, c.nodeCost()); found.Total > total*(1+solvedGap) {
			for i, group := range found.Of {
				out.unit[i] = found.Dual[group]
			}
			out.value = found.Value
			return out, found.Total
		}
	}
	return out, total
}
