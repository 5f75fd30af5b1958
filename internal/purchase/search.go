package purchase

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/localsearch"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

const (
	// searchGap is the distance from what is proven that is close enough.
	searchGap = 5e-3
	// stepsPerTrial is how many steps of a search take as long as one trial.
	stepsPerTrial = 600
	// firstCycle is how many trials the first cycle takes. Each of the next is half as
	// long again.
	firstCycle = 1000
	// leastGained is the share of the cost that a cycle has to gain so as not to be idle.
	// Unless somebody has said how much time there is, mostIdle such cycles in a row end
	// the search. With three instead of five, 100 draws of 100 pods with mixed selectors cost
	// 0.24 % more. Without a bound, random worlds take twice as long for the same prices. Fewer
	// idle cycles end the search where there is less than idlePerGap for each to be gained.
	leastGained, idlePerGap, mostIdle = 1e-3, 0.02, 5
)

// search looks for a cheaper purchase of what has been bought, as long as trials are left and
// the gap to what is proven is worth it. It returns what has been bought where it finds none.
func search(b *bought, least float64, d duals) *bought {
	r := b.of
	if !r.Uses(assign.Search) || len(b.machines) == 0 || len(r.nodes) == 0 && float64(b.cost) <= least*(1+searchGap) {
		return b
	}
	p := newSearchProblem(b, d)
	for i := range p.Problem.Offerings {
		if o := &p.Problem.Offerings[i]; o.Node {
			least -= float64(o.Cost)
		}
	}
	enough := max(0, least) * (1 + searchGap)
	search, idle := localsearch.New(&p.Problem, p.state(b)), 0.0
	for cycle := firstCycle; r.searches > 0 && float64(search.Cost()) > enough; cycle += cycle / 2 {
		cost := search.Cost()
		trials := min(cycle, r.searches)
		r.spend(&r.searches, (search.Cycle(trials*stepsPerTrial, cycle*stepsPerTrial, enough)+stepsPerTrial-1)/stepsPerTrial)
		if idle++; float64(cost-search.Cost()) >= leastGained*float64(cost) {
			idle = 0
		}
		if gap := float64(search.Cost())/max(1, least) - 1; !r.patient && (idle >= mostIdle || idle*idlePerGap > gap) {
			break
		}
	}
	if search.Cost() < b.cost {
		return p.carriedOut(b, search.Best())
	}
	return b
}

// searchProblem states what has been bought for the search.
type searchProblem struct {
	localsearch.Problem
	*request
	offerings []int           // of the problem's offerings
	items     []int           // pod groups
	machine   *assign.Machine // that rules are asked about, or
	node      *held           // the node, with
	counts    topology.NodeCounts
}

func newSearchProblem(b *bought, d duals) *searchProblem {
	r := b.of
	p := &searchProblem{request: r, offerings: slices.Clone(r.candidates)}
	for _, i := range r.order {
		if b.left[i] < r.asked[i].N {
			p.items = append(p.items, i)
		}
	}
	for _, m := range b.machines {
		if !slices.Contains(p.offerings, m.Offering) {
			p.offerings = append(p.offerings, m.Offering)
		}
	}
	for _, k := range p.offerings {
		of := &r.Offerings[k]
		o := localsearch.Offering{Room: of.Room, Cost: of.Cost, Limit: -1}
		if r.limits[of.Pool] != nil {
			o.Limit, o.Uses = of.Pool, of.Capacity
		}
		p.Problem.Offerings = append(p.Problem.Offerings, o)
	}
	p.Limits = r.limits
	p.addItems(b, d)
	for _, h := range p.nodes {
		p.Problem.Offerings = append(p.Problem.Offerings, localsearch.Offering{Room: h.room, Cost: p.worth(h, p.items, d.value), Node: true, Limit: -1})
	}
	p.Rules, p.machine = p, r.NewMachine(p.offerings[0])
	return p
}

