package api

import (
	"slices"

	"k8s.io/utils/ptr"
)

// sizeLabels are the keys on which any requirement replaces the default choice
// of instance categories and generations.
var sizeLabels = []string{
	LabelInstanceType, LabelInstanceFamily, LabelInstanceCategory, LabelInstanceGeneration,
	LabelInstanceSize, LabelInstanceCPU, LabelInstanceMemory,
}

// Defaulted returns a copy with the defaults of the API added: requirements for
// what neither requirements, instanceTypes nor labels speak of, drift and the pod
// binding. Not the disruption budget: if nothing is said, empty nodes have none. It is
// idempotent and never changes its argument.
func (p *Provisioner) Defaulted() *Provisioner {
	out := p.DeepCopy()
	out.Spec.Requirements = append(out.Spec.Requirements, missingRequirements(p.EffectiveRequirements())...)
	if out.Spec.PodBinding == "" {
		out.Spec.PodBinding = BindImmediate
	}
	if out.Spec.Disruption == nil {
		out.Spec.Disruption = &Disruption{}
	}
	if out.Spec.Disruption.Drift == nil {
		out.Spec.Disruption.Drift = ptr.To(true)
	}
	return out
}

// missingRequirements returns the default requirements on which said is silent.
func missingRequirements(said []Requirement) []Requirement {
	silent := func(keys ...string) bool {
		return !slices.ContainsFunc(said, func(r Requirement) bool { return slices.Contains(keys, r.Key) })
	}
	var out []Requirement
	for _, r := range []Requirement{
		{Key: LabelOS, Operator: OpIn, Values: []string{"linux"}},
		{Key: LabelArch, Operator: OpIn, Values: []string{"amd64"}},
		{Key: LabelCapacityType, Operator: OpIn, Values: []string{CapacityOnDemand}},
	} {
		if silent(r.Key) {
			out = append(out, r)
		}
	}
	if silent(sizeLabels...) {
		out = append(out,
			Requirement{Key: LabelInstanceCategory, Operator: OpIn, Values: []string{"c", "m", "r"}},
			Requirement{Key: LabelInstanceGeneration, Operator: OpGt, Values: []string{"2"}})
	}
	return out
}
