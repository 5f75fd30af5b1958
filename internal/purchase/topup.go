package purchase

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// topUp uses what is left of machines that are planned already.
func (pu *Purchaser) topUp(g *assign.PodGroup) {
	for i, m := range pu.Machines() {
		if g.N == 0 {
			return
		}
		if len(g.Parts) == 1 && !pu.Followed(m, g.Parts[0].Class) {
			continue
		}
		if k, residual := pu.Admit(m, g, g.N); k > 0 {
			pu.Extend(i, g, k, residual)
		}
	}
}

// buySpecial buys for the pod groups that only special types hold, and lets others be their guests:
// these use the room that is left, or have larger machines bought where that costs less than machines
// of their own. No special type is bought for pods that do not need it.
func (pu *Purchaser) buySpecial(groups []*assign.PodGroup) {
	special := pu.onlySpecial(groups)
	if len(special) == 0 {
		return
	}
	guests := pu.guests(groups, special)
	if len(guests) == 0 {
		return
	}
	if first := pu.Tiers()[0]; pu.sellsAll(first, special) {
		pu.buy(invited(groups, guests, first), first)
	} else {
		pu.buyByWeight(special)
	}
	for _, g := range guests {
		pu.topUp(g)
		g.Plain.N = g.N
	}
}

// onlySpecial returns the pod groups that only special types hold.
func (pu *Purchaser) onlySpecial(groups []*assign.PodGroup) (special []*assign.PodGroup) {
	for _, g := range groups {
		if g.Mask.SubsetOf(pu.Special) {
			special = append(special, g)
		}
	}
	return special
}

// guests returns the pod groups that may be beside the special ones.
func (pu *Purchaser) guests(groups, special []*assign.PodGroup) (guests []*assign.PodGroup) {
	bought := model.NewBitset(len(pu.Offerings))
	for _, g := range special {
		bought.Join(g.Mask)
	}
	for _, g := range groups {
		if !g.Mask.Meets(pu.Special) && len(g.Parts) == 1 {
			if guest := pu.AsGuest(g, bought); guest != nil {
				guests = append(guests, guest)
			}
		}
	}
	return guests
}

// sellsAll reports whether pools have offerings for each of the pod groups, and no limit binds.
func (pu *Purchaser) sellsAll(pools []*model.Pool, groups []*assign.PodGroup) bool {
	left := pu.Remaining()
	return !slices.ContainsFunc(pools, func(p *model.Pool) bool { return left[p.Number] != nil }) &&
		!slices.ContainsFunc(groups, func(g *assign.PodGroup) bool { return !sell(pools, g) })
}

// sell reports whether pools have an offering for the pod group.
func sell(pools []*model.Pool, g *assign.PodGroup) bool {
	return slices.ContainsFunc(pools, func(p *model.Pool) bool { return g.Mask.AnyIn(p.Offerings) })
}

// invited returns the pod groups, those as guests that pools have plain offerings for as well.
func invited(groups, guests []*assign.PodGroup, pools []*model.Pool) []*assign.PodGroup {
	out := slices.Clone(groups)
	for _, g := range guests {
		if sell(pools, g.Plain) {
			out[slices.Index(out, g.Plain)] = g
		}
	}
	return out
}
