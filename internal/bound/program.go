package bound

import (
	"slices"
	"strconv"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bitset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/lp"
)

// newGeneration states the program.
func newGeneration(p *Problem, offerings []int) *generation {
	g := &generation{problem: p, known: map[string]bool{}, effort: p.Operations, patience: hasty}
	for _, c := range p.Classes {
		g.demand = append(g.demand, float64(c.Count))
	}
	also := g.addShares()
	spent := g.addSpending()
	fixed := g.addLimits()
	for _, o := range offerings {
		g.kinds = append(g.kinds, g.machine(o, also, spent, fixed))
	}
	g.nodes = len(g.kinds)
	g.addNodes(also)
	g.centre, g.order, g.ratio = make([]float64, len(g.demand)), make([]int, len(g.kinds)), make([]float64, len(g.kinds))
	g.matter = bitset.New(len(g.kinds))
	for i := g.nodes; i < len(g.kinds); i++ {
		g.matter.Add(i)
	}
	g.findAlone()
	for _, c := range p.Start {
		g.planned = append(g.planned, g.plannedOn(&c, also, spent, fixed))
		if i := slices.Index(offerings, c.Offering); i >= 0 {
			g.matter.Add(i)
		}
	}
	g.begin()
	return g
}

// rowsOf returns what a pod of a class has in rows besides its own in domains.
type rowsOf func(class int, domains []int) []lp.Entry

// addShares adds the rows of shares.
func (g *generation) addShares() rowsOf {
	first := len(g.demand)
	byClass := make([][]int, len(g.problem.Classes))
	for i, s := range g.problem.Shares {
		g.demand = append(g.demand, float64(s.Least))
		for _, c := range s.Classes {
			byClass[c] = append(byClass[c], i)
		}
	}
	return func(class int, domains []int) (rows []lp.Entry) {
		for _, i := range byClass[class] {
			if s := &g.problem.Shares[i]; domains[s.Key] == s.Domain {
				rows = append(rows, lp.Entry{Row: first + i, N: 1})
			}
		}
		return rows
	}
}

// spentOn returns what a machine of an offering takes of what may be spent, and what a pod of a class
// on it adds to that.
type spentOn func(offering int) (takes []lp.Entry, adds func(class int) []lp.Entry)

// addSpending adds the rows of what may be spent on the machines of tiers.
func (g *generation) addSpending() spentOn {
	p := g.problem
	rows, scale := make([]int, len(p.Spending)), make([]float64, len(p.Spending))
	counted := map[int]int{} // rows of all pods of a class
	for i := range p.Spending {
		s := &p.Spending[i]
		if rows[i] = -1; s.Most+p.mayAdd(s) == 0 {
			continue
		}
		// A demand of next to nothing would be lost in rounding.
		rows[i], scale[i] = len(g.demand), float64(max(s.Most, p.Price))
		g.demand = append(g.demand, -max(float64(s.Most)/scale[i], near))
		g.limited = true
		for _, f := range s.Funds {
			if _, ok := counted[f.Class]; !ok {
				counted[f.Class] = len(g.demand)
				g.demand = append(g.demand, -float64(p.Classes[f.Class].Count))
			}
		}
	}
	return func(offering int) ([]lp.Entry, func(class int) []lp.Entry) {
		var takes []lp.Entry
		adds := map[int][]lp.Entry{}
		o := &p.Offerings[offering]
		for i := range p.Spending {
			s := &p.Spending[i]
			if rows[i] < 0 || o.Tier < s.Tier {
				continue
			}
			takes = append(takes, lp.Entry{Row: rows[i], N: -float64(o.Price) / scale[i]})
			for _, f := range s.Funds {
				if !p.Choices[f.Choice].Has(offering) {
					continue
				}
				if len(adds[f.Class]) == 0 {
					adds[f.Class] = append(adds[f.Class], lp.Entry{Row: counted[f.Class], N: -1})
				}
				adds[f.Class] = append(adds[f.Class], lp.Entry{Row: rows[i], N: float64(f.Price) / scale[i]})
			}
		}
		return takes, func(class int) []lp.Entry { return adds[class] }
	}
}

// mayAdd returns how much funds add to what may be spent at most.
func (p *Problem) mayAdd(s *Spending) (sum int64) {
	for _, f := range s.Funds {
		sum += f.Price * p.Classes[f.Class].Count
	}
	return sum
}

// entriesOf returns what a machine of an offering has in rows of limits, whatever is on it.
type entriesOf func(o *Offering) (has, takes []lp.Entry)

// addLimits adds the rows of what pools are used for at least, and then at most.
func (g *generation) addLimits() entriesOf {
	limits := g.problem.Limits
	least, most := make([]int, len(limits)), make([]int, len(limits))
	for i, l := range limits {
		if least[i] = -1; l.Least > 0 {
			least[i] = len(g.demand)
			g.demand = append(g.demand, 1)
		}
	}
	g.scaled = len(g.demand)
	for i, l := range limits {
		if most[i] = -1; l.Most > 0 {
			most[i] = len(g.demand)
			g.demand = append(g.demand, -1)
			g.limits++
			g.limited = true
		}
	}
	return func(o *Offering) (has, takes []lp.Entry) {
		for i, l := range limits {
			n := 0.0
			if o.Pool == l.Pool {
				n = float64(o.Capacity[l.Resource])
			}
			if n > 0 && least[i] >= 0 {
				has = append(has, lp.Entry{Row: least[i], N: n / float64(l.Least)})
			}
			if n > 0 && most[i] >= 0 {
				takes = append(takes, lp.Entry{Row: most[i], N: -n / float64(l.Most)})
			}
		}
		return has, takes
	}
}

