package aws

import (
	"fmt"
	"sync"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// How long an offering is unavailable after EC2 has refused it.
const (
	shortFor       = 3 * time.Minute
	unsupportedFor = 30 * time.Minute
)

// pool is a supply of machines that can run out: an instance type in a zone as spot,
// on-demand or in a capacity reservation, or a quota. All node profiles share it. Machines that
// EC2 refuses for another reason may be refused for what they are built from, so that their
// pool is that of a setup alone.
type pool struct{ instanceType, zone, capacityType, reservation, setup string }

// shortages remembers which offerings EC2 refused.
type shortages struct {
	now func() time.Time

	mu      sync.Mutex
	pools   map[pool]shortage
	version uint64 // changes with the content
}

type shortage struct {
	reason string
	until  time.Time
	vcpus  int64 // it concerns machines with at least as many
}

func newShortages(now func() time.Time) *shortages {
	return &shortages{now: now, pools: map[pool]shortage{}}
}

// add remembers a refusal of a machine of the setup with as many vCPUs. If a quota is too small for it, all
// offerings that count towards that quota and have at least as many vCPUs become unavailable, in all
// zones: smaller machines may still fit.
func (s *shortages) add(c offer.Candidate, setup string, reason offer.RefusalReason, vcpus int64) {
	p, least := poolOf(c, setup), int64(0)
	text, hold := "refused", shortFor
	switch reason {
	case offer.RefusedCapacity:
		p, text = poolOf(c, ""), "insufficient capacity"
	case offer.RefusedQuota:
		p = quotaPool(c)
		text, least = fmt.Sprintf("the account's quota has no room for %d vCPUs", vcpus), vcpus
	case offer.RefusedUnsupported:
		text, hold = "not supported in this zone", unsupportedFor
	case offer.RefusedUnauthorized:
		text = "not authorised"
	case offer.RefusedEnded:
		text = "a machine ended right after its launch, not bought"
	case offer.RefusedAddresses:
		return // the subnet is full; the offering is not short
	}
	now := s.now()
	until := now.Add(hold)
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.pools[p]; ok && now.Before(known.until) && known.vcpus < least {
		return // smaller machines were refused too
	}
	s.pools[p] = shortage{reason: fmt.Sprintf("%s until %s", text, until.UTC().Format(time.TimeOnly)), until: until, vcpus: least}
	s.version++
}

// quotaPool is the pool of all offerings that share a vCPU quota: the standard instance
// families have one quota together, and each kind of special hardware has its own. Spot and
// on-demand have separate quotas
// (https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html). A capacity reservation counts towards
// the on-demand quota from the start, used or not
// (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-reservations.html#capacity-reservations-limitations),
// so that machines in it find room although others do not.
func quotaPool(c offer.Candidate) pool {
	if c.Reservation != "" {
		return poolOf(c, "")
	}
	_, category, _, _ := offer.SplitName(c.InstanceType)
	switch category {
	case "a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z":
		category = "standard"
	case "g", "gr", "vt":
		category = "g"
	}
	return pool{instanceType: "quota " + category, capacityType: c.CapacityType}
}

func poolOf(c offer.Candidate, setup string) pool {
	return pool{c.InstanceType, c.Zone, c.CapacityType, c.Reservation, setup}
}

// reason says why an offering with as many vCPUs is unavailable to a setup. It is empty if it is
// available.
func (s *shortages) reason(c offer.Candidate, setup string, vcpus int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pools) == 0 {
		return ""
	}
	now := s.now()
	for _, p := range []pool{poolOf(c, ""), poolOf(c, setup), quotaPool(c)} {
		if short, ok := s.pools[p]; ok && now.Before(short.until) && vcpus >= short.vcpus {
			return short.reason
		}
	}
	return ""
}

// state drops shortages that are over, and returns a number that changes with the content.
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

// own returns the setup if anything is refused to it alone, and otherwise the empty string.
func (s *shortages) own(setup string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.pools {
		if p.setup == setup {
			return setup
		}
	}
	return ""
}
