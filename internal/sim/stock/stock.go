// Package stock is what a simulated cloud has to sell: instance types with prices, pools of
// limited capacity, quotas and capacity reservations, and what is known of them after
// refusals. It has no clock: callers say what time it is.
package stock

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// RefusalTime is how long an offering counts as unavailable after a refusal.
const RefusalTime = 3 * time.Minute

// Stock is what is left to sell. It is not safe for concurrent use.
type Stock struct {
	types   []offer.InstanceType
	pools   map[pool]int           // machines that are left; what is not in it has no limit
	refused map[pool]time.Time     // until when it counts as unavailable
	ended   map[string]bool        // capacity reservations
	learnt  map[string]amount.List // by instance type: what its kubelets have shown
	devices map[string]offer.Devices
	index   *offer.Index // of the types as they are known; nil: to be made
}

// pool is where the capacity of one offering comes from.
type pool struct{ instanceType, zone, capacityType string }

// quotaOf is what all offerings of a capacity type draw on together.
func quotaOf(capacityType string) pool { return pool{capacityType: capacityType} }

func poolOf(c offer.Candidate) pool { return pool{c.InstanceType, c.Zone, c.CapacityType} }

// New returns the stock of the types, which have no limits.
func New(types []offer.InstanceType) *Stock {
	return &Stock{
		types: types, pools: map[pool]int{}, refused: map[pool]time.Time{}, ended: map[string]bool{}, learnt: map[string]amount.List{}, devices: map[string]offer.Devices{},
	}
}

// Limit says how many more machines an offering can serve.
func (s *Stock) Limit(instanceType, zone, capacityType string, machines int) {
	s.pools[pool{instanceType, zone, capacityType}] = machines
}

// Quota says how many more machines of a capacity type may be sold.
func (s *Stock) Quota(capacityType string, machines int) { s.pools[quotaOf(capacityType)] = machines }

// Unlimited lifts all limits of Limit and Quota.
func (s *Stock) Unlimited() { clear(s.pools) }

// EndReservation ends a capacity reservation: nothing is sold into it any more.
func (s *Stock) EndReservation(id string) { s.ended[id] = true }

// Serve sells as many machines of an order as there are, each of the first candidate that
// is left, and reports once per pool what was refused. Taken is how many machines are in
// each capacity reservation; those that are sold are added to it.
func (s *Stock) Serve(order offer.Order, taken map[string]int64, now time.Time) (sold []offer.Candidate, refusals []offer.Refusal) {
	reported := map[pool]bool{}
	for range order.Count {
		for _, c := range order.Candidates {
			from, why := s.exhausted(c, taken)
			if why == "" {
				s.sell(c, taken)
				sold = append(sold, c)
				break
			}
			if !reported[from] {
				reported[from] = true
				s.refused[from] = now.Add(RefusalTime)
				refusals = append(refusals, offer.Refusal{Candidate: c, Reason: why, Message: "nothing is left"})
			}
		}
	}
	return sold, refusals
}

func (s *Stock) sell(c offer.Candidate, taken map[string]int64) {
	for _, from := range []pool{poolOf(c), quotaOf(c.CapacityType)} {
		if left, limited := s.pools[from]; limited {
			s.pools[from] = left - 1
		}
	}
	if c.Reservation != "" {
		taken[c.Reservation]++
	}
}

// exhausted returns what keeps a candidate from being sold, and why; "" if nothing does.
func (s *Stock) exhausted(c offer.Candidate, taken map[string]int64) (pool, offer.RefusalReason) {
	if left, limited := s.pools[quotaOf(c.CapacityType)]; limited && left == 0 {
		return quotaOf(c.CapacityType), offer.RefusedQuota
	}
	if c.Reservation != "" && s.left(c.Reservation, taken) == 0 {
		return poolOf(c), offer.RefusedCapacity
	}
	if left, limited := s.pools[poolOf(c)]; limited && left == 0 {
		return poolOf(c), offer.RefusedCapacity
	}
	return pool{}, ""
}