// machine returns the kind of an offering.
func (g *generation) machine(o int, also rowsOf, spent spentOn, fixed entriesOf) *kind {
	p := g.problem
	of := &p.Offerings[o]
	var items []item
	takes, adds := spent(o)
	for i := range p.Classes {
		if c := &p.Classes[i]; p.Choices[c.Choice].Has(o) {
			items = append(items, item{i, c.Most, append(also(i, of.Domains), adds(i)...)})
		}
	}
	groups := make([]int64, len(p.Groups))
	for i := range groups {
		groups[i] = p.Groups[i].Most
	}
	k := newKind(p, of.Room, items, groups)
	k.price = float64(of.Price)
	k.fixed, k.takes = fixed(of)
	k.fixed = append(takes, k.fixed...)
	return k
}

// addNodes adds a kind and a row for the nodes of each sort.
func (g *generation) addNodes(also rowsOf) {
	p := g.problem
	known := map[string]*kind{}
	var key []byte
	for i := range p.Nodes {
		n := &p.Nodes[i]
		key = key[:0]
		for _, list := range [][]int64{n.Room, n.Holds, n.Groups} {
			for _, v := range list {
				key = append(strconv.AppendInt(key, v, 36), ' ')
			}
		}
		for _, d := range n.Domains {
			key = append(strconv.AppendInt(key, int64(d), 36), ' ')
		}
		if k := known[string(key)]; k != nil {
			if k.count++; k.node >= 0 {
				g.demand[k.node]--
			}
			continue
		}
		var items []item
		for c, most := range n.Holds {
			if most > 0 {
				items = append(items, item{c, most, also(c, n.Domains)})
			}
		}
		k := newKind(p, n.Room, items, n.Groups)
		known[string(key)] = k
		if len(k.items) == 0 {
			continue
		}
		k.node, k.count = len(g.demand), 1
		k.takes = []lp.Entry{{Row: k.node, N: -1}}
		g.demand = append(g.demand, -1)
		g.kinds = append(g.kinds, k)
	}
}

// findAlone finds columns that the program can begin with. Where there are limits, a
// class alone costs several times as much as its best machine, since no limit is counted.
func (g *generation) findAlone() {
	times := 1.0
	if g.limited {
		times = beyondLimits
	}
	alone, cheapest := make([]lp.Column, len(g.demand)), make([]int, len(g.demand))
	dearest := 1.0
	for i, k := range g.kinds[:g.nodes] {
		dearest = max(dearest, k.price)
		for _, e := range k.fixed {
			offer(&alone[e.Row], e, k.price)
		}
		for _, it := range k.items {
			if offer(&alone[it.class], lp.Entry{Row: it.class, N: float64(it.most)}, float64(times*k.price)) {
				cheapest[it.class] = i
			}
			for _, e := range it.also {
				offer(&alone[e.Row], lp.Entry{Row: e.Row, N: float64(float64(it.most) * e.N)}, float64(beyondLimits*k.price))
			}
		}
	}
	for i, asked := range g.demand[:g.scaled] {
		if asked < 0 {
			alone[i] = lp.Column{}
		} else if len(alone[i].Entries) == 0 {
			alone[i] = lp.Column{Entries: []lp.Entry{{Row: i, N: 1}}, Cost: float64(beyondLimits * dearest)}
		} else if i < len(g.problem.Classes) {
			g.matter.Add(cheapest[i])
		}
	}
	g.alone = alone
}

// begin forgets all contents but those of the plan.
func (g *generation) begin() {
	g.master, g.known = lp.NewCovering(g.demand), map[string]bool{}
	g.master.Start(g.alone)
	for _, c := range g.planned {
		g.add(c)
	}
}

// beyondLimits is the factor by which a starting column that ignores the limits costs more than the best machine for
// it, so that it is only used if nothing else is possible.
const beyondLimits = 8

// offer makes a column of one entry, and reports whether it is the cheapest yet.
func offer(c *lp.Column, e lp.Entry, cost float64) bool {
	better := e.N > 0 && (len(c.Entries) == 0 || cost/e.N < c.Cost/c.Entries[0].N)
	if better {
		*c = lp.Column{Entries: []lp.Entry{e}, Cost: cost}
	}
	return better
}

// plannedOn states what a plan has on a machine.
func (g *generation) plannedOn(c *Content, also rowsOf, spent spentOn, fixed entriesOf) lp.Column {
	k := &kind{}
	o := &g.problem.Offerings[c.Offering]
	takes, adds := spent(c.Offering)
	k.price = float64(o.Price)
	k.fixed, k.takes = fixed(o)
	k.fixed = append(takes, k.fixed...)
	content := make([]int64, 0, len(c.Parts))
	for _, part := range c.Parts {
		k.items = append(k.items, item{class: part.Class, also: append(also(part.Class, o.Domains), adds(part.Class)...)})
		content = append(content, part.N)
	}
	return k.column(whole(content))
}

