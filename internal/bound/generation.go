package bound

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/lp"
)

// generation solves the linear program over patterns by column generation (Gilmore and
// Gomory 1961). Its rows are the pods of each class, the shares of domains, what pools
// are used for at least and at most, and the nodes of each sort, in this order.
type generation struct {
	problem *Problem
	kinds   []*kind // those to be bought, then nodes
	nodes   int     // the place of the first node among the kinds
	demand  []float64
	scaled  int // rows before those of limits and nodes
	limits  int // rows of limits after these
	master  *lp.Covering
	known   map[string]bool // columns of the master
	search  search
	effort  int // operations left

	bound    float64
	centre   []float64 // prices that prove it
	order    []int
	ratio    []float64 // by kind: the most that a content can be worth for the cost
	patience int       // steps of a search
}

const (
	// trust is the weight of the prices that prove the best bound, see run.
	trust = 0.5
	// widest is for how many kinds contents are searched for at a time.
	widest = 24
	// hasty, longer and longest say how many steps a search takes: few at first, and so
	// many times more when nothing is found any more.
	hasty, longer, longest = 256, 8, 1 << 17
	// operationsPerStep of a search.
	operationsPerStep = 24
	// mostIdle is how many rounds in a row may not raise the bound by a part of what is
	// near enough.
	mostIdle = 12
	idlePart = 1.0 / 16
)

func sortedKeys[V any](m map[int]V) []int { return slices.Sorted(maps.Keys(m)) }

// run adds patterns and solves in turns until the bound is close to the price or to the
// least cost, or the operations are used up, and returns the bound. Machines are filled
// not for the program's dual prices, which jump about while patterns are missing, but for
// a point between them and the prices of the best bound (Wentges 1997).
func (g *generation) run(worth []float64) float64 {
	slack := float64(near * float64(g.problem.Price))
	between, idle, cost := make([]float64, len(g.demand)), 0, math.Inf(1)
	copy(between, worth)
	g.generate(between)
	for g.effort > 0 && float64(g.problem.Price) > g.bound+slack && idle < mostIdle {
		g.optimise()
		reached := g.master.Cost()
		if reached <= g.bound+slack {
			break
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
					break
				}
			}
		}
		if idle++; g.bound > before+float64(slack*idlePart) || reached < cost-float64(slack*idlePart) {
			idle, cost = 0, reached
		}
	}
	return g.bound
}

// optimise solves the program over the patterns that are known.
func (g *generation) optimise() {
	for g.effort > 0 {
		j := g.master.Entering()
		if j == lp.None || !g.master.Pivot(j) {
			return
		}
		g.effort -= g.master.Rows()*g.master.Rows() + 8*g.master.Columns()
	}
}

// generate adds for each kind the pattern that is worth most, if it is worth more than it
// costs, and reports whether there is any. What contents can be worth at most gives a
// bound.
func (g *generation) generate(prices []float64) bool {
	var found bool
	most := g.fillMachines(prices, &found)
	total, values := 0.0, make([]float64, len(g.kinds)-g.nodes)
	for i, w := range prices[:g.scaled] {
		total += float64(w * g.demand[i])
	}
	for i, k := range g.kinds[g.nodes:] {
		values[i] = g.fillNode(k, prices, &found)
		total -= float64(values[i] * k.count)
	}
	if most <= 0 || total <= 0 {
		return found
	}
	bound := total / most * safety
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
		value, operations := k.ceiling(prices)
		cost, worth := k.cost(prices)
		order[i], g.ratio[i] = i, (value+worth)/cost
		g.effort -= operations
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(g.ratio[b], g.ratio[a]) })
	most, enough := 0.0, 1+lp.Tolerance
	for i, at := range order {
		if g.ratio[at] <= max(enough, most) && (g.ratio[at] <= enough || i >= widest) || i >= 2*widest {
			return max(most, g.ratio[at])
		}
		k := g.kinds[at]
		cost, worth := k.cost(prices)
		most = max(most, (g.fill(k, float64(cost*enough)-worth, found)+worth)/cost)
	}
	return most
}

// fillNode returns the most that a content of a node is worth.
func (g *generation) fillNode(k *kind, prices []float64, found *bool) float64 {
	value, operations := k.ceiling(prices)
	g.effort -= operations
	if least := prices[k.node] * (1 + lp.Tolerance); value > least {
		return max(0, g.fill(k, least, found))
	}
	return value
}

// fill looks for a content that is worth more than least, adds it, and returns what no
// content is worth more than.
func (g *generation) fill(k *kind, least float64, found *bool) float64 {
	if len(k.items) == 0 {
		return 0
	}
	g.search.begin(k)
	value := g.search.run(least, g.patience)
	g.effort -= g.search.used*operationsPerStep + 4*len(k.items)*(k.rows+4)
	if g.search.found && g.add(k.column(g.search.best)) {
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
	key := make([]byte, 0, 8*(2*len(c.Entries)+1))
	put := func(v uint64) {
		for range 8 {
			key = append(key, byte(v))
			v >>= 8
		}
	}
	put(math.Float64bits(c.Cost))
	for _, e := range c.Entries {
		put(uint64(e.Row))
		put(math.Float64bits(e.N))
	}
	return string(key)
}
