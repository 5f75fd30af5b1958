package proof

import (
	"slices"
	"strconv"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bound"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// tiers returns the tier of each pool: 0 for those of the highest weight.
func (b *bounding) tiers() []int {
	out := make([]int, len(b.s.Pools))
	for i, tier := range b.s.Tiers() {
		for _, p := range tier {
			out[p.Number] = i
		}
	}
	return out
}

// addSpending states what Provisioners of lower weights may be paid. What they sell is for pods that
// no Provisioner of higher weight can take, and others only use the room that these leave. So they
// are paid no more than machines of their own would cost for these pods, and no more than the plan pays
// them and machines of their own would cost for such pods that the plan does not have there. Nothing is
// known where a limit of a higher weight may bind, because its pods are bought for there as well then.
func (b *bounding) addSpending(tiers []int) {
	list := b.s.Tiers()
	b.paid = make([]bool, len(list))
	for i := 1; i < len(list); i++ {
		if slices.ContainsFunc(list[i-1], limited) {
			return
		}
		for _, of := range []func(tier int, tiers []int) (bound.Spending, bool){b.asPlanned, b.alone} {
			if s, ok := of(i, tiers); ok {
				b.Spending, b.paid[i] = append(b.Spending, s), true
			}
		}
	}
}

// limited reports whether a limit may keep a pool from selling what is the cheapest.
func limited(p *model.Pool) bool { return p.Limits != nil }

// asPlanned is what the plan pays a tier and those after it, and what machines of their own would cost
// for other pods that may be bought for there. It reports false where that is not known.
func (b *bounding) asPlanned(tier int, tiers []int) (bound.Spending, bool) {
	out, there := bound.Spending{Tier: tier}, make([]int64, len(b.placed))
	for _, m := range b.s.Machines() {
		if tiers[m.Pool.Number] < tier {
			continue
		}
		out.Most += max(1, b.s.Offerings[m.Offering].Price)
		for _, p := range m.Placed {
			there[b.at[classAt{p.Class, p.Level}]] += p.N
		}
	}
	for i := range b.placed {
		p := &b.placed[i]
		if p.n == there[i] {
			continue
		}
		own := b.ownMachines(p, tier, tiers)
		if own.limited {
			return out, false
		}
		out.Most += own.total((p.n - there[i] + p.lump - 1) / p.lump)
	}
	return out, true
}

// alone is what machines of their own cost for all pods that are bought for in a tier and those after it:
// for those that nothing else can take in any case, and for others as far as they are there. It reports
// false where that is not known.
func (b *bounding) alone(tier int, tiers []int) (bound.Spending, bool) {
	out := bound.Spending{Tier: tier}
	for i := range b.placed {
		p := &b.placed[i]
		own, lumps := b.ownMachines(p, tier, tiers), (p.n+p.lump-1)/p.lump
		switch {
		case own.limited:
			return out, false
		case own.cells == 0:
		case own.always:
			out.Most += own.total(lumps)
		default:
			out.Most += own.first(lumps)
			out.Funds = append(out.Funds, bound.Fund{Class: i, Choice: b.numbered(own.set), Price: own.each})
		}
	}
	return out, true
}

// ownMachines are those that would be bought for the pods of one class alone.
type ownMachines struct {
	set     model.Bitset // offerings
	limited bool         // one of their pools is
	always  bool         // nothing of a higher weight can take the pods
	cells   int64        // domains, and the like, that the pods may have to be divided among
	// each is what one more pod costs where that is the dearest, and begun what the first of a cell costs more
	// than that, in micro-dollars per hour.
	each, begun int64
}

// first returns what is to be added for so many pods to what each of them costs.
func (o *ownMachines) first(n int64) int64 { return o.begun * min(o.cells, n) }

// total returns what so many pods cost at most.
func (o *ownMachines) total(n int64) int64 { return o.first(n) + o.each*n }

// ownMachines finds the machines that a tier and those after it sell for a class.
func (b *bounding) ownMachines(p *placedClass, tier int, tiers []int) (out ownMachines) {
	could := b.highest(p).Clone()
	for j := range p.others {
		could.Join(b.highest(&p.others[j]))
	}
	if b.tied(p) {
		could.Join(p.mask)
	}
	out.always, out.set = true, could.Clone()
	lumps, most := (p.n+p.lump-1)/p.lump, max(1, topology.NodeCounts{}.Room(p.class.PerNodeLate, p.n)/p.lump)
	type machine struct{ price, holds int64 }
	total := func(m machine) int64 { return m.price * (m.holds - 1 + lumps) / m.holds }
	need, cheapest := p.need(), map[string]machine{}
	for k := range could.All {
		o := &b.s.Offerings[k]
		if tiers[o.Pool] < tier {
			out.always = false
			out.set.Drop(k)
			continue
		}
		out.limited = out.limited || limited(b.s.Pools[o.Pool])
		holds := min(lumps, amount.Copies(need, o.All().Room, most))
		if holds == 0 {
			continue
		}
		of, cell := machine{max(1, o.Price), holds}, b.cellOf(p, o)
		if known, ok := cheapest[cell]; !ok || total(of) < total(known) {
			cheapest[cell] = of
		}
	}
	out.cells = int64(len(cheapest))
	for _, m := range cheapest {
		each := (m.price + m.holds - 1) / m.holds
		out.each, out.begun = max(out.each, each), max(out.begun, m.price-each)
	}
	return out
}

// cellOf names where among the domains of its topology keys a class is on an offering. One that shares
// nodes with others may be where these have to be.
func (b *bounding) cellOf(p *placedClass, o *model.Offering) string {
	if b.tied(p) {
		return strconv.Itoa(o.Pool) + " " + o.Offer.Zone + " " + o.Offer.CapacityType
	}
	var out strings.Builder
	for _, key := range p.class.Keys {
		domain, ok := o.Offer.Label(key)
		if !ok {
			domain = "/" + strconv.Itoa(o.Pool)
		}
		out.WriteString(domain + " ")
	}
	return out.String()
}
