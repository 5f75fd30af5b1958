package aws

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

func TestQuotasBySharedHardware(t *testing.T) {
	s := newShortages(time.Now)
	s.add(offer.Candidate{InstanceType: "m5.large", Zone: "a", CapacityType: api.CapacitySpot}, "default", offer.RefusedQuota, 2)
	tests := map[string]struct {
		instanceType, capacityType string
		held                       bool
	}{
		"the type in another zone":         {"m5.large", api.CapacitySpot, true},
		"another standard family":          {"c7gd.large", api.CapacitySpot, true},
		"the other capacity type":          {"m5.large", api.CapacityOnDemand, false},
		"hardware with a quota of its own": {"p4d.24xlarge", api.CapacitySpot, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := s.reason(offer.Candidate{InstanceType: tt.instanceType, Zone: "b", CapacityType: tt.capacityType}, "default", 2); (got != "") != tt.held {
				t.Errorf("reason = %q", got)
			}
		})
	}
}

// A quota that has no room for a machine may have room for a smaller one.
func TestQuotaHoldsBackLargeMachines(t *testing.T) {
	k := clocktesting.NewFakeClock(time.Now())
	s := newShortages(k.Now)
	machine := offer.Candidate{InstanceType: "m5.4xlarge", Zone: "a", CapacityType: api.CapacityOnDemand}
	held := func(want map[int64]bool) {
		t.Helper()
		for vcpus, held := range want {
			if got := s.reason(machine, "default", vcpus); (got != "") != held {
				t.Errorf("%d vCPUs: reason = %q", vcpus, got)
			}
		}
	}
	s.add(machine, "default", offer.RefusedQuota, 16)
	held(map[int64]bool{8: false, 16: true, 32: true})
	s.add(machine, "default", offer.RefusedQuota, 4)
	k.Step(time.Minute)
	s.add(machine, "default", offer.RefusedQuota, 32)
	held(map[int64]bool{2: false, 4: true, 8: true, 32: true})
	k.Step(shortFor)
	held(map[int64]bool{4: false, 32: false})
	s.add(machine, "default", offer.RefusedQuota, 32)
	held(map[int64]bool{16: false, 32: true})
}

// A capacity reservation has its part of the quota, whatever on-demand machines are refused.
func TestQuotaOfReservations(t *testing.T) {
	s := newShortages(time.Now)
	machine := offer.Candidate{InstanceType: "m5.large", Zone: "a", CapacityType: api.CapacityOnDemand}
	reserved := func(id string) offer.Candidate {
		return offer.Candidate{InstanceType: "m5.large", Zone: "a", CapacityType: api.CapacityReserved, Reservation: id}
	}
	s.add(machine, "default", offer.RefusedQuota, 2)
	if why := s.reason(reserved("cr-1"), "default", 2); why != "" {
		t.Errorf("a machine in a reservation is held back: %s", why)
	}
	s.add(reserved("cr-1"), "default", offer.RefusedQuota, 2)
	if s.reason(reserved("cr-1"), "default", 2) == "" {
		t.Error("what EC2 has refused is not held back")
	}
	if why := s.reason(reserved("cr-2"), "default", 2); why != "" {
		t.Errorf("a machine in another reservation is held back: %s", why)
	}
}

// What a node profile makes EC2 refuse is refused to that profile alone. Capacity and quotas run out for all.
func TestRefusalsOfASetup(t *testing.T) {
	machine := offer.Candidate{InstanceType: "m5.large", Zone: "a", CapacityType: api.CapacitySpot}
	for reason, shared := range map[offer.RefusalReason]bool{
		offer.RefusedCapacity: true, offer.RefusedQuota: true,
		offer.RefusedUnsupported: false, offer.RefusedUnauthorized: false, offer.RefusedOther: false,
	} {
		s := newShortages(time.Now)
		s.add(machine, "one", reason, 2)
		if s.reason(machine, "one", 2) == "" {
			t.Errorf("%s: it is not held back", reason)
		}
		if why := s.reason(machine, "another", 2); (why != "") != shared {
			t.Errorf("%s: to another profile it is unavailable for %q", reason, why)
		}
	}
}

func TestUnsupportedOfferingsAreHeldBackLonger(t *testing.T) {
	k := clocktesting.NewFakeClock(time.Now())
	s := newShortages(k.Now)
	s.add(offer.Candidate{InstanceType: "m5.large", Zone: "a", CapacityType: api.CapacitySpot}, "default", offer.RefusedUnsupported, 2)
	before := s.state()
	k.Step(shortFor + time.Second)
	if s.reason(offer.Candidate{InstanceType: "m5.large", Zone: "a", CapacityType: api.CapacitySpot}, "default", 2) == "" || s.state() != before {
		t.Error("it is tried again after three minutes")
	}
	k.Step(unsupportedFor)
	if got := s.reason(offer.Candidate{InstanceType: "m5.large", Zone: "a", CapacityType: api.CapacitySpot}, "default", 2); got != "" || s.state() == before {
		t.Errorf("it is held back for ever: %q", got)
	}
}

func TestLoadConfigFollowsTheEnvironment(t *testing.T) {
	f := start(t)
	key, secret := f.account.AdminCredentials()
	t.Setenv("AWS_ENDPOINT_URL", *f.config.BaseEndpoint)
	t.Setenv("AWS_ACCESS_KEY_ID", key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	cfg, err := LoadConfig(t.Context(), testRegion)
	if err != nil {
		t.Fatal(err)
	}
	f.config = cfg
	f.Cloud = f.newCloud(t)
	if m := f.market(t, nil); m.Blocked != "" || len(m.Types) == 0 {
		t.Errorf("market = %q with %d types", m.Blocked, len(m.Types))
	}
}
