package purchase

import (
	"cmp"
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/colgen"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

const (
	// closeEnough is the share by which a cost may be above what is proven, so
	// that looking further is not worth the time.
	closeEnough = 3e-3
	// solvedGap is the distance from its bound at which an LP solution is good enough.
	solvedGap = 1e-3
	// mostSolved bounds the pod groups, together with nodes: the linear program's effort grows with their square.
	mostSolved = 400
	// alwaysSolved is how many pod groups are so few that the linear program is always solved, because it takes
	// little time: on 100 draws of 100 pods with mixed selectors, prices are 0.6 % lower with it.
	alwaysSolved = 100
	// operationsPerTrial is about how many operations of an LP solution take as long as to
	// fill a machine on trial.
	operationsPerTrial = 5000
	// leastTurn is for how many trials the search and the program take turns at least.
	leastTurn = 1000
	// maxDives bounds how often an LP solution is looked for, each time for what is left.
	maxDives = 16
	// nearlyWhole is the fraction of a machine in the LP solution from which a whole machine is bought. leastPart is
	// that fraction if nothing else is left to buy.
	nearlyWhole, leastPart = 0.7, 0.2
	// wholeEnough makes up for what rounding has taken off a whole number.
	wholeEnough = 1e-6
)

// patternsPay reports whether it is worth while to look for an LP solution of machines. As many
// of its machines as there are pod groups may be parts, in each region, so that with much
// fewer machines than that hardly any whole ones are left.
func patternsPay(b *bought, regions int) bool {
	groups := len(b.of.asked)
	return groups <= alwaysSolved || groups <= mostSolved && 2*len(b.machines) >= groups*regions
}

// program is the linear program over what machines may hold.
type program struct {
	*request
	*colgen.Generation
	rows limitRows
	cut  bool // there was no time to solve it
}

// newProgram states the program. It starts from what has been bought otherwise and from a guess
// at the value of items.
func newProgram(other *bought, guess []float64) *program {
	r := other.of
	rows := r.limitRows()
	known := float64(other.cost) + float64(r.leave()*float64(other.unmet()))
	return &program{request: r, rows: rows, Generation: colgen.New(colgen.Program{
		Items: r.items(), Kinds: append(r.kinds(rows), r.nodeKinds(len(rows))...), Limits: rows.left(nothingBought(r)),
		Leave: r.leave(), Start: other.patterns(), Guess: guess,
		Slack: solvedGap * known, Target: known,
	})}
}

// buy buys the whole machines of the cheapest LP solution and solves the program again for the remaining items, until
// a solution has no whole machines. Nodes for which nothing was decided keep what they held, as far as those items
// remain.
func (p *program) buy() *bought {
	b := nothingBought(p.request)
	p.cut = false
	for range maxDives {
		solution := p.Solve(p.making * operationsPerTrial)
		p.spend(&p.making, solution.Spent/operationsPerTrial)
		if !solution.Close {
			p.cut = len(b.machines) == 0
			b.buyCut(solution)
			break
		}
		if !b.buyWhole(solution) && !b.buyMost(solution) {
			break
		}
		p.Recount(b.left, p.rows.left(b))
	}
	for node, h := range p.nodes {
		b.fillNode(node, h.items)
	}
	return b
}

// improve returns what the program buys, with machines for what that leaves, or b where that is
// no better.
func (p *program) improve(b *bought) *bought {
	other := p.buy()
	if other.buyGreedily(p.usualOrder()); other.better(b) {
		return other
	}
	return b
}

// inTurns lets the search and the program improve a purchase in turns, as long as there was no
// time to solve the program, trials are left, and the gap to what is proven is worth them. Each
// starts from what the other has found. The search finds most of what it can find at once, and
// the program needs time.
func (p *program) inTurns(b *bought, least float64, d duals) *bought {
	for p.cut && p.searches > leastTurn && float64(b.cost) > least*(1+searchGap) {
		rest := p.searches
		p.searches /= 3
		rest -= p.searches
		b = search(b, least, d)
		p.making = (rest + p.searches) * 2 / 3
		p.searches += rest - p.making
		p.Learn(b.patterns())
		b = p.improve(b)
		p.searches, p.making = p.searches+p.making, 0
	}
	return b
}

// buyWhole buys the patterns of an LP solution as often as whole machines of them are used,
// and once more where so much of another is. It reports whether it bought any.
func (b *bought) buyWhole(s colgen.Solution) bool {
	some := false
	for _, i := range byPart(s) {
		if n := int64(s.Times[i] + 1 - nearlyWhole); n > 0 && b.buyPattern(s.Patterns[i], n) {
			some = true
		}
	}
	return some
}

// buyCut buys the machines of an LP solution that there was no time to make good: whole ones
// first, then those of the largest parts. Its patterns have more of some items than
// there are: of what has run out there is less on whole machines.
func (b *bought) buyCut(s colgen.Solution) {
	order := byPart(s)
	for _, i := range order {
		b.buyReduced(s.Patterns[i], int64(s.Times[i]+wholeEnough))
	}
	for _, i := range order {
		if s.Times[i]-math.Floor(s.Times[i]+wholeEnough) >= leastPart {
			b.buyPattern(s.Patterns[i], 1)
		}
	}
}

// buyReduced buys machines of the pattern, with what is left of its items.
func (b *bought) buyReduced(p colgen.Pattern, n int64) {
	if node := p.Kind - len(b.of.candidates); node >= 0 && n > 0 {
		b.fillNode(node, b.of.itemsOf(p))
		return
	}
	for n > 0 {
		m := b.filledBy(p)
		if len(m.Items) == 0 {
			return
		}
		b.of.Shrink(m, b.affords)
		if !b.affords(&b.of.Offerings[m.Offering]) {
			return
		}
		n -= b.buy(m, n)
	}
}

// buyMost buys the one machine of which most is used.
func (b *bought) buyMost(s colgen.Solution) bool {
	for _, i := range byPart(s) {
		if s.Times[i] < leastPart {
			return false
		}
		if b.buyPattern(s.Patterns[i], 1) {
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
func (b *bought) buyPattern(p colgen.Pattern, n int64) bool {
	if node := p.Kind - len(b.of.candidates); node >= 0 {
		lacks := func(part colgen.Part) bool { return part.N > b.left[part.Item] }
		return !slices.ContainsFunc(p.Parts, lacks) && b.fillNode(node, b.of.itemsOf(p))
	}
	n = b.limits.Affords(&b.of.Offerings[b.of.candidates[p.Kind]], n)
	for _, part := range p.Parts {
		n = min(n, b.left[part.Item]/part.N)
	}
	if n == 0 {
		return false
	}
	b.buy(b.filledBy(p), n)
	return true
}

// filledBy returns a machine with what is left of a pattern's items.
func (b *bought) filledBy(p colgen.Pattern) *assign.Machine {
	m := b.of.NewMachine(b.of.candidates[p.Kind])
	for _, it := range b.of.itemsOf(p) {
		b.of.AddUpTo(m, it.Group, min(it.N, b.left[it.Group.Index]))
	}
	return m
}

// itemsOf returns the items of a pattern.
func (r *request) itemsOf(p colgen.Pattern) []assign.Items {
	out := make([]assign.Items, len(p.Parts))
	for i, part := range p.Parts {
		out[i] = assign.Items{Group: r.asked[part.Item], N: part.N}
	}
	return out
}

// patternOf states items on a kind.
func patternOf(kind int, items []assign.Items) colgen.Pattern {
	p := colgen.Pattern{Kind: kind}
	for _, it := range items {
		p.Parts = append(p.Parts, colgen.Part{Item: it.Group.Index, N: it.N})
	}
	slices.SortFunc(p.Parts, func(a, b colgen.Part) int { return cmp.Compare(a.Item, b.Item) })
	return p
}

// items states what is asked for.
func (r *request) items() []colgen.Item {
	out := make([]colgen.Item, len(r.asked))
	for i, g := range r.asked {
		var none topology.NodeCounts
		out[i] = colgen.Item{Need: g.Need, Count: g.N, Most: none.Room(g.PerNode, g.N)}
	}
	return out
}

// kinds states the candidates, and what they use up of limits.
func (r *request) kinds(limits limitRows) []colgen.MachineKind {
	masks := make([]model.Bitset, len(r.asked))
	for i, g := range r.asked {
		masks[i] = g.Mask
	}
	out := r.kindsOf(r.candidates, masks)
	for j, k := range r.candidates {
		for _, row := range limits {
			n := int64(0)
			if o := &r.Offerings[k]; o.Pool == row.pool {
				n = o.Capacity[row.resource]
			}
			out[j].Uses = append(out[j].Uses, n)
		}
	}
	return out
}

// limitRows are the limits of a linear program.
type limitRows []struct{ pool, resource int }

// limitRows lists the limits that candidates use up.
func (r *request) limitRows() limitRows {
	var out limitRows
	for _, p := range r.pools {
		for resource, left := range r.limits[p.Number] {
			uses := func(k int) bool { return r.Offerings[k].Pool == p.Number && r.Offerings[k].Capacity[resource] > 0 }
			if left < model.Plenty/2 && slices.ContainsFunc(r.candidates, uses) {
				out = append(out, struct{ pool, resource int }{p.Number, resource})
			}
		}
	}
	return out
}

// left returns what a purchase leaves of the limits, and then of each node: one, or nothing.
func (l limitRows) left(b *bought) []int64 {
	out := make([]int64, len(l)+len(b.onNodes))
	for i, row := range l {
		out[i] = max(0, b.limits[row.pool][row.resource])
	}
	for node, items := range b.onNodes {
		if items == nil {
			out[len(l)+node] = 1
		}
	}
	return out
}

// leave is what leaving an item over is taken to cost: more than any machine, so that as few as
// possible are left over under limits.
func (r *request) leave() float64 {
	most := int64(0)
	for _, k := range r.candidates {
		most = max(most, r.Offerings[k].Cost)
	}
	return float64(most)
}

// patterns states what was bought.
func (b *bought) patterns() []colgen.Pattern {
	at := make(map[int]int, len(b.of.candidates))
	for j, k := range b.of.candidates {
		at[k] = j
	}
	var out []colgen.Pattern
	for i, m := range b.machines {
		j, ok := at[m.Offering]
		if !ok || i > 0 && m == b.machines[i-1] {
			continue
		}
		out = append(out, patternOf(j, m.Items))
	}
	for node := range b.of.nodes {
		out = append(out, patternOf(len(b.of.candidates)+node, b.onNode(node)))
	}
	return out
}
