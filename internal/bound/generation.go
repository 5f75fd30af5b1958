package bound

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bitset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/knapsack"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/lp"
)

// generation solves the linear program over patterns by column generation (Gilmore and
// Gomory 1961). Its rows are the pods of each class, the shares of domains, what may be spent by tier,
// what pools are used for at least and at most, and the nodes of each sort, in this order.
type generation struct {
	problem *Problem
	kinds   []*kind // those to be bought, then nodes
	nodes   int     // the place of the first node among the kinds
	demand  []float64
	scaled  int  // rows before those of limits and nodes
	limits  int  // rows of limits after these
	limited bool // any row is one of a limit or of what may be spent
	master  *lp.Covering
	known   map[string]bool // columns of the master
	search  knapsack.Search
	effort  int // operations left

	bound    float64
	centre   []float64 // prices that prove it
	order    []int
	ratio    []float64   // by kind: the most that a content can be worth for the cost
	patience int         // steps of a search
	divided  bool        // pods may be
	matter   bitset.Set  // kinds of the program over divided pods
	alone    []lp.Column // to begin with, one for each row
	planned  []lp.Column // machines of the plan
}

const (
	// trust is the weight of the prices that prove the best bound, see run.
	trust = 0.5
	// widest is for how many kinds contents of whole pods are searched for at a time.
	widest = 24
	// hasty, longer and longest say how many steps a search takes: few at first, and so
	// many times more when nothing is found any more.
	hasty, longer, longest = 256, 8, 1 << 17
	// roughly is how far from the optimum, as a share, the program over divided pods is first
	// solved. kindsAtOnce is how many kinds are added to it at a time.
	roughly, kindsAtOnce = 0.02, 24
	// wholePart of the operations, one in so many, may be for whole pods.
	wholePart = 20
	// mostIdle is how many rounds in a row may improve neither the bound nor the cost by idlePart of the slack before
	// the search ends.
	mostIdle = 12
	idlePart = 1.0 / 16
)

func sortedKeys[V any](m map[int]V) []int { return slices.Sorted(maps.Keys(m)) }

// run solves the program first as if pods could be divided, so that one machine may hold
// half of one, and then with whole ones, beginning with the prices that the first program
// comes to. It returns the bound. Patterns with whole pods have to be searched for, and
// their program does not come to its end where there are many classes.
//
// Worth, over the prices of what classes need together: 2.1 % on families-600, 3.0 % on
// families-100; whole pods alone proved 0.03 and 0.1 % there with half of the effort.
func (g *generation) run(values []float64) float64 {
	g.divided = true
	prices := make([]float64, len(g.demand))
	copy(prices, values)
	g.generate(prices)
	unused := 0
	if prices = g.dividedPrices(); prices != nil {
		unused = max(0, g.effort-g.problem.Operations/wholePart)
	}
	g.effort -= unused
	if g.divided = false; g.effort > 0 && !g.close(float64(g.problem.Price)) {
		g.converge()
	}
	g.effort += unused
	return g.bound
}

// dividedPrices returns prices that prove nearly the most where pods may be divided, with cuts
// if that does not take too long, or without; nothing where both does. Of the machines, few
// matter: the program is first solved roughly and without cuts, to find those.
//
// Worth, over one program with all kinds: 14 and 16 % on worlds 767055014 and 767055059, where
// that was too long to begin with. Where it was not, it takes less than half of the operations.
func (g *generation) dividedPrices() []float64 {
	rough := g.priceDivided(false, roughly)
	for _, cuts := range []bool{true, false} {
		if prices := g.priceDivided(cuts, near/2); prices != nil {
			return prices
		}
	}
	return rough
}

// priceDivided solves the program over divided pods for the kinds that matter, until contents
// of no other kind turn out to be worth more than they cost, and returns the last prices.
func (g *generation) priceDivided(cuts bool, gap float64) (prices []float64) {
	for {
		program := &lp.Divided{Demand: g.demand, Alone: g.alone, Price: float64(g.problem.Price), Start: g.centre}
		for i := range g.matter.All {
			rows := g.kinds[i].holds.Plain
			if cuts {
				rows = g.kinds[i].holds.Rows
			}
			program.Kinds = append(program.Kinds, g.kinds[i].divided(rows))
		}
		next, spent := program.Prices(gap, g.effort)
		if g.effort -= spent; next == nil {
			return prices
		}
		prices = next
		g.generate(prices)
		more := false
		for _, at := range g.order[:min(kindsAtOnce, g.nodes)] {
			if g.ratio[at] > 1+near && !g.matter.Has(at) {
				g.matter.Add(at)
				more = true
			}
		}
		if !more {
			return prices
		}
	}
}

// slack is how far below the price or the least cost a bound is near enough.
func (g *generation) slack() float64 { return float64(near * float64(g.problem.Price)) }

