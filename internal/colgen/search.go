package colgen

import (
	"cmp"
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
)

// search is a branch-and-bound for the content of one machine that is worth most:
// a knapsack of several resources. Items are tried in the order of their
// value for the price of their needs, of each as many as fit first.
type search struct {
	width      int
	candidates []candidate
	need       []int64   // item by item
	price      []float64 // of a unit of each resource
	ratio      []float64 // by item: the highest value for a unit of each resource from it on
	rest       []int64   // of the room
	taken      []int64   // of each item

	best  float64 // value of the best content, or what it has to exceed
	chose []int64 // the best content
	found bool
	steps int // that are left
	used  int // operations
}

// candidate is an item that may be on the machine.
type candidate struct {
	item       int
	value      float64
	most       int64
	efficiency float64 // value for the price of its needs
}

// begin states the question. Contents that are worth less than the least are of no
// use.
func (s *search) begin(items []Item, k *Kind, r *relaxation, prices []float64, least float64) {
	s.width = len(k.Room)
	s.candidates = s.candidates[:0]
	for j, i := range k.Items {
		if w := prices[i]; w > 0 {
			c := candidate{item: i, value: w, most: min(items[i].Most, items[i].Count), efficiency: math.Inf(1)}
			if pays := r.Pays(j); pays > 0 {
				c.efficiency = w / pays
			}
			s.candidates = append(s.candidates, c)
		}
	}
	slices.SortFunc(s.candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.efficiency, a.efficiency), cmp.Compare(b.value, a.value), cmp.Compare(a.item, b.item))
	})
	n := len(s.candidates)
	s.need = s.need[:0]
	for _, c := range s.candidates {
		s.need = append(s.need, items[c.item].Need...)
	}
	s.rest = append(s.rest[:0], k.Room...)
	s.taken, s.chose = cleared(s.taken, n), cleared(s.chose, n)
	s.priceUnits(r, k)
	s.bounds(n)
	s.best, s.found, s.used = least, false, n*(s.width+8)
}

// priceUnits states the relaxation's prices for a unit of each resource.
func (s *search) priceUnits(r *relaxation, k *Kind) {
	s.price = cleared(s.price, s.width)
	for at, resource := range r.used {
		s.price[resource] = r.Price[at] / float64(max(1, k.Room[resource]))
	}
}

func cleared[T any](v []T, n int) []T {
	v = slices.Grow(v[:0], n)[:n]
	clear(v)
	return v
}

// bounds sets the ratios.
func (s *search) bounds(n int) {
	s.ratio = slices.Grow(s.ratio[:0], n*s.width)[:n*s.width]
	for j := n - 1; j >= 0; j-- {
		for r := range s.width {
			ratio := math.Inf(1)
			if v := s.need[j*s.width+r]; v > 0 {
				ratio = s.candidates[j].value / float64(v)
			}
			if j+1 < n {
				ratio = max(ratio, s.ratio[(j+1)*s.width+r])
			}
			s.ratio[j*s.width+r] = ratio
		}
	}
}

// base puts the whole part of the relaxation's solution on the machine, less some
// items of each kind where there is time to search for better ones.
func (s *search) base(r *relaxation, loosen int64) {
	for row := range r.Rows() {
		item, times, ok := r.Content(row)
		if !ok {
			continue
		}
		j := slices.IndexFunc(s.candidates, func(c candidate) bool { return c.item == item })
		if j < 0 {
			continue
		}
		n := min(int64(times+tolerance), s.candidates[j].most) - loosen
		if n = min(n, amount.Copies(s.needOf(j), s.rest, n)); n > 0 {
			s.take(j, n)
		}
	}
}

func (s *search) needOf(j int) []int64 { return s.need[j*s.width : (j+1)*s.width] }

func (s *search) take(j int, n int64) {
	s.taken[j] += n
	for r, v := range s.needOf(j) {
		s.rest[r] -= n * v
	}
}

// empty takes everything off the machine.
func (s *search) empty() {
	for j, n := range s.taken {
		if n > 0 {
			s.take(j, -n)
		}
	}
}

// run searches from what is on the machine for contents that are worth more than
// the best, for so many steps.
func (s *search) run(steps int) {
	s.steps = steps
	value := 0.0
	for j, n := range s.taken {
		value += float64(float64(n) * s.candidates[j].value)
	}
	s.from(0, value)
	s.used += (steps - s.steps) * 8 * (s.width + 1)
}

// complete reports whether nothing was left out.
func (s *search) complete() bool { return s.steps > 0 }

func (s *search) from(j int, value float64) {
	if value > s.best*(1+tolerance) {
		s.best, s.found = value, true
		copy(s.chose, s.taken)
	}
	for ; j < len(s.candidates) && s.promises(j, value); j++ {
		n := amount.Copies(s.needOf(j), s.rest, s.candidates[j].most-s.taken[j])
		if n <= 0 {
			continue
		}
		s.take(j, n)
		for ; n > 0; n-- {
			gain := float64(float64(n) * s.candidates[j].value)
			if s.promises(j+1, value+gain) {
				s.from(j+1, value+gain)
			}
			s.take(j, -1)
			if s.steps == 0 || !s.affords(j+1, value+gain-s.candidates[j].value) {
				s.take(j, 1-n) // even less of it promises even less
				return
			}
		}
	}
}

// promises reports whether items from j on could make the content worth more than
// the best.
func (s *search) promises(j int, value float64) bool {
	if j == len(s.candidates) || s.steps == 0 {
		return value > s.best
	}
	s.steps--
	more := math.Inf(1)
	for r, ratio := range s.ratio[j*s.width : (j+1)*s.width] {
		if !math.IsInf(ratio, 1) { // some of these items needs none of it
			more = min(more, float64(float64(s.rest[r])*ratio))
		}
	}
	return value+more > s.best*(1+tolerance) && s.affords(j, value)
}

// affords is promises by the price of the room that is left.
func (s *search) affords(j int, value float64) bool {
	if j == len(s.candidates) {
		return value > s.best
	}
	pays := 0.0
	for r, price := range s.price {
		pays += float64(float64(s.rest[r]) * price)
	}
	return value+float64(pays*s.candidates[j].efficiency) > s.best*(1+tolerance)
}

// parts returns the best content.
func (s *search) parts() []Part {
	var out []Part
	for j, n := range s.chose {
		if n > 0 {
			out = append(out, Part{s.candidates[j].item, n})
		}
	}
	return out
}
