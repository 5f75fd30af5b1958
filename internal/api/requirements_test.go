package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
)

func TestEffectiveRequirements(t *testing.T) {
	p := &Provisioner{Spec: ProvisionerSpec{
		Labels:        map[string]string{"team": "a", "beta.kubernetes.io/os": "linux"},
		InstanceTypes: []string{"m5.xlarge", "m5.large", "m5.large"},
		Requirements: []Requirement{
			{Key: LabelZone, Operator: OpNotIn, Values: []string{"c"}},
			{Key: "failure-domain.beta.kubernetes.io/zone", Operator: OpIn, Values: []string{"b", "a", "b"}},
			{Key: LabelZone, Operator: OpIn, Values: []string{"a", "b"}},
			{Key: LabelInstanceCPU, Operator: OpGt, Values: []string{"4"}},
			{Key: "tier", Operator: OpExists, Values: []string{}},
		},
	}}
	before := p.DeepCopy()
	want := []Requirement{
		{Key: LabelInstanceCPU, Operator: OpGt, Values: []string{"4"}},
		{Key: LabelOS, Operator: OpIn, Values: []string{"linux"}},
		{Key: LabelInstanceType, Operator: OpIn, Values: []string{"m5.large", "m5.xlarge"}},
		{Key: "team", Operator: OpIn, Values: []string{"a"}},
		{Key: "tier", Operator: OpExists},
		{Key: LabelZone, Operator: OpIn, Values: []string{"a", "b"}},
		{Key: LabelZone, Operator: OpNotIn, Values: []string{"c"}},
	}
	if diff := cmp.Diff(want, p.EffectiveRequirements()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(before, p); diff != "" {
		t.Errorf("the Provisioner changed:\n%s", diff)
	}
}

var (
	linux    = Requirement{Key: LabelOS, Operator: OpIn, Values: []string{"linux"}}
	amd64    = Requirement{Key: LabelArch, Operator: OpIn, Values: []string{"amd64"}}
	onDemand = Requirement{Key: LabelCapacityType, Operator: OpIn, Values: []string{CapacityOnDemand}}
	ordinary = Requirement{Key: LabelInstanceCategory, Operator: OpIn, Values: []string{"c", "m", "r"}}
	recent   = Requirement{Key: LabelInstanceGeneration, Operator: OpGt, Values: []string{"2"}}
)

func TestDefaultedRequirements(t *testing.T) {
	exists := func(key string) Requirement { return Requirement{Key: key, Operator: OpExists} }
	arm := Requirement{Key: LabelArch, Operator: OpIn, Values: []string{"arm64"}}
	for name, c := range map[string]struct {
		spec ProvisionerSpec
		want []Requirement
	}{
		"AWS-004: arch":                  {ProvisionerSpec{Requirements: []Requirement{arm}}, []Requirement{arm, linux, onDemand, ordinary, recent}},
		"AWS-005, AWS-008: nothing said": {ProvisionerSpec{}, []Requirement{linux, amd64, onDemand, ordinary, recent}},
		"a custom label":                 {ProvisionerSpec{Labels: map[string]string{"team": "a"}}, []Requirement{linux, amd64, onDemand, ordinary, recent}},
		"AWS-015: arch as label":         {ProvisionerSpec{Labels: map[string]string{LabelArch: "arm64"}}, []Requirement{linux, onDemand, ordinary, recent}},
		"arch under alias":               {ProvisionerSpec{Requirements: []Requirement{exists("beta.kubernetes.io/arch")}}, []Requirement{exists("beta.kubernetes.io/arch"), linux, onDemand, ordinary, recent}},
		"shorthand":                      {ProvisionerSpec{InstanceTypes: []string{"m5.large"}}, []Requirement{linux, amd64, onDemand}},
		"type as label":                  {ProvisionerSpec{Labels: map[string]string{LabelInstanceType: "m5.large"}}, []Requirement{linux, amd64, onDemand}},
		"AWS-009: type":                  {ProvisionerSpec{Requirements: []Requirement{exists(LabelInstanceType)}}, []Requirement{exists(LabelInstanceType), linux, amd64, onDemand}},
		"family":                         {ProvisionerSpec{Requirements: []Requirement{exists(LabelInstanceFamily)}}, []Requirement{exists(LabelInstanceFamily), linux, amd64, onDemand}},
		"AWS-011: category":              {ProvisionerSpec{Requirements: []Requirement{exists(LabelInstanceCategory)}}, []Requirement{exists(LabelInstanceCategory), linux, amd64, onDemand}},
		"generation":                     {ProvisionerSpec{Requirements: []Requirement{exists(LabelInstanceGeneration)}}, []Requirement{exists(LabelInstanceGeneration), linux, amd64, onDemand}},
		"size":                           {ProvisionerSpec{Requirements: []Requirement{exists(LabelInstanceSize)}}, []Requirement{exists(LabelInstanceSize), linux, amd64, onDemand}},
		"CPU":                            {ProvisionerSpec{Requirements: []Requirement{exists(LabelInstanceCPU)}}, []Requirement{exists(LabelInstanceCPU), linux, amd64, onDemand}},
		"memory":                         {ProvisionerSpec{Requirements: []Requirement{exists(LabelInstanceMemory)}}, []Requirement{exists(LabelInstanceMemory), linux, amd64, onDemand}},
		"capacity type":                  {ProvisionerSpec{Requirements: []Requirement{exists(LabelCapacityType)}}, []Requirement{exists(LabelCapacityType), linux, amd64, ordinary, recent}},
		"operating system":               {ProvisionerSpec{Requirements: []Requirement{exists(LabelOS)}}, []Requirement{exists(LabelOS), amd64, onDemand, ordinary, recent}},
		"all of the machine":             {ProvisionerSpec{Requirements: []Requirement{linux, amd64, onDemand, ordinary}}, []Requirement{linux, amd64, onDemand, ordinary}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Provisioner{Spec: c.spec}
			if diff := cmp.Diff(c.want, p.Defaulted().Spec.Requirements); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestDefaultedBehaviour(t *testing.T) {
	got := (&Provisioner{}).Defaulted().Spec
	if diff := cmp.Diff(&Disruption{Drift: ptr.To(true)}, got.Disruption); diff != "" {
		t.Errorf("disruption -want +got:\n%s", diff)
	}
	if got.PodBinding != BindImmediate {
		t.Errorf("podBinding = %q, want %q", got.PodBinding, BindImmediate)
	}
	own := ProvisionerSpec{PodBinding: BindScheduler, Disruption: &Disruption{Budgets: []Budget{{Nodes: "1"}}, Drift: ptr.To(false)}}
	kept := (&Provisioner{Spec: own}).Defaulted().Spec
	if diff := cmp.Diff(own.Disruption, kept.Disruption); diff != "" || kept.PodBinding != BindScheduler {
		t.Errorf("podBinding = %q, disruption -want +got:\n%s", kept.PodBinding, diff)
	}
}
