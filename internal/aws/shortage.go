package aws

import (
	"fmt"
	"sync"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// How long an offering that was refused is not asked for again.
const (
	shortFor       = 3 * time.Minute
	unsupportedFor = 30 * time.Minute
)

// pool is what EC2 sells out of: an instance type in a zone, spot, on-demand or in a
// capacity reservation.
type pool struct{ instanceType, zone, capacityType, reservation string }

// shortages remembers which offerings were refused.
type shortages struct {
	now func() time.Time

	mu      sync.Mutex
	pools   map[pool]shortage
	version uint64 // changes with the content
}

type shortage struct {
	reason string
	until  time.Time
}

func newShortages(now func() time.Time) *shortages {
	return &shortages{now: now, pools: map[pool]shortage{}}
}

// add remembers a refusal. A quota is one of the capacity type: the offerings of
// this capacity type that draw on it are held back, whatever the zone.
func (s *shortages) add(c offer.Candidate, reason offer.RefusalReason) {
	p := poolOf(c)
	text, hold := "insufficient capacity", shortFor
	switch reason {
	case offer.RefusedQuota:
		p = quotaPool(c.InstanceType, c.CapacityType)
		text = "the account's quota is used up"
	case offer.RefusedUnsupported:
		text, hold = "not supported in this zone", unsupportedFor
	case offer.RefusedUnauthorized:
		text = "not authorised"
	case offer.RefusedOther:
		text = "refused"
	case offer.RefusedAddresses:
		return // the subnet is short, not the offering
	}
	until := s.now().Add(hold)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pools[p] = shortage{reason: fmt.Sprintf("%s until %s", text, until.UTC().Format(time.TimeOnly)), until: until}
	s.version++
}

// quotaPool stands for all offerings that share a vCPU quota: the standard
// families have one together, each kind of special hardware its own. All spot
// and on-demand quotas are separate.
func quotaPool(instanceType, capacityType string) pool {
	if capacityType == api.CapacityReserved {
		capacityType = api.CapacityOnDemand // a reservation counts towards that quota
	}
	_, category, _, _ := offer.SplitName(instanceType)
	switch category {
	case "a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z":
		category = "standard"
	case "g", "gr", "vt":
		category = "g"
	}
	return pool{instanceType: "quota " + category, capacityType: capacityType}
}

func poolOf(c offer.Candidate) pool {
	return pool{c.InstanceType, c.Zone, c.CapacityType, c.Reservation}
}

// reason returns why an offering is held back, or an empty string.
func (s *shortages) reason(c offer.Candidate) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pools) == 0 {
		return ""
	}
	now := s.now()
	for _, p := range []pool{poolOf(c), quotaPool(c.InstanceType, c.CapacityType)} {
		if short, ok := s.pools[p]; ok && now.Before(short.until) {
			return short.reason
		}
	}
	return ""
}

// state drops what is over and returns a number that changes with the content.
func (s *shortages) state() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for p, short := range s.pools {
		if !now.Before(short.until) {
			delete(s.pools, p)
			s.version++
		}
	}
	return s.version
}
