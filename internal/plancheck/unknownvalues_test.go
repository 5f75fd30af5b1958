package plancheck_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/plancheck"
)

// A value that no machine has is told of also where others leave something to buy,
// and a type of another region is not taken for a misspelling.
func TestUnknownValues(t *testing.T) {
	in := func(key string, values ...string) []api.Requirement {
		return []api.Requirement{{Key: key, Operator: api.OpIn, Values: values}}
	}
	notIn := func(key string, values ...string) []api.Requirement {
		return []api.Requirement{{Key: key, Operator: api.OpNotIn, Values: values}}
	}
	const at = "spec.requirements[0]"
	excludes := func(text, meant string) finding.List {
		return finding.List{{Path: at, Text: finding.Plain(text + ", so this excludes nothing"), Advice: finding.Say("did you mean %q?", meant)}}
	}
	for name, c := range map[string]struct {
		requirements []api.Requirement
		region       string
		want         finding.List
	}{
		"a typo among valid types": {in(api.LabelInstanceType, "m5.large", "m5.xlrge"), "us-east-1", finding.List{
			{Severity: finding.Error, Path: at, Text: finding.Plain(`the instance type "m5.xlrge" does not exist`), Advice: finding.Plain(`did you mean "m5.xlarge"?`)},
		}},
		"a type of another region": {in(api.LabelInstanceType, "p3.8xlarge"), "us-east-1", finding.List{
			{Severity: finding.Warning, Path: at, Text: finding.Plain("p3.8xlarge exists, but not in us-east-1"), Advice: finding.Plain("remove it, or replace it with a type that the region sells")},
		}},
		"a type of some region":              {in(api.LabelInstanceType, "p3.8xlarge"), "", nil},
		"a type newer than the table":        {in(api.LabelInstanceType, "zz99.metal"), "us-east-1", finding.List{{Severity: finding.Warning, Path: at, Text: finding.Plain(`the instance type "zz99.metal" does not exist`), Advice: finding.Plain(`did you mean "z1d.metal"?`)}}},
		"a family with a typo":               {in(api.LabelInstanceFamily, "m5", "r66i"), "us-east-1", finding.List{{Severity: finding.Warning, Path: at, Text: finding.Plain(`no instance type has karpenter.k8s.aws/instance-family "r66i"`), Advice: finding.Plain(`did you mean "r6i"?`)}}},
		"a label of one's own":               {in("example.com/team", "a"), "us-east-1", nil},
		"an exclusion with a typo":           {notIn(api.LabelInstanceType, "m5.xlrge", "m5.xlarge"), "us-east-1", excludes(`the instance type "m5.xlrge" does not exist`, "m5.xlarge")},
		"an exclusion in capitals":           {notIn(api.LabelInstanceFamily, "T3A"), "us-east-1", excludes(`no instance type has karpenter.k8s.aws/instance-family "T3A"`, "t3a")},
		"a size with a typo":                 {notIn(api.LabelInstanceSize, "xlrge"), "us-east-1", excludes(`no instance type has karpenter.k8s.aws/instance-size "xlrge"`, "xlarge")},
		"exclusions of what may come":        {slices.Concat(notIn(api.LabelInstanceFamily, "m99g", "m5zz", "mac2"), notIn(api.LabelInstanceType, "m99g.large", "m5.metal-99xl"), notIn(api.LabelInstanceGeneration, "99"), notIn(api.LabelInstanceSize, "metal-99xl"), notIn(api.LabelInstanceGPUName, "b300")), "us-east-1", nil},
		"an excluded type of another region": {notIn(api.LabelInstanceType, "p3.8xlarge"), "us-east-1", nil},
		"a zone in capitals":                 {notIn(api.LabelZone, "eu-west-1A"), "", finding.List{{Path: at, Text: finding.Plain(`no zone is called "eu-west-1A"`), Advice: finding.Plain(`did you mean "eu-west-1a"?`)}}},
		"a region and the ID of a zone": {in(api.LabelZone, "eu-west-1", "euw1-az1", "us-gov-west-1a", "us-east-1-bos-1a"), "", finding.List{
			{Path: at, Text: finding.Plain(`"eu-west-1" is a region and no zone`), Advice: finding.Plain("name its zones, such as eu-west-1a")},
			{Path: at, Text: finding.Plain(`"euw1-az1" is the ID of a zone`), Advice: finding.Plain("write the name of the zone, such as us-east-1a")},
		}},
		"a zone, which is no hardware": {in(api.LabelZone, "us-east-1z"), "us-east-1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.ProvisionerSpec{Requirements: c.requirements}}
			if diff := cmp.Diff(c.want, plancheck.UnknownValues(p, offer.Embedded(), c.region)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestForeignZones(t *testing.T) {
	p := &api.Provisioner{Spec: api.ProvisionerSpec{Requirements: []api.Requirement{
		{Key: api.LabelZone, Operator: api.OpIn, Values: []string{"us-east-1a", "eu-west-1a", "anywhere", "us-east-1-bos-1a"}},
	}}}
	want := finding.List{{
		Severity: finding.Error, Path: "spec.requirements[0]", Text: finding.Plain("zone eu-west-1a is in eu-west-1, not in us-east-1"),
		Advice: finding.Plain("correct the zone, or set its region with --region"),
	}}
	if diff := cmp.Diff(want, plancheck.ForeignZones(p, "us-east-1", "with --region")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A choice that what can be bought does not leave is told of before anything is applied.
func TestTooLittleChoice(t *testing.T) {
	sold := func(name, family, zone string) offer.InstanceType {
		return offer.InstanceType{
			Name: name, Labels: map[string][]string{api.LabelInstanceFamily: {family}},
			Offerings: []offer.Offering{{Zone: zone, CapacityType: api.CapacityOnDemand, Price: 1}},
		}
	}
	demand := func(key string, count int32) api.Requirement {
		return api.Requirement{Key: key, Operator: api.OpExists, MinValues: &count}
	}
	p := &api.Provisioner{Spec: api.ProvisionerSpec{Requirements: []api.Requirement{
		demand(api.LabelInstanceFamily, 2), demand(api.LabelInstanceFamily, 3), demand(api.LabelZone, 2), demand("beta.kubernetes.io/arch", 1),
	}}}
	types := []offer.InstanceType{sold("m5.a", "m5", "a"), sold("m5.b", "m5", "a"), sold("c5.a", "c5", "a")}
	got := plancheck.Subject{Provisioner: p}.Choice(types)
	var paths []string
	for _, f := range got {
		paths = append(paths, f.Path)
	}
	if diff := cmp.Diff([]string{"spec.requirements[1]", "spec.requirements[2]", "spec.requirements[3]"}, paths); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
