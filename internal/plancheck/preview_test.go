package plancheck_test

import (
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/plancheck"
)

// A type whose price is not known is not bought on demand. It is bought in other ways.
func TestTypesWithoutAPrice(t *testing.T) {
	sold := func(price offer.Price) offer.Market {
		return offer.Market{Types: []offer.InstanceType{{
			Name:      "m99.large",
			Labels:    map[string][]string{api.LabelInstanceType: {"m99.large"}, api.LabelArch: {"amd64"}, api.LabelOS: {"linux"}},
			Offerings: []offer.Offering{{Zone: "eu-west-1a", CapacityType: api.CapacityOnDemand, Price: price}},
		}}}
	}
	p := &api.Provisioner{}
	p.Spec.Requirements = []api.Requirement{{Key: api.LabelInstanceType, Operator: api.OpIn, Values: []string{"m99.large"}}}
	const want = "nothing can be bought: the on-demand price of m99.large is not known"
	for price, said := range map[offer.Price]bool{0: true, 1: false} {
		_, findings := plancheck.Look(plancheck.Subject{Provisioner: p, Market: sold(price), Catalogue: offer.Embedded(), Region: "eu-west-1"})
		if got := findings.Summary(); strings.Contains(got, want) != said {
			t.Errorf("price %d: %s", price, got)
		}
	}
}
