package launch

import (
	"slices"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// An order that is refused for many offerings becomes one event for each reason.
func TestRefusalsAreCombined(t *testing.T) {
	refusal := func(reason offer.RefusalReason, instanceType, message string) offer.Refusal {
		return offer.Refusal{Candidate: offer.Candidate{InstanceType: instanceType, Zone: "a", CapacityType: "spot"}, Reason: reason, Message: message}
	}
	got := combined([]offer.Refusal{
		refusal(offer.RefusedCapacity, "m5.large", "none left"), refusal(offer.RefusedCapacity, "m5.xlarge", "none left"),
		refusal(offer.RefusedQuota, "c5.large", "too many"), refusal(offer.RefusedCapacity, "m5.2xlarge", "none left"),
	})
	want := []string{
		string(offer.RefusedCapacity) + ": spot m5.large in a and 2 other offerings: none left",
		string(offer.RefusedQuota) + ": spot c5.large in a: too many",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
