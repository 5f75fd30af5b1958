package pack

import (
	"math"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// safety takes off what rounding could have added to the bound.
const safety = 1 - 1e-9

// lowerBound returns a price that no layout which places the same pods under the
// same requirements can undercut. It is the larger of two bounds.
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
// The second: some machine holds the pod that is dearest to hold, unless a node
// that exists may have taken it.
func (s *solver) lowerBound() offer.Price {
	classes := s.boundClasses()
	if len(classes) == 0 || len(s.machines) == 0 {
		return 0
	}
	return offer.Price(math.Floor(max(0, s.resourceBound(classes), s.singleBound(classes))))
}

// placedClass is a number of pods of a class that have a place, and the columns
// that could have been bought for them.
type placedClass struct {
	class *class
	n     int64
	mask  bitset
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
	add := func(c *class, level int, n int64) {
		k := key{c, level}
		i, ok := at[k]
		if !ok {
			requires, honour := c.requires(level)
			mask := s.fitting(c.need, c.host, c.devices, s.optionsFor(requires, c.template.Tolerations, c.tolerates, honour))
			i = len(out)
			at[k] = i
			out = append(out, placedClass{class: c, mask: mask})
		}
		out[i].n += n
	}
	for _, m := range s.machines {
		for _, it := range m.placed {
			add(it.class, it.level, it.n)
		}
	}
	for _, p := range s.onNodes {
		add(p.class, p.level, p.n)
	}
	return out
}

func (s *solver) resourceBound(classes []placedClass) float64 {
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
		return 0
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
	for _, c := range classes {
		least := math.Inf(1)
		for k := range c.mask.all {
			least = min(least, scale[k])
		}
		if math.IsInf(least, 1) {
			continue // it can be on nodes that exist only
		}
		sum += float64(float64(c.n) * float64(least*worthOfVector(c.class.need, y)))
		factor = max(factor, least)
	}
	for _, n := range s.roomBefore {
		sum -= float64(factor * worthOfVector(n, y))
	}
	return sum * safety
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
