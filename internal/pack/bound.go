package pack

import (
	"math"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
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
// worth, where f·(need[c]·y) ≥ u[c] for every class. Here y solves the dual of
// the resource relaxation, and y[t] is y scaled so that equality holds.
//
// The second gives each class any worth u[c] and finds, for each column, an upper
// bound v on the worth that one machine can hold (see ceiling). With λ the largest
// v/price, a machine costs at least 1/λ of what it holds, so all cost at least
// Σ u[c]/λ. It is used where no node that exists could take some of the pods.
//
// The third: some machine holds the pod that is dearest to hold, unless a node
// that exists may have taken it.
func (s *solver) lowerBound() offer.Price {
	classes := s.boundClasses()
	if len(classes) == 0 || len(s.machines) == 0 {
		return 0
	}
	bound := s.singleBound(classes)
	if bound >= s.price() {
		return offer.Price(bound)
	}
	byResource, worth := s.resourceBound(classes)
	return offer.Price(math.Floor(max(0, byResource, bound, s.patternBound(classes, worth))))
}

// placedClass is a number of pods of a class that have a place, and the columns
// that could have been bought for them.
type placedClass struct {
	class *class
	n     int64
	mask  bitset
}

// price is that of the machines together.
func (s *solver) price() float64 {
	sum := int64(0)
	for _, m := range s.machines {
		sum += s.columns[m.column].price
	}
	return float64(sum)
}

// boundClasses lists the classes with pods that have a place. The domain that a
// pod was planned in was our choice, so the columns of all domains count.
func (s *solver) boundClasses() []placedClass {
	type key struct {
		class *class
		level int
	}
	at := map[key]int{}
	var out []placedClass
	add := func(c *class, level int, n int64, l *lot) {
		k := key{c, level}
		i, ok := at[k]
		if !ok {
			var mask bitset
			if l != nil && len(l.parts) == 1 && l.at == nil {
				mask = l.mask
			} else {
				requires, honour := c.requires(level)
				mask = s.fitting(c.need, c.host, c.devices, s.optionsFor(requires, c.template.Tolerations, c.tolerates, honour))
			}
			i = len(out)
			at[k] = i
			out = append(out, placedClass{class: c, mask: mask})
		}
		out[i].n += n
	}
	for _, m := range s.machines {
		for _, it := range m.placed {
			add(it.class, it.level, it.n, it.lot)
		}
	}
	for _, p := range s.onNodes {
		add(p.class, p.level, p.n, nil)
	}
	return out
}

// resourceBound also returns the worth of a pod of each class.
func (s *solver) resourceBound(classes []placedClass) (float64, []float64) {
	worth := make([]float64, len(classes))
	d := newDemand(len(s.space.names))
	usable := newBitset(len(s.columns))
	for _, c := range classes {
		d.add(c.class.need, c.n)
		for i := range usable {
			usable[i] |= c.mask[i]
		}
	}
	var columns []int
	for k := range usable.all {
		columns = append(columns, k)
	}
	if len(columns) == 0 {
		return 0, worth
	}
	y := s.worthOf(d, columns, 0)
	scale := make([]float64, len(s.columns))
	for _, k := range columns {
		scale[k] = math.Inf(1) // nothing of worth fits
		if w := d.worthOfRoom(s.columns[k].room, y); w > 0 {
			scale[k] = float64(s.columns[k].price) / w
		}
	}
	sum, factor := 0.0, 0.0
	for i, c := range classes {
		least := math.Inf(1)
		for k := range c.mask.all {
			least = min(least, scale[k])
		}
		if math.IsInf(least, 1) {
			continue // it can be on nodes that exist only
		}
		worth[i] = float64(least * worthOfVector(c.class.need, y))
		sum += float64(float64(c.n) * worth[i])
		factor = max(factor, least)
	}
	for _, n := range s.roomBefore {
		sum -= float64(factor * worthOfVector(n, y))
	}
	return sum * safety, worth
}

// maxPatternClasses bounds the effort of patternBound.
const maxPatternClasses = 128

func (s *solver) patternBound(classes []placedClass, worth []float64) float64 {
	if len(s.roomBefore) > 0 || len(classes) > maxPatternClasses {
		return 0
	}
	single := s.singleWorth(classes)
	both := make([]float64, len(classes))
	for i := range both {
		both[i] = (single[i] + worth[i]) / 2
	}
	lots := s.columnGroups(classes)
	best := 0.0
	for _, u := range [][]float64{worth, single, both} {
		best = max(best, s.boundByWorth(classes, u, lots))
	}
	return best
}

// singleWorth is what a pod of each class costs on machines of its own.
func (s *solver) singleWorth(classes []placedClass) []float64 {
	out := make([]float64, len(classes))
	for i, c := range classes {
		out[i] = math.Inf(1)
		for k := range c.mask.all {
			col := &s.columns[k]
			if n := copies(c.class.need, col.room, plenty); n > 0 {
				out[i] = min(out[i], float64(col.price)/float64(n))
			}
		}
		if math.IsInf(out[i], 1) {
			out[i] = 0
		}
	}
	return out
}

// columnGroup stands for all columns of one shape that allow the same classes.
type columnGroup struct {
	column  int // the cheapest
	classes []int
}

func (s *solver) columnGroups(classes []placedClass) []columnGroup {
	type identity struct {
		shape   int
		classes string
	}
	at := map[identity]int{}
	var out []columnGroup
	key := make([]byte, len(classes))
	for k := range s.columns {
		var able []int
		for i, c := range classes {
			key[i] = 0
			if c.mask.has(k) {
				key[i] = 1
				able = append(able, i)
			}
		}
		if len(able) == 0 {
			continue
		}
		id := identity{s.columns[k].shape, string(key)}
		if i, ok := at[id]; !ok {
			at[id] = len(out)
			out = append(out, columnGroup{k, able})
		} else if s.columns[k].price < s.columns[out[i].column].price {
			out[i].column = k
		}
	}
	return out
}

func (s *solver) boundByWorth(classes []placedClass, worth []float64, groups []columnGroup) float64 {
	most := 0.0
	for _, g := range groups {
		col := &s.columns[g.column]
		target := make([]float64, len(g.classes))
		var need [][]float64
		var room []float64
		for r, v := range col.room {
			row, some := make([]float64, len(g.classes)), false
			for j, i := range g.classes {
				if n := classes[i].class.need[r]; n > 0 {
					row[j], some = float64(n)/float64(v), true
				}
			}
			if some {
				need, room = append(need, row), append(room, 1)
			}
		}
		for j, i := range g.classes {
			target[j] = worth[i] / float64(col.price)
		}
		most = max(most, ceiling(target, need, room))
	}
	total := 0.0
	for i, c := range classes {
		total += float64(float64(c.n) * worth[i])
	}
	if most == 0 || math.IsInf(most, 1) {
		return 0
	}
	return total / most * safety
}

func (s *solver) singleBound(classes []placedClass) float64 {
	if len(s.roomBefore) > 0 {
		return 0
	}
	bound := int64(0)
	for _, c := range classes {
		if cheapest := s.cheapest(c.mask); cheapest < math.MaxInt64 {
			bound = max(bound, cheapest)
		}
	}
	return float64(bound)
}
