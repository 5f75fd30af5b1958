// Package colgen finds the cheapest mix of machines for counted items when parts
// of machines may be bought: the linear program over patterns, solved by column
// generation (Gilmore and Gomory 1961, with several kinds of machines and several
// resources). A pattern is one way to fill a machine of a kind. The program's
// solution says which patterns to use how often, and its dual a price for each
// item, from which follows a bound that no integer solution can undercut.
package colgen

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/knapsack"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/lp"
)

// Item is a number of equal items that all need a place.
type Item struct {
	Need  []int64 // of each resource, at least one of which is above 0
	Count int64   // at least 1
	Most  int64   // of them on one machine; at least 1
}

// MachineKind is a kind of machine that can be bought any number of times.
type MachineKind struct {
	Room  []int64
	Cost  int64   // above 0
	Items []int   // indices of the items that it may hold, ascending, each of which fits
	Uses  []int64 // of each limit; nothing where there are none
}

// Pattern is one way to fill a machine.
type Pattern struct {
	Kind  int
	Parts []Part
}

// Part is a number of equal items.
type Part struct {
	Item int
	N    int64
}

// Program is what is to be solved.
type Program struct {
	// Items each fit some kind.
	Items []Item
	Kinds []MachineKind
	// Limits are how much all machines may use up together. Where there are any, items
	// may be left over, for as much each as Leave says. That counts as cost.
	Limits []int64
	Leave  float64
	// Start are patterns to begin with; there may be none.
	Start []Pattern
	// Guess at what each item is worth; there may be none.
	Guess []float64
	// Slack is by how much the solution may cost more than the bound.
	Slack float64
	// Target is a cost that can be reached; a bound within the slack of it is enough.
	Target float64
}

// Solution of the linear program.
type Solution struct {
	Patterns []Pattern
	// Times is how often each pattern is used, above 0.
	Times []float64
	// Close says that it was solved as far as was asked for: there was time enough.
	Close bool
	// Spent operations.
	Spent int
}

const (
	// trustInBound is the weight of the best bound's prices, see run. Where there are limits it
	// is 0: a price of a limit that is far from the dual hides contents that would be of use.
	// Worlds 1901000051 and 1901000063 cost 361 and 483 $/h with 0.5, and 354 and 479 with 0.
	trustInBound = 0.5
	// widest is for how many kinds contents are searched for at a time; for more where
	// these are searched in haste and none has a use.
	widest = 24
	// leastRaise is the part of the slack by which a bound has to rise to count.
	leastRaise = 1.0 / 8
	// hasty, longer and longest say how many steps a search takes: few at first, and so
	// many times more when nothing is found any more.
	hasty, longer, longest = 256, 8, 1 << 15
)

// Generation solves a program, and again when there is less to be bought.
type Generation struct {
	Program
	master   *lp.Covering
	patterns []Pattern // by column of the master
	fillers  []*filler // by kind; nothing until they are asked
	search   knapsack.Search
	known    map[string]bool // patterns in the master
	effort   int             // operations left

	scale    []float64 // by limit: what its row is stated in
	bound    float64   // on the cost of machines that hold all items, or leave some over where there are limits
	centre   []float64 // prices of the rows that prove it: no content is worth more than it costs
	order    []int     // kinds, the most promising first
	ratio    []float64 // by kind: the most that a content can be worth for the cost
	patience int       // how long contents are searched for
}

// New prepares to solve the program.
func New(p Program) *Generation {
	p.Items = slices.Clone(p.Items)
	g := &Generation{Program: p, centre: make([]float64, len(p.Items)+len(p.Limits)),
		order: make([]int, len(p.Kinds)), ratio: make([]float64, len(p.Kinds)), patience: hasty}
	for _, l := range p.Limits {
		g.scale = append(g.scale, float64(max(1, l)))
	}
	g.begin(p.Start)
	if p.Guess != nil {
		g.generate(append(slices.Clone(p.Guess), make([]float64, len(p.Limits))...))
	}
	return g
}

// Recount sets how many items, and how much of the limits, are left. What is known of
// patterns and prices stays, less items of which there are fewer left than a pattern has; what
// can be reached does not.
func (g *Generation) Recount(left, limits []int64) {
	g.Target = math.Inf(1)
	for i, n := range left {
		g.Items[i].Count = n
	}
	copy(g.Limits, limits)
	g.bound = g.worth(g.centre)
	g.begin(g.patterns)
}

