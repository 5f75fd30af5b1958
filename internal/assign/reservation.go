package assign

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// sharer is what a pool has planned to buy from a capacity reservation.
type sharer struct {
	pool    *model.Pool
	planned int64
}

// sharing is when reservations are shared.
type sharing struct {
	all  bool // limit all reservations
	some bool // other limits are broken
}

// share limits the pools to what is left of the capacity reservations of which the solution
// takes more than that, or of all of them, and reports whether there is such a one. Several
// pools may buy from the same reservation: each gets what it has planned, pools of higher
// weight first, and the last one gets the rest. That waits until the solution keeps all other
// limits, because a pool may not have what it has planned beyond these.
func (l Limits) share(a *Assignment, how sharing) bool {
	some := false
	for name, pools := range a.sharers() {
		left := pools[0].pool.Most[name]
		planned := int64(0)
		for _, p := range pools {
			planned += p.planned
		}
		if planned <= left && !how.all {
			continue
		}
		some = some || planned > left
		if how.some && len(pools) > 1 && !how.all {
			continue
		}
		for i, p := range pools {
			most := min(p.planned, left)
			if i == len(pools)-1 {
				most = left
			}
			l.set(p.pool, name, most)
			left -= most
		}
	}
	return some
}

// sharers lists who may buy from each capacity reservation, pools of higher weight first.
func (a *Assignment) sharers() map[string][]sharer {
	type use struct {
		pool *model.Pool
		id   string
	}
	uses := map[use]int64{}
	for _, m := range a.Machines() {
		uses[use{m.Pool, a.Offerings[m.Offering].Offer.Reservation}]++
	}
	out := map[string][]sharer{}
	for _, p := range slices.SortedStableFunc(slices.Values(a.Pools), func(a, b *model.Pool) int { return cmp.Compare(b.Weight, a.Weight) }) {
		for _, at := range p.Catalogue.Reserved {
			id := p.Types[at.Type].Offerings[at.Offering].Reservation
			name := offer.ReservationResource(id)
			out[name] = append(out[name], sharer{p, uses[use{p, id}]})
		}
	}
	return out
}
