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
func (b *problem) tiers() []int {
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
// them and machines of their own would cost for such pods that the plan does not buy for there. Nothing is
// known where a limit of a higher weight may bind, because its pods are bought for there as well then.
func (b *problem) addSpending(tiers []int) {
	list := b.s.Tiers()
	b.paid = make([]bool, len(list))
	for i := 1; i < len(list); i++ {
		if slices.ContainsFunc(list[i-1], limited) {
			return
		}
		t := b.lowerTier(i, tiers)
		for _, of := range []func(*lowerTier) (bound.Spending, bool){b.asPlanned, b.alone} {
			if s, ok := of(t); ok {
				b.Spending, b.paid[i] = append(b.Spending, s), true
			}
		}
	}
}

// lowerTier is what a tier and those after it sell, and what the plan has of it.
type lowerTier struct {
	number int
	paid   int64         // by the plan
	own    []ownMachines // by class
	there  []int64       // by class, how many of its pods are on offerings that are bought for it
}

func (b *problem) lowerTier(number int, tiers []int) *lowerTier {
	t := &lowerTier{number: number, there: make([]int64, len(b.placed))}
	for i := range b.placed {
		t.own = append(t.own, b.ownMachines(&b.placed[i], number, tiers))
	}
	for _, m := range b.s.Machines() {
		if tiers[m.Pool.Number] < number {
			continue
		}
		t.paid += max(1, b.s.Offerings[m.Offering].Price)
		for _, p := range m.Placed {
			if i := b.at[classAt{p.Class, p.Level}]; t.own[i].set.Has(m.Offering) {
				t.there[i] += p.N
			}
		}
	}
	return t
}

// limited reports whether a limit may keep a pool from selling the cheapest machine.
func limited(p *model.Pool) bool { return p.Limits != nil }

// asPlanned is what the plan pays a tier and those after it, and what machines of their own would cost
// for other pods that may be bought for there. It reports false where that is not known.
func (b *problem) asPlanned(t *lowerTier) (bound.Spending, bool) {
	out := bound.Spending{Tier: t.number, Most: t.paid}
	for i := range b.placed {
		p, own := &b.placed[i], &t.own[i]
		elsewhere := p.n - t.there[i]
		if own.domains > 1 { // others may be in another domain in another plan
			elsewhere = min(p.n, own.domains*b.mostInDomain(i)-p.n+2*elsewhere)
		}
		switch {
		case elsewhere == 0 || own.domains == 0:
		case own.unknown:
			return out, false
		default:
			out.Most += own.total((elsewhere + p.lump - 1) / p.lump)
		}
	}
	return out, true
}

// alone is what machines of their own cost for all pods that are bought for in a tier and those after it:
// for those that nothing else can take in any case, and for others as far as they are there. It reports
// false where that is not known, or where the plan shows that it costs more.
func (b *problem) alone(t *lowerTier) (bound.Spending, bool) {
	out, brought := bound.Spending{Tier: t.number}, int64(0)
	for i := range b.placed {
		p, own := &b.placed[i], &t.own[i]
		lumps := (p.n + p.lump - 1) / p.lump
		switch {
		case own.domains == 0:
		case own.unknown:
			return out, false
		case own.always:
			out.Most += own.total(lumps)
		default:
			out.Most += own.first(lumps)
			out.Funds = append(out.Funds, bound.Fund{Class: i, Choice: b.numbered(own.set), Price: own.each})
			brought += own.each * (t.there[i] + p.lump - 1) / p.lump
		}
	}
	return out, t.paid <= out.Most+brought
}

// ownMachines are those that would be bought for the pods of one class alone.
type ownMachines struct {
	set     model.Bitset // offerings
	unknown bool         // more may have to be paid
	always  bool         // nothing of a higher weight can take the pods
	domains int64        // domains, and the like, that the pods may have to be divided among
	// each is what one more pod costs where it costs most, and begun what the first pod of a domain costs beyond
	// that, in micro-dollars per hour.
	each, begun int64
}

// first returns what is to be added for so many pods to what each of them costs.
func (o *ownMachines) first(n int64) int64 { return o.begun * min(o.domains, n) }

// total returns what so many pods cost at most.
func (o *ownMachines) total(n int64) int64 { return o.first(n) + o.each*n }

// ownMachines finds the machines that a tier and those after it sell for a class.
func (b *problem) ownMachines(p *placedClass, tier int, tiers []int) (out ownMachines) {
	out.always, out.set = true, model.NewBitset(len(b.s.Offerings))
	lumps, most := (p.n+p.lump-1)/p.lump, max(1, topology.NodeCounts{}.Room(p.class.PerNodeLate, p.n)/p.lump)
	type machine struct{ price, holds int64 }
	total := func(m machine) int64 { return m.price * (m.holds - 1 + lumps) / m.holds }
	need, cheapest, dearest := p.need(), map[string]machine{}, int64(0)
	for term, could := range b.boughtFor(p) {
		for k := range could.All {
			o := &b.s.Offerings[k]
			if tiers[o.Pool] < tier {
				out.always = false
				continue
			}
			out.set.Add(k)
			out.unknown = out.unknown || limited(b.s.Pools[o.Pool])
			holds := min(lumps, amount.Copies(need, o.Room, most))
			if holds == 0 {
				continue
			}
			of, in := machine{max(1, o.Cost), holds}, ownDomains(p, term, o) // plans minimise the cost, which is not below the price
			if known, ok := cheapest[in]; !ok || total(of) < total(known) {
				cheapest[in] = of
			}
			dearest = max(dearest, o.Cost)
		}
	}
	if out.domains = int64(len(cheapest)); b.tied(p) {
		out.each = dearest // it may take a machine that is large enough for pods that must share it
		return out
	}
	for _, m := range cheapest {
		each := (m.price + m.holds - 1) / m.holds
		out.each, out.begun = max(out.each, each), max(out.begun, m.price-each)
	}
	return out
}

// boughtFor lists the offerings that are bought for a class by each of its node selector terms.
func (b *problem) boughtFor(p *placedClass) []model.Bitset {
	out := []model.Bitset{b.highest(p).Clone()}
	for j := range p.others {
		out = append(out, b.highest(&p.others[j]))
	}
	if b.tied(p) {
		out[0].Join(p.mask)
	}
	return out
}

// ownDomains names where a class is on an offering: by which node selector term, in which domains of its topology keys,
// and in which capacity reservation, of which there are only so many.
func ownDomains(p *placedClass, term int, o *model.Offering) string {
	var out strings.Builder
	out.WriteString(strconv.Itoa(term) + " " + o.Offer.Reservation + " ")
	for _, key := range p.class.Keys {
		domain, ok := o.Offer.Label(key)
		if !ok {
			domain = "/" + strconv.Itoa(o.Pool)
		}
		out.WriteString(domain + " ")
	}
	return out.String()
}
