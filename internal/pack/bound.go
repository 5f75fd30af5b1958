package pack

import (
	"maps"
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/colgen"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// safety takes off what rounding could have added to the bound.
const safety = 1 - 1e-9

// lowerBound returns a price that no layout which places the same pods under the
// same requirements can undercut. It is the largest of three bounds.
//
// The first prices resources. For each column t take any vector y[t] ≥ 0 with
// room[t]·y[t] ≤ price[t], where room[t] is rounded down to what whole pods can
// use (see demand.grain), and for each class c let u[c] be the least of
// need[c]·y[t] over the columns that allow and hold c. A machine of column t
// costs at least room[t]·y[t], so at least Σ need[c]·y[t], so at least Σ u[c]
// over its pods. Summed over all machines: Σ u[c] over the pods that are not on
// nodes which exist. Of those pods no more fit on a node n than f·free[n]·y are
// worth, where f·(need[c]·y) ≥ u[c] for every class, and no more than if pods could
// be divided. Here y solves the dual of the resource relaxation, and y[t] is y
// scaled so that equality holds.
//
// The second is that of the linear program over patterns, which knows that pods
// cannot be divided (see package colgen). It is used where the first is not close
// to what the machines cost, and no node that exists could take some of the pods.
//
// The third counts machines (see countBound).
func (s *solver) lowerBound() offer.Price {
	classes := s.boundClasses()
	if len(classes) == 0 || len(s.machines) == 0 {
		return 0
	}
	price, bound := s.price(), s.countBound(classes)
	if bound < price {
		columns := s.boundColumns(classes)
		byResource, worth := s.resourceBound(classes, columns)
		bound = max(bound, byResource, s.apartBound(classes, columns))
		if price > bound*(1+boundEnough) {
			bound = max(bound, s.patternBound(classes, columns, worth))
		}
	}
	return offer.Price(math.Floor(bound))
}

// placedClass is a number of pods of a class that have a place, and the columns
// that could have been bought for them.
type placedClass struct {
	class *class
	level level
	n     int64
	opt   *model.Options
	mask  model.Bitset
	worth float64 // of a pod, where a mix of machines was looked for
}

// price is that of the machines together.
func (s *solver) price() float64 {
	sum := int64(0)
	for _, m := range s.machines {
		sum += s.Offerings[m.column].Price
	}
	return float64(sum)
}

// boundClasses lists the classes with pods that have a place. The domain that a
// pod was planned in was our choice, so the columns of all domains count.
func (s *solver) boundClasses() []placedClass {
	type key struct {
		class *class
		level level
	}
	at := map[key]int{}
	var out []placedClass
	add := func(c *class, level level, n int64, l *lot) *placedClass {
		k := key{c, level}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, s.placedClass(c, level, l))
		}
		out[i].n += n
		return &out[i]
	}
	for _, m := range s.machines {
		for _, it := range m.placed {
			if p := add(it.class, it.level, it.n, it.lot); !p.mask.Has(m.column) {
				// It took room that was left on a machine of a type that is not bought for it.
				requires, honour := it.class.requires(it.level)
				p.mask = s.fitting(it.class.Need, it.class.PerNode, true, s.OptionsFor(requires, it.class.Template.Tolerations, it.class.Tolerates, honour))
				p.mask.Add(m.column)
			}
		}
	}
	for _, p := range s.onNodes {
		add(p.class, p.level, p.n, nil)
	}
	return out
}

func (s *solver) placedClass(c *class, level level, l *lot) placedClass {
	out := placedClass{class: c, level: level}
	if l != nil && len(l.parts) == 1 {
		out.worth = l.worth
		if l.at == nil {
			out.opt, out.mask = l.opt, l.mask
			return out
		}
	}
	requires, honour := c.requires(level)
	out.opt = s.OptionsFor(requires, c.Template.Tolerations, c.Tolerates, honour)
	out.mask = s.fitting(c.Need, c.PerNode, c.devices, out.opt)
	return out
}

// boundColumns lists the columns that bounds depend on: others have no more room than
// cheaper ones, for the same classes.
func (s *solver) boundColumns(classes []placedClass) []int {
	wishes := make([]wish, len(classes))
	for i, c := range classes {
		wishes[i] = wish{c.opt, c.class.Need}
	}
	return s.rivals(wishes, s.Pools, make(budget, len(s.Pools)))
}

