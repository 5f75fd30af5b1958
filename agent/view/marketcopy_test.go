package view_test

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// A copy shares the offerings of all types of which nothing is withheld.
func TestMarketCopySharesWhatIsNotWithheld(t *testing.T) {
	offerings := func() []offer.Offering {
		return []offer.Offering{{Zone: "a", CapacityType: api.CapacitySpot}, {Zone: "b", CapacityType: api.CapacitySpot, Unavailable: "short"}}
	}
	types := []offer.InstanceType{{Name: "c5.large", Offerings: offerings()}, {Name: "m5.large", Offerings: offerings()}}
	m := view.CopyMarket(types)
	m.Withhold("m5.large", "c", api.CapacitySpot, "not there")
	m.Withhold("m5.xlarge", "a", api.CapacitySpot, "not there")
	if &m.Types[0] != &types[0] {
		t.Error("a market from which nothing is withheld is a copy")
	}
	m.Withhold("m5.large", "a", api.CapacitySpot, "interrupted")
	m.Withhold("m5.large", "b", api.CapacitySpot, "interrupted")
	if got := m.Types[1].Offerings; got[0].Unavailable != "interrupted" || got[1].Unavailable != "short" {
		t.Errorf("unavailable because %q and %q", got[0].Unavailable, got[1].Unavailable)
	}
	if types[1].Offerings[0].Unavailable != "" {
		t.Error("the market itself has been changed")
	}
	if &m.Types[0].Offerings[0] != &types[0].Offerings[0] {
		t.Error("offerings of a type of which nothing is withheld are a copy")
	}
}
