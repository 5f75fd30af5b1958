package plancheck_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/plancheck"
)

func TestLeaving(t *testing.T) {
	app := map[string]string{"app": "web"}
	s := &cluster.Snapshot{
		Nodes: []cluster.Node{{Name: "a", Provisioner: "p"}, {Name: "b", Provisioner: "other"}},
		Pods: []cluster.Pod{
			{PodKey: cluster.PodKey{Namespace: "shop", Name: "web-1"}, NodeName: "a", Running: true, Template: &cluster.Template{Labels: app}},
			{PodKey: cluster.PodKey{Namespace: "shop", Name: "web-2"}, NodeName: "b", Running: true, Template: &cluster.Template{Labels: app}},
			{PodKey: cluster.PodKey{Namespace: "kube-system", Name: "proxy"}, NodeName: "a", Template: &cluster.Template{DaemonSet: true}},
		},
		PodDisruptionBudgets: []cluster.PodDisruptionBudget{
			{Namespace: "shop", Name: "closed", Selector: &metav1.LabelSelector{MatchLabels: app}},
			{Namespace: "shop", Name: "healthy", Selector: &metav1.LabelSelector{MatchLabels: app}, Healthy: true},
			{Namespace: "shop", Name: "open", Selector: &metav1.LabelSelector{MatchLabels: app}, DisruptionsAllowed: 1},
			{Namespace: "bank", Name: "elsewhere", Selector: &metav1.LabelSelector{MatchLabels: app}},
		},
	}
	want := plancheck.Departure{Nodes: 1, Pods: 1, Budgets: []string{"shop/closed"}}
	if diff := cmp.Diff(want, plancheck.Leaving("p", s)); diff != "" {
		t.Errorf("departure (-want +got):\n%s", diff)
	}
}

func TestSelectNamesTheRequirementThatRemovedTheLastType(t *testing.T) {
	types := offer.Embedded().Types(offer.Settings{Region: "us-east-1"})
	types[0].Offerings = append(slices.Clone(types[0].Offerings), offer.Offering{CapacityType: api.CapacityReserved, Reservation: "cr-1"})
	claim := func(key, value string) plancheck.Claim {
		return plancheck.Claim{Requirement: api.Requirement{Key: key, Operator: api.OpIn, Values: []string{value}}}
	}
	tests := map[string]struct {
		claims []plancheck.Claim
		last   string
	}{
		"none":                     {[]plancheck.Claim{claim(api.LabelInstanceFamily, "m5"), claim(api.LabelZone, "us-east-1a")}, ""},
		"the second":               {[]plancheck.Claim{claim(api.LabelArch, "arm64"), claim(api.LabelInstanceFamily, "m5")}, api.LabelInstanceFamily},
		"a label of one's own":     {[]plancheck.Claim{claim("example.com/team", "a")}, ""},
		"a deprecated alias":       {[]plancheck.Claim{claim("beta.kubernetes.io/arch", "mips")}, "beta.kubernetes.io/arch"},
		"zones and capacity types": {[]plancheck.Claim{claim(api.LabelZone, "us-east-1a"), claim(api.LabelCapacityType, "rented")}, api.LabelCapacityType},
		"a capacity reservation":   {[]plancheck.Claim{claim(api.LabelReservationID, "cr-1")}, ""},
		"another one":              {[]plancheck.Claim{claim(api.LabelReservationID, "cr-2")}, api.LabelReservationID},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := plancheck.Select(types, tt.claims)
			last := ""
			if got.Last != nil {
				last = got.Last.Key
			}
			if last != tt.last || (len(got.Types) == 0) != (tt.last != "") {
				t.Errorf("last = %q with %d types left, want %q", last, len(got.Types), tt.last)
			}
		})
	}
}

// An offering that is none of a reservation's has no value of its label that would count as a choice.
func TestChoiceCountsOnlyLabelsThatOfferingsHave(t *testing.T) {
	types := offer.Embedded().Types(offer.Settings{Region: "us-east-1"})[:2]
	types[0].Offerings = append(slices.Clone(types[0].Offerings), offer.Offering{CapacityType: api.CapacityReserved, Reservation: "cr-1"})
	for least, want := range map[int32]int{1: 0, 2: 1} {
		p := &api.Provisioner{Spec: api.ProvisionerSpec{Requirements: []api.Requirement{
			{Key: api.LabelReservationID, Operator: api.OpExists, MinValues: &least},
		}}}
		if found := (plancheck.Subject{Provisioner: p}).Choice(types); len(found) != want {
			t.Errorf("a choice of %d among one reservation: %v", least, found)
		}
	}
}
