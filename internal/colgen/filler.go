package colgen

import (
	"cmp"
	"slices"
)

// filler finds the content of one machine that is worth most.
type filler struct {
	items  []Item
	kinds  []Kind
	cost   []float64     // by kind, what it uses up of limits included
	relax  []*relaxation // by kind
	search search

	value      float64 // of the content that was found, 0 for none
	operations int     // so far
}

func newFiller(items []Item, kinds []Kind) *filler {
	return &filler{items: items, kinds: kinds, cost: make([]float64, len(kinds)), relax: make([]*relaxation, len(kinds))}
}

// charge sets what the kinds cost at these prices of the limits' rows.
func (f *filler) charge(prices, scale []float64) {
	for k := range f.kinds {
		f.cost[k] = float64(f.kinds[k].Cost)
		for l, n := range f.kinds[k].Uses {
			f.cost[k] += float64(prices[l] * (float64(n) / scale[l]))
		}
	}
}

// How long contents are searched for, in steps.
const (
	hasty   = 64
	longer  = 8 // times, when nothing is found any more
	longest = 1 << 12
	proving = 1 << 21
	// loose items of each kind are let go of the solution of the relaxation.
	loose = 2
)

// ceiling returns what no content of a machine of the kind is worth more than,
// items that may be divided included.
func (f *filler) ceiling(kind int, prices []float64) float64 {
	k := &f.kinds[kind]
	r := f.relax[kind]
	if r == nil {
		r = newRelaxation(f.items, k)
		f.relax[kind] = r
	}
	f.operations += r.Operations()
	if ceiling := r.Ceiling(prices); ceiling <= f.cost[kind]*(1+tolerance) {
		return ceiling // good enough: nothing can be gained with this kind
	}
	f.operations += r.Solve(prices)
	return r.Ceiling(prices)
}

// fill looks for the content of a machine of the kind that is worth most, and more
// than it costs. It returns what no content is worth more than. The ceiling must
// have been asked for before.
func (f *filler) fill(kind int, prices []float64, patience int) float64 {
	k, r := &f.kinds[kind], f.relax[kind]
	ceiling := r.Bound
	f.search.begin(f.items, k, r, prices, f.cost[kind]*(1+tolerance))
	if proven, ok := f.look(r, patience); ok {
		ceiling = min(ceiling, proven)
	}
	f.value = 0
	if f.search.found {
		f.value = f.search.best
	}
	f.operations += f.search.used
	return ceiling
}

// look searches, and returns what no content is worth more than where it has tried
// them all.
func (f *filler) look(r *relaxation, patience int) (float64, bool) {
	s := &f.search
	s.base(r, 0)
	s.run(hasty)
	if patience == hasty {
		return 0, false
	}
	s.empty()
	s.base(r, loose)
	s.run(patience / 4)
	s.empty()
	s.run(patience)
	return s.best, s.complete()
}

// pattern returns the content that was found.
func (f *filler) pattern(kind int) Pattern {
	p := Pattern{Kind: kind, Parts: f.search.parts()}
	slices.SortFunc(p.Parts, func(a, b Part) int { return cmp.Compare(a.Item, b.Item) })
	return p
}
