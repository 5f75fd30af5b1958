package match

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// PodTerm is a term of a pod's affinity or anti-affinity.
type PodTerm struct {
	*corev1.PodAffinityTerm
	Weight int32 // of a preference; 0 where the term is required
}

// Required reports whether the term is no preference.
func (t PodTerm) Required() bool { return t.Weight == 0 }

// AffinityTerms lists the terms of a template's pod affinity.
func AffinityTerms(t *cluster.Template) []PodTerm {
	if t.Affinity == nil || t.Affinity.PodAffinity == nil {
		return nil
	}
	a := t.Affinity.PodAffinity
	return termsOf(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)
}

// AntiAffinityTerms lists the terms of a template's pod anti-affinity.
func AntiAffinityTerms(t *cluster.Template) []PodTerm {
	if t.Affinity == nil || t.Affinity.PodAntiAffinity == nil {
		return nil
	}
	a := t.Affinity.PodAntiAffinity
	return termsOf(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution)
}

// termsOf lists the terms that are required, and the preferences that weigh something.
func termsOf(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) []PodTerm {
	var out []PodTerm
	for i := range required {
		out = append(out, PodTerm{PodAffinityTerm: &required[i]})
	}
	for i := range preferred {
		if p := &preferred[i]; p.Weight > 0 {
			out = append(out, PodTerm{PodAffinityTerm: &p.PodAffinityTerm, Weight: p.Weight})
		}
	}
	return out
}

// RequiredTerms leaves out the preferences.
func RequiredTerms(terms []PodTerm) []PodTerm {
	return slices.DeleteFunc(slices.Clone(terms), func(t PodTerm) bool { return !t.Required() })
}

// TopologyKeys lists the keys of the terms.
func TopologyKeys(terms []PodTerm) []string {
	var out []string
	for _, term := range terms {
		out = append(out, term.TopologyKey)
	}
	return out
}

// TermKeys lists the labels of pods that the terms look at.
func TermKeys(terms []PodTerm) []string {
	var out []string
	for _, term := range terms {
		out = append(out, SelectorKeys(term.LabelSelector)...)
		out = append(append(out, term.MatchLabelKeys...), term.MismatchLabelKeys...)
	}
	return out
}
