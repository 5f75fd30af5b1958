package plancheck_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/plancheck"
)

// sold is a market of one type in one zone.
func sold(price offer.Price) offer.Market {
	return offer.Market{Types: []offer.InstanceType{{
		Name: "m99.large",
		Labels: map[string][]string{
			api.LabelInstanceType: {"m99.large"}, api.LabelArch: {"amd64"}, api.LabelOS: {"linux"}, api.LabelZone: {"eu-west-1a"},
		},
		Offerings: []offer.Offering{{Zone: "eu-west-1a", CapacityType: api.CapacityOnDemand, Price: price}},
	}}}
}

// anyType is a Provisioner without the defaults that ask for some types only.
func anyType() *api.Provisioner {
	p := &api.Provisioner{}
	p.Spec.Requirements = []api.Requirement{{Key: api.LabelInstanceType, Operator: api.OpIn, Values: []string{"m99.large"}}}
	return p
}

// A type whose price is not known is not bought on demand. It is bought in other ways.
func TestTypesWithoutAPrice(t *testing.T) {
	p := anyType()
	const want = "nothing can be bought: the on-demand price of m99.large is not known"
	for price, said := range map[offer.Price]bool{0: true, 1: false} {
		_, findings := plancheck.Look(plancheck.Subject{Provisioner: p, Market: sold(price), Catalogue: offer.Embedded(), Region: "eu-west-1"})
		if got := findings.Summary(); strings.Contains(got, want) != said {
			t.Errorf("price %d: %s", price, got)
		}
	}
}

// Advice becomes a sentence of its own, so it must not begin with the name of a region.
func TestWhatWasProbablyMeant(t *testing.T) {
	p := anyType()
	p.Spec.Requirements = append(p.Spec.Requirements, api.Requirement{Key: api.LabelZone, Operator: api.OpIn, Values: []string{"eu-west-1q"}})
	_, findings := plancheck.Look(plancheck.Subject{Provisioner: p, Market: sold(1), Catalogue: offer.Embedded(), Region: "eu-west-1"})
	const want = `there is no "eu-west-1q" in eu-west-1: did you mean "eu-west-1a"?`
	if len(findings) == 0 || findings[0].Advice.String() != want {
		t.Errorf("findings %v, want the advice %s", findings, want)
	}
}

// What machines have is said in the units in which people write limits.
func TestLimitBelowAllMachines(t *testing.T) {
	market := sold(1)
	for limit, want := range map[string]string{
		"4":          "memory 4 is less than the smallest machine has: m99.large with 8000Mi",
		"8388608500": "memory 8388608500 is less than the smallest machine has: m99.large with 8388608512",
	} {
		market.Types[0].Capacity = amount.List{amount.Memory: 8000<<20 + 512, amount.CPU: 2000, amount.Pods: 29}
		p := anyType()
		p.Spec.Limits = &api.Limits{Resources: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(limit)}}
		_, findings := plancheck.Look(plancheck.Subject{Provisioner: p, Market: market, Catalogue: offer.Embedded(), Region: "eu-west-1"})
		if !strings.Contains(findings.Error(), want) {
			t.Errorf("findings %v, want %s", findings, want)
		}
	}
}
