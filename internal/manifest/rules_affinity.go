package manifest

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

func affinityRules(a *corev1.Affinity, path *field.Path) finding.List {
	if a == nil {
		return nil
	}
	const required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
	var out finding.List
	if n, at := a.NodeAffinity, path.Child("nodeAffinity"); n != nil {
		if r := n.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
			if len(r.NodeSelectorTerms) == 0 {
				out = append(out, finding.Required(at.Child(required, "nodeSelectorTerms"), finding.Say("must have at least one node selector term"), finding.None))
			}
			for i := range r.NodeSelectorTerms {
				out = append(out, nodeTermRules(&r.NodeSelectorTerms[i], at.Child(required, "nodeSelectorTerms").Index(i))...)
			}
		}
		for i := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			p, at := &n.PreferredDuringSchedulingIgnoredDuringExecution[i], at.Child(preferred).Index(i)
			out = slices.Concat(out, weightRule(p.Weight, at.Child("weight")), nodeTermRules(&p.Preference, at.Child("preference")))
		}
	}
	terms := func(at *field.Path, must []corev1.PodAffinityTerm, may []corev1.WeightedPodAffinityTerm) {
		for i := range must {
			out = append(out, podTermRules(&must[i], at.Child(required).Index(i))...)
		}
		for i := range may {
			at := at.Child(preferred).Index(i)
			out = slices.Concat(out, weightRule(may[i].Weight, at.Child("weight")), podTermRules(&may[i].PodAffinityTerm, at.Child("podAffinityTerm")))
		}
	}
	if p := a.PodAffinity; p != nil {
		terms(path.Child("podAffinity"), p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		terms(path.Child("podAntiAffinity"), p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return out
}

func weightRule(weight int32, path *field.Path) finding.List {
	if weight >= 1 && weight <= 100 {
		return nil
	}
	return finding.List{finding.Invalid(path, weight, finding.Say("must be in the range 1-100"), finding.None)}
}

func nodeTermRules(t *corev1.NodeSelectorTerm, path *field.Path) finding.List {
	var out finding.List
	for i := range t.MatchExpressions {
		r, at := &t.MatchExpressions[i], path.Child("matchExpressions").Index(i)
		out = append(out, operatorRules(r.Operator, r.Values, at, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn,
			corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt)...)
	}
	for i := range t.MatchFields {
		r, at := &t.MatchFields[i], path.Child("matchFields").Index(i)
		out = slices.Concat(out, oneOf(at.Child("key"), r.Key, metav1.ObjectNameField),
			operatorRules(r.Operator, r.Values, at, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn))
	}
	return out
}

func podTermRules(t *corev1.PodAffinityTerm, path *field.Path) finding.List {
	return slices.Concat(topologyRule(t.TopologyKey, path.Child("topologyKey")), selectorRules(t.LabelSelector, path.Child("labelSelector")), selectorRules(t.NamespaceSelector, path.Child("namespaceSelector")))
}

func selectorRules(s *metav1.LabelSelector, path *field.Path) finding.List {
	if s == nil {
		return nil
	}
	var out finding.List
	for i := range s.MatchExpressions {
		r, at := &s.MatchExpressions[i], path.Child("matchExpressions").Index(i)
		out = append(out, operatorRules(r.Operator, r.Values, at, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn,
			metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)...)
	}
	return out
}

// operatorRules: the operator is one of the allowed ones, and has as many values as it needs.
func operatorRules[T ~string](operator T, values []string, path *field.Path, allowed ...T) finding.List {
	if wrong := oneOf(path.Child("operator"), operator, allowed...); len(wrong) > 0 {
		return wrong
	}
	at := path.Child("values")
	switch string(operator) {
	case string(corev1.NodeSelectorOpExists), string(corev1.NodeSelectorOpDoesNotExist):
		if len(values) > 0 {
			return finding.List{finding.Forbidden(at, finding.Say("the operator takes no values"), finding.None)}
		}
	case string(corev1.NodeSelectorOpGt), string(corev1.NodeSelectorOpLt):
		if len(values) != 1 {
			return finding.List{finding.Required(at, finding.Say("the operator takes one value"), finding.None)}
		}
	default:
		if len(values) == 0 {
			return finding.List{finding.Required(at, finding.Say("the operator takes at least one value"), finding.None)}
		}
	}
	return nil
}
