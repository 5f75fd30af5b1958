// Package price says what resources are worth for pods that machines are bought for: the dual
// prices of linear programs in which machines can be bought in parts. Demands and offerings in,
// prices out.
package price

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/lp"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// mostGroups bounds the groups that are priced apart: each is a row for each resource.
// Those that need least are one beyond it, which may be wherever one of them may be.
const mostGroups = 40

// Ask is a number of pods, or items, that need the same and may be on some offerings.
type Ask struct {
	Need    []int64
	Count   int64
	Options *model.Options
	Mask    model.Bitset
}

// GroupPrices are the prices by the linear program over the sums of resources, in which those that
// ask the same of labels and taints are a group. What only expensive offerings can serve is
// worth what it costs there, and other groups pay for what is left of them.
type GroupPrices struct {
	Of    []int       // the group, by what is asked
	Dual  [][]float64 // of a unit, by group and resource
	Value []float64   // of one of each that is asked
	Total float64     // that no machines for all cost less than
}

// Apart prices what is asked for if it is served by these offerings alone. nodeCost is the
// cost of a machine beyond its price.
func Apart(s *model.Supply, list []Ask, offerings []int, nodeCost int64) GroupPrices {
	out := GroupPrices{Value: make([]float64, len(list))}
	var masks []model.Bitset
	out.Of, masks = grouped(list)
	d := NewDemand(len(s.Space.Names))
	program := lp.Share{Demand: make([][]float64, len(masks)), Machines: make([]lp.Machine, len(offerings))}
	for g := range program.Demand {
		program.Demand[g] = make([]float64, len(s.Space.Names))
	}
	for i, of := range list {
		d.Add(of.Need, of.Count)
		for r, v := range of.Need {
			program.Demand[out.Of[i]][r] += float64(float64(v) * float64(of.Count))
		}
	}
	for j, k := range offerings {
		o := &s.Offerings[k]
		m := lp.Machine{Room: make([]float64, len(o.Room)), Cost: float64(max(1, o.Price+nodeCost))}
		for r, room := range o.Room {
			m.Room[r] = float64(d.Usable(room, r))
		}
		for g, mask := range masks {
			if mask.Has(k) {
				m.Groups = append(m.Groups, g)
			}
		}
		program.Machines[j] = m
	}
	out.Dual, out.Total = program.Prices()
	for i, of := range list {
		out.Value[i] = Value(of.Need, out.Dual[out.Of[i]])
	}
	return out
}

// grouped numbers what asks the same of labels and taints, and returns what each group
// may be on: wherever one of its pods may be.
func grouped(list []Ask) (of []int, masks []model.Bitset) {
	of = make([]int, len(list))
	known, size := map[int]int{}, []int64(nil)
	for i, a := range list {
		g, ok := known[a.Options.ID]
		if !ok {
			g = len(masks)
			known[a.Options.ID] = g
			masks, size = append(masks, a.Mask.Clone()), append(size, 0)
		}
		of[i] = g
		masks[g].Join(a.Mask)
		size[g] += a.Count
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
