package stock

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

var (
	now      = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	small    = offer.Candidate{InstanceType: "c5.large", Zone: "sim-1a", CapacityType: api.CapacitySpot}
	large    = offer.Candidate{InstanceType: "c5.xlarge", Zone: "sim-1a", CapacityType: api.CapacityOnDemand}
	reserved = offer.Candidate{InstanceType: "c5.large", Zone: "sim-1a", CapacityType: api.CapacityReserved, Reservation: "cr-1"}
)

// withReservation is the catalogue with a reservation of two machines.
func withReservation() *Stock {
	types := Catalogue()
	for i := range types {
		if types[i].Name == reserved.InstanceType {
			types[i].Offerings = append(types[i].Offerings, offer.Offering{
				Zone: reserved.Zone, CapacityType: reserved.CapacityType, Reservation: reserved.Reservation, Left: 2,
			})
		}
	}
	return New(types)
}

func TestServe(t *testing.T) {
	tests := map[string]struct {
		limit   func(*Stock)
		among   []offer.Candidate
		taken   map[string]int64
		sold    []offer.Candidate
		refused []offer.RefusalReason
	}{
		"without limits all of the first": {among: []offer.Candidate{small, large}, sold: []offer.Candidate{small, small, small}},
		"the next where a pool is empty": {
			limit: func(s *Stock) { s.Limit("c5.large", "sim-1a", api.CapacitySpot, 1) },
			among: []offer.Candidate{small, large}, sold: []offer.Candidate{small, large, large}, refused: []offer.RefusalReason{offer.RefusedCapacity},
		},
		"another capacity type over a quota": {
			limit: func(s *Stock) { s.Quota(api.CapacitySpot, 2) },
			among: []offer.Candidate{small, large}, sold: []offer.Candidate{small, small, large}, refused: []offer.RefusalReason{offer.RefusedQuota},
		},
		"less than asked for": {
			limit: func(s *Stock) { s.Limit("c5.large", "sim-1a", api.CapacitySpot, 0) },
			among: []offer.Candidate{small}, refused: []offer.RefusalReason{offer.RefusedCapacity},
		},
		"all after a limit was lifted": {
			limit: func(s *Stock) { s.Quota(api.CapacitySpot, 0); s.Unlimited() },
			among: []offer.Candidate{small}, sold: []offer.Candidate{small, small, small},
		},
		"as far as a reservation has places": {
			among: []offer.Candidate{reserved, large}, taken: map[string]int64{"cr-1": 1},
			sold: []offer.Candidate{reserved, large, large}, refused: []offer.RefusalReason{offer.RefusedCapacity},
		},
		"nothing of a reservation that has ended": {
			limit: func(s *Stock) { s.EndReservation("cr-1") },
			among: []offer.Candidate{reserved}, refused: []offer.RefusalReason{offer.RefusedCapacity},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := withReservation()
			if tt.limit != nil {
				tt.limit(s)
			}
			taken := map[string]int64{}
			maps.Copy(taken, tt.taken)
			sold, refusals := s.Serve(offer.Order{Count: 3, Candidates: tt.among}, taken, now)
			var refused []offer.RefusalReason
			for _, r := range refusals {
				refused = append(refused, r.Reason)
			}
			if !slices.Equal(sold, tt.sold) || !slices.Equal(refused, tt.refused) {
				t.Errorf("sold %v and refused %v, want %v and %v", sold, refused, tt.sold, tt.refused)
			}
		})
	}
}

// offering finds one in a market.
func offering(t *testing.T, m offer.Market, c offer.Candidate) offer.Offering {
	t.Helper()
	for i := range m.Types {
		for _, o := range m.Types[i].Offerings {
			if m.Types[i].Name == c.InstanceType && o.Zone == c.Zone && o.CapacityType == c.CapacityType {
				return o
			}
		}
	}
	t.Fatalf("the market does not have %v", c)
	return offer.Offering{}
}

func TestRefusedOfferingsComeBack(t *testing.T) {
	s := New(Catalogue())
	s.Limit(small.InstanceType, small.Zone, small.CapacityType, 0)
	s.Serve(offer.Order{Count: 1, Candidates: []offer.Candidate{small}}, nil, now)
	for after, available := range map[time.Duration]bool{0: false, RefusalTime - 1: false, RefusalTime: true} {
		m := s.Market(nil, now.Add(after))
		if got := offering(t, m, small).Unavailable == ""; got != available {
			t.Errorf("after %v: available = %v, want %v", after, got, available)
		}
		if offering(t, m, large).Unavailable != "" {
			t.Errorf("after %v another offering is unavailable", after)
		}
	}
}

func TestMarketShowsWhatIsLeftOfReservations(t *testing.T) {
	s := withReservation()
	for _, tt := range []struct{ taken, left int64 }{{0, 2}, {1, 1}, {2, 0}, {3, 0}} {
		o := offering(t, s.Market(map[string]int64{"cr-1": tt.taken}, now), reserved)
		if o.Left != tt.left || (o.Unavailable == "") != (tt.left > 0) {
			t.Errorf("with %d machines in it: %d left, unavailable %q, want %d", tt.taken, o.Left, o.Unavailable, tt.left)
		}
	}
}

func TestMarketShowsWhatWasLearnt(t *testing.T) {
	s := New(Catalogue())
	before := s.Market(nil, now).Index
	shown := amount.List{amount.CPU: 1900, amount.Memory: 3 * gibi}
	s.Learn(offer.Observed{InstanceType: "c5.large", Allocatable: shown})
	m := s.Market(nil, now)
	i := slices.IndexFunc(m.Types, func(t offer.InstanceType) bool { return t.Name == "c5.large" })
	if got := m.Types[i].Allocatable(); got[amount.Memory] != shown[amount.Memory] {
		t.Errorf("allocatable memory is %d, want %d", got[amount.Memory], shown[amount.Memory])
	}
	if m.Index == before {
		t.Error("the index is that of the types before")
	}
	if got := s.Learnt(); len(got) != 1 || got[0].Memory != shown[amount.Memory] {
		t.Errorf("learnt = %v", got)
	}
}

func TestPrice(t *testing.T) {
	s := New(Catalogue())
	spot, onDemand := s.Price("c5.large", "sim-1a", api.CapacitySpot), s.Price("c5.large", "sim-1a", api.CapacityOnDemand)
	if spot == 0 || spot >= onDemand {
		t.Errorf("spot costs %v and on demand %v", spot, onDemand)
	}
	if got := s.Price("m5.metal", "sim-1a", api.CapacitySpot); got != 0 {
		t.Errorf("what is not sold costs %v", got)
	}
}