// left is how many machines may still be launched into a capacity reservation: what its
// offering says less those that are in it; none once it has ended.
func (s *Stock) left(reservation string, taken map[string]int64) int64 {
	places := int64(0)
	for i := range s.types {
		for _, o := range s.types[i].Offerings {
			if o.Reservation == reservation && !s.ended[reservation] {
				places = o.Left
			}
		}
	}
	return max(0, places-taken[reservation])
}

// Market is what a buyer sees: all types with what is known of their kubelets, and which
// offerings were refused of late. Taken is how many machines are in each capacity
// reservation.
func (s *Stock) Market(taken map[string]int64, now time.Time) offer.Market {
	m := offer.Market{ProfileHash: "profile", Types: s.known()}
	if s.index == nil {
		s.index = offer.NewIndex(s.known())
	}
	m.Index = s.index
	for i := range m.Types {
		t := &m.Types[i]
		t.Offerings = slices.Clone(t.Offerings)
		for j := range t.Offerings {
			s.mark(t.Name, &t.Offerings[j], taken, now)
		}
	}
	for i, zone := range Zones {
		m.Status.Subnets = append(m.Status.Subnets, api.SubnetStatus{ID: fmt.Sprintf("subnet-%d", i), Zone: zone, FreeAddresses: 250})
	}
	return m
}

// mark says of an offering how much is left of it, and whether it was refused.
func (s *Stock) mark(instanceType string, o *offer.Offering, taken map[string]int64, now time.Time) {
	if o.Reservation != "" {
		if o.Left = s.left(o.Reservation, taken); o.Left == 0 {
			o.Unavailable = "capacity reservation " + o.Reservation + " is full"
		}
	}
	for _, from := range []pool{{instanceType, o.Zone, o.CapacityType}, quotaOf(o.CapacityType)} {
		if until := s.refused[from]; now.Before(until) {
			o.Unavailable = "insufficient capacity until " + until.UTC().Format(time.TimeOnly)
		}
	}
}

// known returns the types with what their kubelets have shown.
func (s *Stock) known() []offer.InstanceType {
	types := slices.Clone(s.types)
	for i := range types {
		if shown, ok := s.learnt[types[i].Name]; ok {
			types[i].Overhead = types[i].Capacity.Minus(shown)
			maps.DeleteFunc(types[i].Overhead, func(name string, _ int64) bool { return amount.Extended(name) })
			types[i].Capacity = maps.Clone(types[i].Capacity)
			s.devices[types[i].Name].Bound(types[i].Capacity)
		}
	}
	return types
}

// Learn notes what the kubelets of a type have.
func (s *Stock) Learn(o offer.Observed) {
	if s.devices[o.InstanceType] == nil {
		s.devices[o.InstanceType] = offer.Devices{}
	}
	if s.devices[o.InstanceType].Add(o.Node, o.Allocatable) || !maps.Equal(s.learnt[o.InstanceType], o.Allocatable) {
		s.learnt[o.InstanceType], s.index = o.Allocatable, nil
	}
}

// Learnt lists the memory of the types that were learnt, sorted.
func (s *Stock) Learnt() []offer.Learnt {
	var out []offer.Learnt
	for _, name := range slices.Sorted(maps.Keys(s.learnt)) {
		out = append(out, offer.Learnt{InstanceType: name, Memory: s.learnt[name][amount.Memory]})
	}
	return out
}

// Type returns the type of that name as the catalogue has it, or nil.
func (s *Stock) Type(name string) *offer.InstanceType {
	for i := range s.types {
		if s.types[i].Name == name {
			return &s.types[i]
		}
	}
	return nil
}

// Price is what a machine costs an hour; 0 if it is not sold.
func (s *Stock) Price(instanceType, zone, capacityType string) offer.Price {
	if t := s.Type(instanceType); t != nil {
		if o := t.OfferingIn(zone, capacityType); o != nil {
			return o.Price
		}
	}
	return 0
}