func (g *generation) close(cost float64) bool { return cost <= g.bound+g.slack() }

// converge adds patterns and solves in turns until the bound is close to the price or to
// the least cost, or the operations are used up. Machines are filled not for the program's
// dual prices, which jump about while patterns are missing, but for a point between them
// and the prices of the best bound (Wentges 1997).
func (g *generation) converge() {
	between, idle, cost := slices.Clone(g.centre), 0, math.Inf(1)
	g.generate(between)
	for g.effort > 0 && !g.close(float64(g.problem.Price)) && idle < mostIdle {
		g.effort = g.master.Optimise(g.effort, 8)
		reached := g.master.Cost()
		if g.close(reached) {
			return
		}
		for i, w := range g.master.Dual {
			between[i] = float64(trust*g.centre[i]) + float64((1-trust)*max(0, w))
		}
		before := g.bound
		if !g.generate(between) {
			for i, w := range g.master.Dual {
				between[i] = max(0, w)
			}
			if !g.generate(between) {
				if g.patience *= longer; g.patience > longest {
					return
				}
			}
		}
		least := float64(g.slack() * idlePart)
		if idle++; g.bound > before+least || reached < cost-least {
			idle, cost = 0, reached
		}
	}
}

// generate adds for each kind the pattern that is worth most, if it is worth more than it
// costs, and reports whether there is any. What contents can be worth at most gives a
// bound.
func (g *generation) generate(prices []float64) bool {
	var found bool
	most := g.fillMachines(prices, &found)
	asked, held, values := 0.0, 0.0, make([]float64, len(g.kinds)-g.nodes)
	for i, w := range prices[:g.scaled] {
		asked += float64(w * g.demand[i])
	}
	for i, k := range g.kinds[g.nodes:] {
		values[i] = g.fillNode(k, prices, &found)
		held += float64(values[i] * k.count)
	}
	// Where nodes hold nearly everything, little is left of the difference but rounding.
	total := float64(asked*lp.Safety) - held
	if most <= 0 || total <= 0 {
		return found
	}
	bound := total / most
	for i := g.scaled; i < g.scaled+g.limits; i++ {
		bound += float64(prices[i] * g.demand[i])
	}
	if bound > g.bound {
		g.bound = bound
		for i, w := range prices {
			g.centre[i] = w / most
		}
		copy(g.centre[g.scaled:], prices[g.scaled:g.scaled+g.limits])
		for i, k := range g.kinds[g.nodes:] {
			g.centre[k.node] = values[i] / most
		}
	}
	return found
}

// fillMachines returns the most that a content of a machine is worth for its cost.
func (g *generation) fillMachines(prices []float64, found *bool) float64 {
	order := g.order[:g.nodes]
	for i, k := range g.kinds[:g.nodes] {
		cost, earned := k.cost(prices)
		value, operations := k.ceiling(prices, cost-earned)
		order[i], g.ratio[i] = i, (value+earned)/cost
		g.effort -= operations
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(g.ratio[b], g.ratio[a]) })
	most, enough := 0.0, 1+lp.Tolerance
	for i, at := range order {
		if g.ratio[at] <= max(enough, most) && (g.ratio[at] <= enough || i >= widest) || i >= 2*widest || g.divided {
			return max(most, g.ratio[at])
		}
		k := g.kinds[at]
		cost, earned := k.cost(prices)
		most = max(most, (g.fill(k, float64(cost*enough)-earned, found)+earned)/cost)
	}
	return most
}

// fillNode returns the most that a content of a node is worth.
func (g *generation) fillNode(k *kind, prices []float64, found *bool) float64 {
	value, operations := k.ceiling(prices, prices[k.node])
	g.effort -= operations
	if least := prices[k.node] * (1 + lp.Tolerance); value > least && !g.divided {
		return g.fill(k, least, found)
	}
	return value
}

// fill looks for a content that is worth more than least, adds it, and returns what no
// content is worth more than.
func (g *generation) fill(k *kind, least float64, found *bool) float64 {
	before := g.search.Operations
	value := g.search.Run(k.holds, least, g.patience)
	g.effort -= g.search.Operations - before
	if g.search.Found && g.add(k.column(whole(g.search.Content))) {
		*found = true
	}
	return max(value, 0)
}

// add makes a pattern known, unless it is already.
func (g *generation) add(c lp.Column) bool {
	key := identity(c)
	if g.known[key] {
		return false
	}
	g.known[key] = true
	g.master.Add(c)
	return true
}

func identity(c lp.Column) string {
	key := binary.LittleEndian.AppendUint64(make([]byte, 0, 8*(2*len(c.Entries)+1)), math.Float64bits(c.Cost))
	for _, e := range c.Entries {
		key = binary.LittleEndian.AppendUint64(key, uint64(e.Row))
		key = binary.LittleEndian.AppendUint64(key, math.Float64bits(e.N))
	}
	return string(key)
}