// whole tells a content of whole pods.
func whole(content []int64) func(item int) float64 {
	return func(item int) float64 { return float64(content[item]) }
}

// undominated lists the offerings to be looked at. It leaves out an offering if another one is
// as cheap, as large, in the same domains and for at least the same classes. Comparisons are
// operations: once they have taken their part, everything that is left is looked at.
func undominated(p *Problem) (out []int, spent int) {
	order := p.byPrice()
	limited := map[int]bool{}
	for _, l := range p.Limits {
		limited[l.Pool] = true
	}
	choices := p.choicesOf()
	byDomains := map[string]*frontier{}
	var key []byte
	for _, k := range order {
		o := &p.Offerings[k]
		if choices[k] == nil {
			continue
		}
		key = key[:0]
		for _, d := range o.Domains {
			key = strconv.AppendInt(append(key, ' '), int64(d), 10)
		}
		if len(p.Spending) > 0 {
			key = strconv.AppendInt(append(key, '+'), int64(o.Tier), 10)
		}
		if limited[o.Pool] {
			key = strconv.AppendInt(append(key, '/'), int64(o.Pool), 10)
		}
		f := byDomains[string(key)]
		if f == nil {
			f = &frontier{at: map[string]int{}}
			byDomains[string(key)] = f
		}
		beats := func(j int) bool {
			by := &p.Offerings[j]
			return atLeast(by.Room, o.Room) && (!limited[o.Pool] || slices.Equal(by.Capacity, o.Capacity))
		}
		own := f.familyOf(choices[k])
		if spent < p.Operations/comparedPart {
			beaten, took := f.beaten(own, beats)
			if spent += took; beaten {
				continue
			}
		}
		own.offerings = append(own.offerings, k)
		out = append(out, k)
	}
	return out, spent
}

// comparedPart of the operations, one in so many, may be for comparing offerings.
const comparedPart = 8

// frontier has offerings in the same domains of which none is better than another.
type frontier struct {
	families []*family
	at       map[string]int // by their choices
}

// family are those that have the same choices. What several pools sell is often of one family, and few others have
// all of its choices.
type family struct {
	choices   bitset.Set
	offerings []int
}

func (f *frontier) familyOf(choices bitset.Set) *family {
	key := string(choices.AppendKey(nil))
	i, known := f.at[key]
	if !known {
		i = len(f.families)
		f.at[key], f.families = i, append(f.families, &family{choices: choices})
	}
	return f.families[i]
}

// beaten reports whether one of the offerings that have at least the choices of a family is better, and how many operations
// it took to find out.
func (f *frontier) beaten(own *family, better func(int) bool) (beaten bool, spent int) {
	of := func(by *family) bool {
		return slices.ContainsFunc(by.offerings, func(j int) bool { spent += operationsToCompare; return better(j) })
	}
	beaten = of(own) || slices.ContainsFunc(f.families, func(by *family) bool {
		spent += operationsToCompare
		return by != own && own.choices.SubsetOf(by.choices) && of(by)
	})
	return beaten, spent
}

// operationsToCompare is how many operations it takes to compare two offerings, or the choices of two families.
const operationsToCompare = 8

// byPrice lists the offerings that can be afforded, the cheapest first.
func (p *Problem) byPrice() []int {
	order, spending := make([]int, 0, len(p.Offerings)), make([]int64, 0, len(p.Spending))
	for i := range p.Spending {
		spending = append(spending, p.Spending[i].Most+p.mayAdd(&p.Spending[i]))
	}
	for k := range p.Offerings {
		if p.affordable(&p.Offerings[k], spending) {
			order = append(order, k)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(p.Offerings[a].Price - p.Offerings[b].Price) })
	return order
}

// affordable reports whether limits and what may be spent allow at least one machine. The argument is what each of
// Spending allows at most, with its funds.
func (p *Problem) affordable(o *Offering, spending []int64) bool {
	for i, most := range spending {
		if o.Tier >= p.Spending[i].Tier && o.Price > most {
			return false
		}
	}
	return !slices.ContainsFunc(p.Limits, func(l Limit) bool {
		return l.Pool == o.Pool && l.Most >= 0 && o.Capacity[l.Resource] > l.Most
	})
}

// choicesOf returns, by offering, the choices that have it as a set; nil for none.
func (p *Problem) choicesOf() []bitset.Set {
	out := make([]bitset.Set, len(p.Offerings))
	for i, c := range p.Choices {
		for k := range p.Offerings {
			if !c.Has(k) {
				continue
			}
			if out[k] == nil {
				out[k] = bitset.New(len(p.Choices))
			}
			out[k].Add(i)
		}
	}
	return out
}

func atLeast(a, b []int64) bool {
	for r, v := range b {
		if a[r] < v {
			return false
		}
	}
	return true
}
