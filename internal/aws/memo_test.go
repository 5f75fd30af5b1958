package aws

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

func TestMemo(t *testing.T) {
	k := &clock{now: time.Now()}
	m := newMemo[int](k.Now, time.Minute, time.Hour)
	asked, broken := 0, error(nil)
	look := func(context.Context) (int, error) { asked++; return asked, broken }
	steps := []struct {
		what      string
		pass      time.Duration
		broken    bool
		want      int
		wantError bool
		wantAsked int
	}{
		{"the first answer is looked up", 0, false, 1, false, 1},
		{"and remembered", 59 * time.Second, false, 1, false, 1},
		{"until it is due", time.Second, false, 2, false, 2},
		{"a failure leaves the old answer", time.Minute, true, 2, false, 3},
		{"and is not repeated at once", retryInterval - time.Second, true, 2, false, 3},
		{"but soon", time.Second, true, 2, false, 4},
		{"an outdated answer is not served", time.Hour, true, 5, true, 5},
		{"and is asked for every time", 0, true, 6, true, 6},
		{"until there is one", 0, false, 7, false, 7},
	}
	for _, s := range steps {
		k.Advance(s.pass)
		broken = nil
		if s.broken {
			broken = errors.New("broken")
		}
		got, err := m.get(t.Context(), "key", look)
		if got != s.want && !s.wantError || (err != nil) != s.wantError || asked != s.wantAsked {
			t.Fatalf("%s: got %d, %v after %d lookups, want %d after %d", s.what, got, err, asked, s.want, s.wantAsked)
		}
	}
}

func TestMemoIsBounded(t *testing.T) {
	m := newMemo[int](time.Now, time.Hour, time.Hour)
	for i := range 3 * maxAnswers {
		if _, err := m.get(t.Context(), fmt.Sprint(i), func(context.Context) (int, error) { return i, nil }); err != nil {
			t.Fatal(err)
		}
	}
	if len(m.answers) > maxAnswers {
		t.Errorf("%d answers are remembered, want at most %d", len(m.answers), maxAnswers)
	}
}

func TestQuotasBySharedHardware(t *testing.T) {
	s := newShortages(time.Now)
	s.add(offer.Candidate{InstanceType: "m5.large", Zone: "a", CapacityType: api.CapacitySpot}, offer.RefusedQuota)
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
			if got := s.reason(offer.Candidate{InstanceType: tt.instanceType, Zone: "b", CapacityType: tt.capacityType}); (got != "") != tt.held {
				t.Errorf("reason = %q", got)
			}
		})
	}
}

func TestUnsupportedOfferingsAreHeldBackLonger(t *testing.T) {
	k := &clock{now: time.Now()}
	s := newShortages(k.Now)
	s.add(offer.Candidate{InstanceType: "m5.large", Zone: "a", CapacityType: api.CapacitySpot}, offer.RefusedUnsupported)
	before := s.state()
	k.Advance(shortFor + time.Second)
	if s.reason(offer.Candidate{InstanceType: "m5.large", Zone: "a", CapacityType: api.CapacitySpot}) == "" || s.state() != before {
		t.Error("it is tried again after three minutes")
	}
	k.Advance(unsupportedFor)
	if got := s.reason(offer.Candidate{InstanceType: "m5.large", Zone: "a", CapacityType: api.CapacitySpot}); got != "" || s.state() == before {
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
