package pack

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/lp"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// mostGroups bounds the groups that are priced apart: each is a row for each resource.
// Those that need least are one beyond it, which may be wherever one of them may be.
const mostGroups = 40

// asked is a number of pods, or loads, that need the same and may be on some columns.
type asked struct {
	need []int64
	n    int64
	opt  *model.Options
	mask model.Bitset
}

// apart prices what is asked for by the linear program over the sums of resources, in
// which those that ask the same of labels and taints are a group: what only dear columns can
// serve is worth what it costs there, and other groups pay for what is left of them.
type apart struct {
	groups []int       // by what is asked
	prices [][]float64 // by group and resource
	worth  []float64   // of one of each that is asked
	total  float64     // that no machines for all cost less than
}

// priceApart prices what is asked for if it is served by the columns alone.
func (s *solver) priceApart(list []asked, columns []int, nodeCost int64) apart {
	out := apart{worth: make([]float64, len(list))}
	var masks []model.Bitset
	out.groups, masks = grouped(list)
	d := newDemand(len(s.Space.Names))
	program := lp.Share{Demand: make([][]float64, len(masks)), Machines: make([]lp.Machine, len(columns))}
	for g := range program.Demand {
		program.Demand[g] = make([]float64, len(s.Space.Names))
	}
	for i, of := range list {
		d.add(of.need, of.n)
		for r, v := range of.need {
			program.Demand[out.groups[i]][r] += float64(float64(v) * float64(of.n))
		}
	}
	for j, k := range columns {
		col := &s.Offerings[k]
		m := lp.Machine{Room: make([]float64, len(col.Room)), Cost: float64(max(1, col.Price+nodeCost))}
		for r, room := range col.Room {
			m.Room[r] = float64(d.usable(room, r))
		}
		for g, mask := range masks {
			if mask.Has(k) {
				m.Groups = append(m.Groups, g)
			}
		}
		program.Machines[j] = m
	}
	out.prices, out.total = program.Prices()
	for i, of := range list {
		out.worth[i] = worthOfVector(of.need, out.prices[out.groups[i]])
	}
	return out
}

// grouped numbers what asks the same of labels and taints, and returns what each group
// may be on: wherever one of its pods may be.
func grouped(list []asked) (of []int, masks []model.Bitset) {
	of = make([]int, len(list))
	known, size := map[int]int{}, []int64(nil)
	for i, a := range list {
		g, ok := known[a.opt.ID]
		if !ok {
			g = len(masks)
			known[a.opt.ID] = g
			masks, size = append(masks, a.mask.Clone()), append(size, 0)
		}
		of[i] = g
		masks[g].Join(a.mask)
		size[g] += a.n
	}
	if len(masks) <= mostGroups {
		return of, masks
	}
	return merged(of, masks, size)
}

// merged makes the smallest groups one.
func merged(of []int, masks []model.Bitset, size []int64) ([]int, []model.Bitset) {
	order := make([]int, len(masks))
	for g := range order {
		order[g] = g
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size[b], size[a]) })
	number, out := make([]int, len(masks)), make([]model.Bitset, 0, mostGroups)
	for i, g := range order {
		if i < mostGroups {
			number[g] = i
			out = append(out, masks[g])
			continue
		}
		number[g] = mostGroups - 1
		out[mostGroups-1].Join(masks[g])
	}
	for i := range of {
		of[i] = number[of[i]]
	}
	return of, out
}
