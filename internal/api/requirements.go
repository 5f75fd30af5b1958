package api

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// EachClaim calls do with all that the Provisioner says about its nodes' labels, and where:
// its requirements, the instanceTypes shorthand and its labels as single-value In.
func (s *ProvisionerSpec) EachClaim(path *field.Path, do func(at *field.Path, r Requirement)) {
	for i, r := range s.Requirements {
		do(path.Child("requirements").Index(i), r)
	}
	if len(s.InstanceTypes) > 0 {
		do(path.Child("instanceTypes"), Requirement{Key: LabelInstanceType, Operator: OpIn, Values: s.InstanceTypes})
	}
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		do(path.Child("labels").Key(key), Requirement{Key: key, Operator: OpIn, Values: []string{s.Labels[key]}})
	}
}

// EffectiveRequirements returns all that the Provisioner says about its nodes'
// labels as one conjunction, with normalised keys and sorted, distinct
// values, in the order of the keys. Two requirements on one key stay two; equal
// ones become one. Defaults are not included: see Defaulted.
func (p *Provisioner) EffectiveRequirements() []Requirement {
	var out []Requirement
	p.Spec.EachClaim(nil, func(_ *field.Path, r Requirement) {
		r.Key, r.Values = NormalizeLabel(r.Key), distinct(r.Values)
		out = append(out, r)
	})
	slices.SortStableFunc(out, func(a, b Requirement) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Operator, b.Operator), slices.Compare(a.Values, b.Values), -cmp.Compare(ptr.Deref(a.MinValues, 0), ptr.Deref(b.MinValues, 0)))
	})
	return slices.CompactFunc(out, func(a, b Requirement) bool {
		return a.Key == b.Key && a.Operator == b.Operator && slices.Equal(a.Values, b.Values)
	})
}

// LeavesToPods reports whether podOverrides leave the key, which is normalised, to each pod: what
// the Provisioner says about it holds only for pods that say nothing.
func (p *Provisioner) LeavesToPods(key string) bool {
	return slices.ContainsFunc(p.Spec.PodOverrides, func(o string) bool { return NormalizeLabel(o) == key })
}

// MinValues lists the labels of which a launch request must offer several values, in the
// order of their keys. Of several requirements on one label the greatest demand counts.
func (p *Provisioner) MinValues() []MinValue {
	var out []MinValue
	for _, r := range p.EffectiveRequirements() {
		count := int(ptr.Deref(r.MinValues, 0))
		if last := len(out) - 1; last >= 0 && out[last].Key == r.Key {
			out[last].Count = max(out[last].Count, count)
		} else if count > 1 {
			out = append(out, MinValue{r.Key, count})
		}
	}
	return out
}

// distinct returns the values sorted and without repetitions, nil for none.
func distinct(values []string) []string {
	if len(values) == 0 {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(values)))
}