// resourceBound also returns the worth of a pod of each class.
func (s *solver) resourceBound(classes []placedClass, columns []int) (float64, []float64) {
	worth := make([]float64, len(classes))
	d := newDemand(len(s.Space.Names))
	for _, c := range classes {
		d.add(c.class.Need, c.n)
	}
	if len(columns) == 0 {
		return 0, worth
	}
	found := s.newPricing(columns, 0).ratesOf(d)
	sum, factor := 0.0, 0.0
	for i, c := range classes {
		least, ok := found.least(c.mask)
		if !ok {
			continue // it can be on nodes that exist only
		}
		worth[i] = float64(least * worthOfVector(c.class.Need, found.unit))
		sum += float64(float64(c.n) * worth[i])
		factor = max(factor, least)
	}
	return (sum - s.worthOnNodes(classes, worth, found.unit, factor)) * safety, worth
}

// apartBound is the bound by resources with classes that may be on different columns
// priced apart; what nodes that exist have room for is worth at most that room.
func (s *solver) apartBound(classes []placedClass, columns []int) float64 {
	list := make([]asked, len(classes))
	for i, c := range classes {
		list[i] = asked{c.class.Need, c.n, c.opt, c.mask}
	}
	found := s.priceApart(list, columns, 0)
	for _, room := range s.roomBefore {
		found.total -= found.onNode(room)
	}
	return found.total * safety
}

// worthOnNodes returns what pods of the classes on nodes that exist are worth at
// most.
func (s *solver) worthOnNodes(classes []placedClass, worth, y []float64, factor float64) float64 {
	loads := make([]colgen.Load, len(classes))
	for i, c := range classes {
		loads[i] = colgen.Load{Need: c.class.Need, Count: c.n, Most: c.n}
	}
	single, sum := colgen.NewSingle(loads), 0.0
	for _, room := range s.roomBefore {
		most := float64(factor * worthOfVector(room, y))
		if most > 0 && len(classes)*len(s.roomBefore) <= ceilingsAtMost {
			most = min(most, single.Ceiling(room, worth))
		}
		sum += most
	}
	return sum
}

// ceilingsAtMost bounds how many nodes times classes are looked at for what the
// nodes can hold.
const ceilingsAtMost = 4_000_000

func (s *solver) patternBound(classes []placedClass, columns []int, worth []float64) float64 {
	if len(s.roomBefore) > 0 || len(classes) > mixAtMost {
		return 0
	}
	masks, loads := make([]model.Bitset, len(classes)), make([]colgen.Load, len(classes))
	mixed := make([]float64, len(classes))
	for i, c := range classes {
		var none topology.NodeCounts
		masks[i] = c.mask
		loads[i] = colgen.Load{Need: c.class.Need, Count: c.n, Most: none.Room(c.class.PerNode, c.n)}
		mixed[i] = c.worth
	}
	kinds := s.kindsOf(columns, masks, 0)
	return colgen.Solve(colgen.Program{
		Loads: loads, Kinds: kinds, Start: s.boughtPatterns(classes, columns), Guesses: [][]float64{worth, mixed},
		Slack: boundGap * s.price(), Target: s.price(), Prove: true,
	}, boundOperations).Bound
}

const (
	// boundEnough is the distance of the plan from the bound by resources beyond
	// which that is likely to be weak, rather than the plan bad.
	boundEnough = 0.02
	// boundGap is the distance of the plan from its bound that is small enough.
	boundGap = 1e-3
	// boundOperations limits the effort for the bound.
	boundOperations = 60_000_000
)

// boughtPatterns states the machines as patterns of the classes.
func (s *solver) boughtPatterns(classes []placedClass, columns []int) []colgen.Pattern {
	type key struct {
		class *class
		level level
	}
	load, kind := map[key]int{}, map[int]int{}
	for i, c := range classes {
		load[key{c.class, c.level}] = i
	}
	for j, k := range columns {
		kind[k] = j
	}
	var out []colgen.Pattern
	for _, m := range s.machines {
		j, ok := kind[m.column]
		if !ok {
			continue
		}
		counts := map[int]int64{}
		for _, p := range m.placed {
			counts[load[key{p.class, p.level}]] += p.n
		}
		p := colgen.Pattern{Kind: j}
		for _, i := range slices.Sorted(maps.Keys(counts)) {
			p.Parts = append(p.Parts, colgen.Part{Load: i, N: counts[i]})
		}
		out = append(out, p)
	}
	return out
}
