package view_test

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// A market is marked in a copy that shares the offerings of all types that are not marked.
func TestMarksShareWhatTheyDoNotMark(t *testing.T) {
	offerings := func() []offer.Offering {
		return []offer.Offering{{Zone: "a", CapacityType: api.CapacitySpot}, {Zone: "b", CapacityType: api.CapacitySpot, Unavailable: "short"}}
	}
	types := []offer.InstanceType{{Name: "c5.large", Offerings: offerings()}, {Name: "m5.large", Offerings: offerings()}}
	m := view.NewMarks(types)
	m.Find("m5.large", "c", api.CapacitySpot, "not there")
	m.Find("m5.xlarge", "a", api.CapacitySpot, "not there")
	if &m.Types[0] != &types[0] {
		t.Error("a market without a mark is a copy")
	}
	m.Find("m5.large", "a", api.CapacitySpot, "interrupted")
	m.Find("m5.large", "b", api.CapacitySpot, "interrupted")
	if got := m.Types[1].Offerings; got[0].Unavailable != "interrupted" || got[1].Unavailable != "short" {
		t.Errorf("marked as %q and %q", got[0].Unavailable, got[1].Unavailable)
	}
	if types[1].Offerings[0].Unavailable != "" {
		t.Error("the market itself has been marked")
	}
	if &m.Types[0].Offerings[0] != &types[0].Offerings[0] {
		t.Error("offerings of a type without a mark are a copy")
	}
}