// begin forgets all patterns but these, of which machines hold no more than is left.
func (g *Generation) begin(patterns []Pattern) {
	g.master, g.patterns, g.known = lp.NewCovering(g.demand()), nil, map[string]bool{}
	g.fillers = make([]*filler, len(g.Kinds))
	g.start()
	g.Learn(patterns)
}

// Learn adds patterns that were found elsewhere, less items of which there are none left.
func (g *Generation) Learn(patterns []Pattern) {
	for _, p := range patterns {
		if p = g.left(p); p.Kind != leftOver && len(p.Parts) > 0 {
			g.add(p)
		}
	}
}

// left returns the pattern with no more of its items than there are.
func (g *Generation) left(p Pattern) Pattern {
	out := Pattern{Kind: p.Kind}
	for _, part := range p.Parts {
		if n := min(part.N, g.Items[part.Item].Count); n > 0 {
			out.Parts = append(out.Parts, Part{part.Item, n})
		}
	}
	return out
}

// demand states the rows: how many of each item are to be covered, and how much of each limit
// may be used up, as a demand below 0.
func (g *Generation) demand() []float64 {
	var out []float64
	for i := range g.Items {
		out = append(out, float64(g.Items[i].Count))
	}
	for l, most := range g.Limits {
		out = append(out, -float64(most)/g.scale[l])
	}
	return out
}

// worth is what the rows are worth at these prices, less what rounding may have added.
func (g *Generation) worth(prices []float64) float64 {
	items, limits := 0.0, 0.0
	for row, d := range g.demand() {
		if d > 0 {
			items += float64(prices[row] * d)
		} else {
			limits -= float64(prices[row] * d)
		}
	}
	return float64(items*lp.Safety) - limits/lp.Safety
}

// start begins with machines that hold one kind of item each, or leaves all items over
// where limits may not allow these.
func (g *Generation) start() {
	alone := g.alone()
	if len(g.Limits) > 0 {
		for i, p := range alone {
			if len(p.Parts) > 0 {
				g.add(p)
				alone[i] = Pattern{Kind: leftOver, Parts: []Part{{i, 1}}}
			}
		}
	}
	columns := make([]lp.Column, len(g.Items)+len(g.Limits))
	for i, p := range alone {
		if len(p.Parts) > 0 {
			columns[i] = g.columnOf(p)
			g.patterns, g.known[identity(p)] = append(g.patterns, p), true
		}
	}
	g.master.Start(columns)
}

// leftOver stands for no machine.
const leftOver = -1

// columnOf states a pattern in the master's terms.
func (g *Generation) columnOf(p Pattern) lp.Column {
	out := lp.Column{Entries: make([]lp.Entry, len(p.Parts)), Cost: g.Leave}
	for i, part := range p.Parts {
		out.Entries[i] = lp.Entry{Row: part.Item, N: float64(part.N)}
	}
	if p.Kind == leftOver {
		return out
	}
	kind := &g.Kinds[p.Kind]
	out.Cost = float64(kind.Cost)
	for l, n := range kind.Uses {
		if n > 0 {
			out.Entries = append(out.Entries, lp.Entry{Row: len(g.Items) + l, N: -float64(n) / g.scale[l]})
		}
	}
	return out
}

// alone returns for each item the pattern that holds nothing else at the least cost
// each.
func (g *Generation) alone() []Pattern {
	out, least := make([]Pattern, len(g.Items)), make([]float64, len(g.Items))
	for k := range g.Kinds {
		kind := &g.Kinds[k]
		for _, i := range kind.Items {
			l := &g.Items[i]
			n := amount.Copies(l.Need, kind.Room, min(l.Count, l.Most))
			if each := float64(kind.Cost) / float64(n); n > 0 && (least[i] == 0 || each < least[i]) {
				out[i], least[i] = Pattern{Kind: k, Parts: []Part{{i, n}}}, each
			}
		}
	}
	return out
}

// Solve goes on from what is known. It returns the best solution that so many operations allow, of
// which a processor does roughly one in a nanosecond.
func (g *Generation) Solve(operations int) Solution {
	g.effort, g.patience = operations, hasty
	g.run()
	out := Solution{Spent: operations - g.effort, Close: g.effort > 0}
	for j, level := range g.master.Used {
		if g.patterns[j].Kind != leftOver {
			out.Patterns, out.Times = append(out.Patterns, g.patterns[j]), append(out.Times, level)
		}
	}
	return out
}

