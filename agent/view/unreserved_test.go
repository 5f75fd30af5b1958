package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// A node whose reservation has ended costs what the market says. If that does not say it, its price is not known: the one
// that it has is a ten-thousandth of that.
func TestPriceWithoutReservation(t *testing.T) {
	selling := func(capacityType string, price offer.Price) *Provisioner {
		return &Provisioner{Market: offer.Market{Types: []offer.InstanceType{{Name: "m5.large", Offerings: []offer.Offering{{Zone: "z1", CapacityType: capacityType, Price: price}}}}}}
	}
	for name, c := range map[string]struct {
		p    *Provisioner
		want map[string]string
	}{
		"the market sells it":              {selling(api.CapacityOnDemand, 96_000), map[string]string{api.AnnotationHourlyPrice: "96000"}},
		"its price is not known":           {selling(api.CapacityOnDemand, 0), map[string]string{}},
		"the market sells reserved ones":   {selling(api.CapacityReserved, 10), map[string]string{}},
		"the market is not known":          {&Provisioner{}, map[string]string{}},
		"the Provisioner is gone for good": {nil, map[string]string{}},
	} {
		n := &cluster.Node{
			Initialized: true, Annotations: map[string]string{api.AnnotationHourlyPrice: "10"},
			Labels: map[string]string{api.LabelCapacityType: api.CapacityReserved, api.LabelReservationID: "cr-1", api.LabelReservationType: api.ReservationDefault},
		}
		change, ended := Unreserved(c.p, n, offer.Instance{InstanceType: "m5.large", Zone: "z1", CapacityType: api.CapacityOnDemand})
		if !ended {
			t.Errorf("%s: nothing changes", name)
		}
		change.ApplyTo(n)
		if diff := cmp.Diff(c.want, n.Annotations, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if diff := cmp.Diff(map[string]string{api.LabelCapacityType: api.CapacityOnDemand}, n.Labels); diff != "" {
			t.Errorf("%s: labels -want +got:\n%s", name, diff)
		}
	}
}
