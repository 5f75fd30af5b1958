package pack

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// maxCandidateTypes bounds the instance types of a machine's candidates: more
// than a fleet request needs.
const maxCandidateTypes = 60

// ranker ranks what may be bought for machines. Machines for which the same is to be
// had share it.
type ranker struct {
	*solver
	slack []amount.List
	known map[string]ranking
}

// ranking is what may be bought for a machine, and the best of another type than is
// planned, or nil.
type ranking struct {
	candidates []offer.Candidate
	runnerUp   *offer.Candidate
}

// slack returns, by seller and resource, how much each of its machines may be
// larger than planned without breaking a limit; nothing where that is no matter.
func (s *solver) slack() []amount.List {
	out := make([]amount.List, len(s.sellers))
	count := make([]int64, len(s.sellers))
	for _, m := range s.machines {
		count[m.seller.index]++
	}
	for i, p := range s.sellers {
		if count[i] == 0 {
			continue
		}
		for name, left := range s.headroom(p) {
			left = max(0, left/count[i])
			if has := p.goods.Capacity[name]; len(has) > 0 && left < slices.Max(has) {
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
func (r *ranker) rank(m *machine) ranking {
	roomy, first, on := r.roomFor(m), r.firstOf(m), r.footingOf(m)
	key := r.keyFor(m, roomy[first>>6:], on)
	out, ok := r.known[string(key)]
	if !ok {
		out.candidates = r.candidates(m, r.able(m, first, roomy, on))
		planned := out.candidates[0].InstanceType
		if i := slices.IndexFunc(out.candidates, func(c offer.Candidate) bool { return c.InstanceType != planned }); i > 0 {
			other := out.candidates[i]
			out.runnerUp = &other
		}
		r.known[string(key)] = out
	}
	return out
}

// keyFor identifies all that decides about the ranking.
func (r *ranker) keyFor(m *machine, roomy bitset, on footing) []byte {
	key := binary.AppendVarint(r.key[:0], int64(m.column))
	key = binary.AppendVarint(key, int64(m.residual))
	if on.zone {
		key = append(key, 1)
	}
	key = binary.AppendVarint(key, int64(len(on.groups)))
	for _, id := range on.groups {
		key = binary.AppendVarint(key, int64(id))
	}
	for _, word := range roomy {
		key = binary.LittleEndian.AppendUint64(key, word)
	}
	r.key = key
	return key
}

// candidates states columns, the planned one in front of others of the same price.
func (r *ranker) candidates(m *machine, columns []int) []offer.Candidate {
	i := slices.Index(columns, m.column)
	columns = slices.Insert(slices.Delete(columns, i, i+1), 0, m.column)
	out := make([]offer.Candidate, len(columns))
	for i, k := range columns {
		col := &r.columns[k]
		out[i] = offer.Candidate{InstanceType: col.typ.Name, Zone: col.offering.Zone, CapacityType: col.offering.CapacityType, Price: col.offering.Price}
	}
	r.scratch = columns
	return out
}

// firstOf returns the first column that costs as much as the planned one.
func (r *ranker) firstOf(m *machine) int {
	first := m.column
	for first > m.seller.columns[0] && r.columns[first-1].price == r.columns[m.column].price {
		first--
	}
	return first
}

// able lists the columns that can take the machine's content, the cheapest first. Spot
// offerings that cost more than the cheapest on-demand one are left out.
func (r *ranker) able(m *machine, first int, roomy bitset, on footing) []int {
	out := r.scratch[:0]
	types, count := make([]bool, len(m.seller.Types)), 0 // by model
	onDemand := int64(math.MaxInt64)
	planned, slack := &r.columns[m.column], r.slack[m.seller.index]
	for k := range roomy.within([2]int{first, m.seller.columns[1]}) {
		col := &r.columns[k]
		if count == maxCandidateTypes && !types[col.model] || col.offering.CapacityType == api.CapacitySpot && col.price > onDemand {
			continue
		}
		if k != m.column && (!r.leavesChoice(m.residual, col) || !m.seller.within(col, planned, slack) || !r.sameFooting(k, m, on)) {
			continue
		}
		if !types[col.model] {
			types[col.model] = true
			count++
		}
		if col.offering.CapacityType == api.CapacityOnDemand {
			onDemand = min(onDemand, col.price)
		}
		out = append(out, k)
	}
	return out
}

// within reports whether buying the column instead of the planned one keeps the
// limits.
func (p *seller) within(col, planned *column, slack amount.List) bool {
	for name, more := range slack {
		if has := p.goods.Capacity[name]; has[col.model] > has[planned.model]+more {
			return false
		}
	}
	return true
}