// addItems states the pod groups. Those that may be on the same offerings are of one kind, and
// so are those that could if there were room for them.
func (p *searchProblem) addItems(b *bought, d duals) {
	var kinds []model.Bitset
	for _, i := range p.items {
		g := p.asked[i]
		on := model.NewBitset(len(p.offerings) + len(p.nodes))
		for j, k := range p.offerings {
			if g.Mask.Has(k) || g.Opt.Offerings.Has(k) && !model.Fits(g.Need, p.request.Offerings[k].Room) {
				on.Add(j)
			}
		}
		for j, h := range p.nodes {
			if p.mayHold(h, g) {
				on.Add(len(p.offerings) + j)
			}
		}
		kind := slices.IndexFunc(kinds, func(of model.Bitset) bool { return slices.Equal(of, on) })
		if kind < 0 {
			kind = len(kinds)
			kinds = append(kinds, on)
			p.Kinds = append(p.Kinds, slices.Collect(on.All))
		}
		p.Items = append(p.Items, localsearch.Item{Need: g.Need, Count: g.N - b.left[i], Kind: kind, Value: d.value[i], Price: d.unit[i], Tied: p.tied(g), Ties: len(g.PerNode)})
	}
}

// tied reports whether it depends on what else is on a machine whether the pod group may be there.
func (p *searchProblem) tied(g *assign.PodGroup) bool {
	return len(g.PerNode) > 0 || slices.ContainsFunc(p.pools, func(of *model.Pool) bool {
		return g.Opt.Residual[of.Number] != of.Residual && g.Mask.AnyIn(of.Offerings)
	})
}

// Begin empties the machine or node that is asked about.
func (p *searchProblem) Begin(offering int) {
	if at := offering - len(p.offerings); at >= 0 {
		p.node = p.nodes[at]
		p.counts = append(p.counts[:0], p.node.counts...)
		return
	}
	p.node = nil
	p.Reset(p.machine, p.offerings[offering])
}

// Admits returns how many items may join those that are on the machine.
func (p *searchProblem) Admits(item int, n int64) int64 {
	if p.node != nil {
		return p.counts.Room(p.asked[p.items[item]].PerNode, n)
	}
	n, _ = p.Admit(p.machine, p.asked[p.items[item]], n)
	return n
}

// Add puts items on the machine that it admits.
func (p *searchProblem) Add(item int, n int64) {
	g := p.asked[p.items[item]]
	if p.node != nil {
		p.counts = p.counts.Plus(g.PerNode, n)
		return
	}
	residual, _ := p.Merge(p.machine.Residual, g.Opt.Residual[p.machine.Pool.Number])
	p.machine.Add(g, n, residual)
}

// state states what has been bought.
func (p *searchProblem) state(b *bought) []localsearch.Machine {
	at := make([]int, len(p.asked))
	for i, group := range p.items {
		at[group] = i
	}
	var out []localsearch.Machine
	for _, of := range b.machines {
		m := localsearch.Machine{Offering: slices.Index(p.offerings, of.Offering)}
		for _, it := range of.Items {
			m.Parts = append(m.Parts, localsearch.Part{Item: at[it.Group.Index], N: it.N})
		}
		out = append(out, m)
	}
	for j := range p.nodes {
		m := localsearch.Machine{Offering: len(p.offerings) + j}
		for _, it := range b.onNode(j) {
			m.Parts = append(m.Parts, localsearch.Part{Item: at[it.Group.Index], N: it.N})
		}
		out = append(out, m)
	}
	return out
}

// carriedOut returns the purchase of these machines for the items that b has bought for.
func (p *searchProblem) carriedOut(b *bought, machines []localsearch.Machine) *bought {
	out := &bought{of: p.request, left: b.left, limits: p.limits.Clone(), onNodes: make([][]assign.Items, len(p.nodes))}
	for _, of := range machines {
		if at := of.Offering - len(p.offerings); at >= 0 {
			for _, part := range of.Parts {
				out.onNodes[at] = append(out.onNodes[at], assign.Items{Group: p.asked[p.items[part.Item]], N: part.N})
			}
			continue
		}
		m := p.NewMachine(p.offerings[of.Offering])
		for _, part := range of.Parts {
			g := p.asked[p.items[part.Item]]
			_, residual := p.Admit(m, g, part.N)
			m.Add(g, part.N, residual)
		}
		out.limits.Spend(&p.request.Offerings[m.Offering], 1)
		out.cost += p.request.Offerings[m.Offering].Cost
		out.machines = append(out.machines, m)
	}
	return out
}