// run adds patterns and solves in turns until the solution is close to the bound, no
// pattern is worth more than it costs, or the operations are used up. Machines are
// filled not for the program's dual prices, which jump about while patterns are missing, but
// for a point between them and the prices of the best bound (Wentges 1997). A
// pattern that is worth more than it costs there is so by the dual prices too;
// where there is none, the point gives a better bound.
func (g *Generation) run() {
	between, trust := make([]float64, g.master.Rows()), trustInBound
	if len(g.Limits) > 0 {
		trust = 0
	}
	for g.effort > 0 && g.Target > g.bound+g.Slack {
		g.effort = g.master.Optimise(g.effort, 4)
		if g.master.Cost() <= g.bound+g.Slack {
			return
		}
		for i, w := range g.master.Dual {
			between[i] = float64(trust*g.centre[i]) + float64((1-trust)*max(0, w))
		}
		before := g.bound
		if found := g.generate(between); found || g.bound > before+float64(g.Slack*leastRaise) {
			continue
		}
		if g.patience *= longer; g.patience > longest {
			return
		}
	}
}

// generate adds for each kind the pattern that is worth most, if it is worth more
// than it costs, and reports whether there is any. The prices are those of the items, and
// after them those of the limits, which are part of what a machine costs. What machines can
// be worth at most gives a bound.
func (g *Generation) generate(prices []float64) bool {
	for k := range g.Kinds {
		f := g.filler(k)
		f.cost = g.charged(k, prices[len(g.Items):])
		ceiling, operations := f.ceiling(prices)
		g.order[k], g.ratio[k] = k, ceiling/f.cost
		g.effort -= operations
	}
	slices.SortStableFunc(g.order, func(a, b int) int { return cmp.Compare(g.ratio[b], g.ratio[a]) })
	most, found := 0.0, false
	for i, k := range g.order {
		if g.ratio[k] <= 1+lp.Tolerance || i >= widest && (found || g.patience > hasty) {
			most = max(most, g.ratio[k])
			break
		}
		f, before := g.fillers[k], g.search.Operations
		most = max(most, g.search.Run(f.Knapsack, f.cost*(1+lp.Tolerance), g.patience)/f.cost)
		g.effort -= g.search.Operations - before
		if g.search.Found && g.add(Pattern{Kind: k, Parts: f.parts(g.search.Content)}) {
			found = true
		}
	}
	g.prove(prices, most)
	return found
}

// filler returns that of a kind.
func (g *Generation) filler(kind int) *filler {
	if g.fillers[kind] == nil {
		g.fillers[kind] = newFiller(g.Items, &g.Kinds[kind])
	}
	return g.fillers[kind]
}

// charged is what a kind costs at these prices of the limits' rows.
func (g *Generation) charged(kind int, prices []float64) float64 {
	cost := float64(g.Kinds[kind].Cost)
	for l, n := range g.Kinds[kind].Uses {
		cost += float64(prices[l] * (float64(n) / g.scale[l]))
	}
	return cost
}

// prove takes over the bound that the prices give where no content of a machine is worth more
// than so many times its cost, if it is a better one.
func (g *Generation) prove(prices []float64, most float64) {
	if len(g.Limits) > 0 {
		most = max(most, slices.Max(prices[:len(g.Items)])/g.Leave)
	}
	if most == 0 {
		return
	}
	proven := slices.Clone(prices)
	for i := range g.Items {
		proven[i] /= most
	}
	if bound := g.worth(proven); bound > g.bound {
		g.bound, g.centre = bound, proven
	}
}

// add makes a pattern known, unless it is already.
func (g *Generation) add(p Pattern) bool {
	key := identity(p)
	if g.known[key] {
		return false
	}
	g.known[key] = true
	g.master.Add(g.columnOf(p))
	g.patterns = append(g.patterns, p)
	return true
}

// identity is the same for equal patterns.
func identity(p Pattern) string {
	key := binary.AppendVarint(nil, int64(p.Kind))
	for _, part := range p.Parts {
		key = binary.AppendVarint(key, int64(part.Item))
		key = binary.AppendVarint(key, part.N)
	}
	return string(key)
}
