package pack

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// maxCandidateTypes bounds the instance types of a machine's candidates: more
// than a fleet request needs.
const maxCandidateTypes = 60

// ranker ranks what may be bought for machines. Machines for which the same can be bought share
// the result.
type ranker struct {
	*assign.Assignment
	slack   []amount.List
	scratch []int
	known   map[string]ranking
}

// ranking is what may be bought for a machine, and the best of another type than is
// planned, or nil.
type ranking struct {
	candidates []offer.Candidate
	runnerUp   *offer.Candidate
	needed     []offer.Candidate // those of them without which there is too little choice
}

// slack returns, by pool and resource, how much each of its machines may be
// larger than planned without breaking a limit; nothing where that is no matter.
func (s rendering) slack() []amount.List {
	out := make([]amount.List, len(s.Pools))
	count := make([]int64, len(s.Pools))
	for _, m := range s.Machines() {
		count[m.Pool.Number]++
	}
	for i, p := range s.Pools {
		if count[i] == 0 {
			continue
		}
		for name, left := range s.Headroom(p) {
			left = max(0, left/count[i])
			if has := p.Catalogue.Capacity[name]; len(has) > 0 && left < slices.Max(has) {
				if out[i] == nil {
					out[i] = amount.List{}
				}
				out[i][name] = left
			}
		}
	}
	return out
}

// rank says what may be bought for a machine, the best first.
func (r *ranker) rank(m *assign.Machine) ranking {
	roomy, first, on := r.choiceFor(m), r.firstOf(m), signatureOf(r.Market, m)
	key := r.keyFor(m, roomy[first>>6:], on)
	out, ok := r.known[string(key)]
	if !ok {
		out.candidates = r.candidates(m, r.able(m, first, roomy, on))
		planned := out.candidates[0].InstanceType
		if i := slices.IndexFunc(out.candidates, func(c offer.Candidate) bool { return c.InstanceType != planned }); i > 0 {
			other := out.candidates[i]
			out.runnerUp = &other
		}
		for _, k := range r.Offerings[m.Offering].With {
			out.needed = append(out.needed, candidateOf(&r.Offerings[k]))
		}
		r.known[string(key)] = out
	}
	return out
}

// choiceFor returns the offerings that could have the machine's content. Where a choice is
// demanded those count too that are not planned for themselves. It holds until it is
// called again.
func (r *ranker) choiceFor(m *assign.Machine) model.Bitset {
	with := r.Offerings[m.Offering].With
	if with == nil {
		return r.RoomFor(m)
	}
	r.Roomy = append(r.Roomy[:0], m.Pool.Mask...)
	out := r.Roomy
	for _, it := range m.Items {
		out.Keep(it.Group.Opt.Any)
	}
	for k := range out.Within(m.Pool.Offerings) {
		o := &r.Offerings[k]
		if !model.Fits(m.Used, o.All().Room) || o.Special && !r.Offerings[m.Offering].Special && !slices.Contains(with, k) {
			out.Drop(k)
		}
	}
	return out
}

// keyFor identifies all that decides about the ranking.
func (r *ranker) keyFor(m *assign.Machine, roomy model.Bitset, on signature) []byte {
	key := binary.AppendVarint(r.Key[:0], int64(m.Offering))
	key = binary.AppendVarint(key, int64(m.Residual))
	if on.zone {
		key = append(key, 1)
	}
	key = binary.AppendVarint(key, int64(len(on.groups)))
	for _, id := range on.groups {
		key = binary.AppendVarint(key, int64(id))
	}
	r.Key = roomy.AppendKey(key)
	return r.Key
}

// candidates states offerings, the planned one in front of others of the same price.
func (r *ranker) candidates(m *assign.Machine, offerings []int) []offer.Candidate {
	i := slices.Index(offerings, m.Offering)
	offerings = slices.Insert(slices.Delete(offerings, i, i+1), 0, m.Offering)
	out := make([]offer.Candidate, len(offerings))
	for i, k := range offerings {
		out[i] = candidateOf(&r.Offerings[k])
	}
	r.scratch = offerings
	return out
}

func candidateOf(o *model.Offering) offer.Candidate {
	return offer.Candidate{InstanceType: o.Type.Name, Zone: o.Offer.Zone, CapacityType: o.Offer.CapacityType, Reservation: o.Offer.Reservation, Price: o.Offer.Price}
}

// firstOf returns the first offering that costs as much as the planned one. What costs less was not chosen for
// some reason, and EC2 would prefer it to the planned one: see offer.Order.
func (r *ranker) firstOf(m *assign.Machine) int {
	first := m.Offering
	for first > m.Pool.Offerings[0] && r.Offerings[first-1].Price == r.Offerings[m.Offering].Price {
		first--
	}
	return first
}

// able lists the offerings that can take the machine's content, the cheapest first. Spot
// offerings that cost more than the cheapest on-demand one are left out, unless a choice
// is demanded. A machine in a capacity reservation is launched into that one or not at all:
// if the reservation is full by then, the next plan says what else to buy.
func (r *ranker) able(m *assign.Machine, first int, roomy model.Bitset, on signature) []int {
	out := r.scratch[:0]
	if r.Offerings[m.Offering].Offer.Reservation != "" {
		return append(out, m.Offering)
	}
	types, count := make([]bool, len(m.Pool.Types)), 0 // by model
	onDemand, with := int64(math.MaxInt64), r.Offerings[m.Offering].With
	for _, k := range with {
		if at := r.Offerings[k].TypeIndex; !types[at] {
			types[at] = true
			count++
		}
	}
	planned, slack := &r.Offerings[m.Offering], r.slack[m.Pool.Number]
	for k := range roomy.Within([2]int{first, m.Pool.Offerings[1]}) {
		o := &r.Offerings[k]
		needed := k == m.Offering || len(with) > 0 && slices.Contains(with, k)
		if !needed && (count == maxCandidateTypes && !types[o.TypeIndex] || o.Offer.CapacityType == api.CapacitySpot && o.Price > onDemand) {
			continue
		}
		if !needed && (o.LabelChoiceIndex != planned.LabelChoiceIndex || !r.LeavesChoice(m.Residual, o) || !within(m.Pool, o, planned, slack) || !sameSignature(r.Market, k, m, on)) {
			continue
		}
		if !types[o.TypeIndex] {
			types[o.TypeIndex] = true
			count++
		}
		if o.Offer.CapacityType == api.CapacityOnDemand {
			onDemand = min(onDemand, o.Price)
		}
		out = append(out, k)
	}
	return out
}

// within reports whether buying the offering instead of the planned one keeps the
// limits.
func within(p *model.Pool, o, planned *model.Offering, slack amount.List) bool {
	for name, more := range slack {
		if has := p.Catalogue.Capacity[name]; has[o.TypeIndex] > has[planned.TypeIndex]+more {
			return false
		}
	}
	return true
}
