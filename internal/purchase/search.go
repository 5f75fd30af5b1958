package purchase

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/buy"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
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
	// the search: two thirds of all trials were for nothing then. Fewer do where there is
	// less than idlePerGap for each to be gained.
	leastGained, idlePerGap, mostIdle = 1e-3, 0.02, 3
	// trustInDuals is the weight of the duals of the LP solution beside the prices of
	// resources, which are too low for what leaves machines badly filled. On seven rows
	// and worlds 0.5 leaves up to 1.3 % less than 0, and never more; 1 leaves 1 % more on
	// families-600, where the LP has not been solved to the end.
	trustInDuals = 0.5
)

// search looks for a cheaper purchase of what has been bought, as long as trials are left and the gap to what is
// proven is worth it.
func (c *purchase) search(least float64, guess duals) {
	enough := least * (1 + searchGap)
	if !c.s.Uses(assign.Search) || len(c.bought) == 0 || float64(c.cost) <= enough {
		return
	}
	p := c.newProblem(guess)
	search, idle := buy.New(&p.Problem, p.bought()), 0.0
	for cycle := firstCycle; c.s.searches > 0 && float64(search.Cost()) > enough; cycle += cycle / 2 {
		cost := search.Cost()
		trials := min(cycle, c.s.searches)
		c.s.searches -= (search.Cycle(trials*stepsPerTrial, cycle*stepsPerTrial, enough) + stepsPerTrial - 1) / stepsPerTrial
		if idle++; float64(cost-search.Cost()) >= leastGained*float64(cost) {
			idle = 0
		}
		if gap := float64(search.Cost())/least - 1; !c.s.patient && (idle >= mostIdle || idle*idlePerGap > gap) {
			break
		}
	}
	if search.Cost() < c.cost {
		p.carryOut(search.Best())
	}
}

// searchProblem states a purchase for the search.
type searchProblem struct {
	buy.Problem
	*purchase
	offerings []int           // of the offerings
	items     []int           // pod groups
	machine   *assign.Machine // that rules are asked about
}

func (c *purchase) newProblem(guess duals) *searchProblem {
	p := &searchProblem{purchase: c, offerings: slices.Clone(c.candidates)}
	for _, i := range c.sorted {
		if c.left[i] < c.groups[i].N {
			p.items = append(p.items, i)
		}
	}
	for _, m := range c.bought {
		if !slices.Contains(p.offerings, m.Offering) {
			p.offerings = append(p.offerings, m.Offering)
		}
	}
	for _, k := range p.offerings {
		col := &c.s.Offerings[k]
		o := buy.Offering{Room: col.Room, Cost: col.Price + c.nodeCost(), Limit: -1}
		if c.before[col.Pool] != nil {
			o.Limit, o.Uses = col.Pool, col.Capacity
		}
		p.Offerings = append(p.Offerings, o)
	}
	p.Limits = c.before
	p.addItems(guess)
	p.Rules, p.machine = p, c.s.NewMachine(p.offerings[0])
	return p
}

// addItems states the pod groups. Those that may be on the same offerings are of one kind, and
// so are those that could if there were room for them.
func (p *searchProblem) addItems(guess duals) {
	var kinds []model.Bitset
	for _, i := range p.items {
		l := p.groups[i]
		on := model.NewBitset(len(p.offerings))
		for j, k := range p.offerings {
			if l.Mask.Has(k) || l.Opt.Offerings.Has(k) && !model.Fits(l.Need, p.s.Offerings[k].Room) {
				on.Add(j)
			}
		}
		kind := slices.IndexFunc(kinds, func(of model.Bitset) bool { return slices.Equal(of, on) })
		if kind < 0 {
			kind = len(kinds)
			kinds = append(kinds, on)
			p.Kinds = append(p.Kinds, slices.Collect(on.All))
		}
		it := buy.Item{Need: l.Need, Count: l.N - p.left[i], Kind: kind, Worth: guess.value[i], Price: guess.unit[i], Tied: p.tied(l)}
		if p.duals != nil && p.s.Uses(assign.SearchDuals) {
			it.Worth = float64((1-trustInDuals)*it.Worth) + float64(trustInDuals*p.duals[i])
		}
		p.Items = append(p.Items, it)
	}
}

// tied reports whether it depends on what else is on a machine whether the pod group may be there.
func (p *searchProblem) tied(l *assign.PodGroup) bool {
	return len(l.Host) > 0 || slices.ContainsFunc(p.pools, func(of *model.Pool) bool {
		return l.Opt.Residual[of.Number] != of.Residual && model.AnyIn(l.Mask, of.Offerings)
	})
}

// Begin empties the machine that is asked about.
func (p *searchProblem) Begin(offering int) { p.s.Reset(p.machine, p.offerings[offering]) }

// Admits returns how many loads may join those that are on the machine.
func (p *searchProblem) Admits(item int, n int64) int64 {
	n, _ = p.s.Admit(p.machine, p.groups[p.items[item]], n)
	return n
}

// Add puts loads on the machine.
func (p *searchProblem) Add(item int, n int64) {
	l := p.groups[p.items[item]]
	_, residual := p.s.Admit(p.machine, l, n)
	p.machine.Add(l, n, residual)
}

// bought states what the purchase has bought.
func (p *searchProblem) bought() []buy.Machine {
	at := make([]int, len(p.groups))
	for i, group := range p.items {
		at[group] = i
	}
	out := make([]buy.Machine, len(p.purchase.bought))
	for i, m := range p.purchase.bought {
		out[i].Offering = slices.Index(p.offerings, m.Offering)
		for _, it := range m.Items {
			out[i].Parts = append(out[i].Parts, buy.Part{Item: at[it.Group.Index], N: it.N})
		}
	}
	return out
}

// carryOut makes the purchase buy these machines.
func (p *searchProblem) carryOut(machines []buy.Machine) {
	c := p.purchase
	c.bought, c.cost, c.budget = nil, 0, c.before.Clone()
	for _, of := range machines {
		m := c.s.NewMachine(p.offerings[of.Offering])
		for _, part := range of.Parts {
			l := c.groups[p.items[part.Item]]
			_, residual := c.s.Admit(m, l, part.N)
			m.Add(l, part.N, residual)
		}
		c.budget.Spend(&c.s.Offerings[m.Offering], 1)
		c.cost += c.costOf(m)
		c.bought = append(c.bought, m)
	}
}
