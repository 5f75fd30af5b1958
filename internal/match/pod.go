package match

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// PreferredTerm is a preferred node affinity term.
type PreferredTerm struct {
	Weight       int32
	Requirements Requirements
}

// Places returns the alternatives of what a pod requires of its node's labels,
// in the order in which they are to be tried: its node selector with each of
// its required affinity terms, each with each place that its volumes allow.
func Places(t *cluster.Template, volumes []Requirements) ([]Requirements, Miss) {
	base := fromSelector(t.NodeSelector)
	terms := []Requirements{base}
	if required := requiredTerms(t.Affinity); required != nil {
		terms = terms[:0]
		var last Miss
		for i := range required {
			term, miss := fromTerm(&required[i])
			if miss.Missed() {
				last = miss
				continue
			}
			terms = append(terms, base.And(term))
		}
		if len(terms) == 0 {
			return nil, last
		}
	}
	out := combine(terms, volumes)
	if len(out) > maxAlternatives {
		return nil, Miss{Kind: Unsupported, Want: fmt.Sprintf("the pod's affinity terms and volumes have more than %d combinations", maxAlternatives)}
	}
	return out, Miss{}
}

func requiredTerms(a *corev1.Affinity) []corev1.NodeSelectorTerm {
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
}

// AsksFor reports whether a pod itself requires something of a label, rather
// than its volumes.
func AsksFor(t *cluster.Template, key string) bool {
	asks := func(r Requirements) bool { _, ok := r.Get(key); return ok }
	return asks(fromSelector(t.NodeSelector)) || slices.ContainsFunc(requiredTerms(t.Affinity), func(term corev1.NodeSelectorTerm) bool {
		r, _ := fromTerm(&term)
		return asks(r)
	})
}

// Preferences returns the preferred node affinity terms, the least important
// first. Terms that match every node or none are left out.
func Preferences(a *corev1.Affinity) []PreferredTerm {
	if a == nil || a.NodeAffinity == nil {
		return nil
	}
	var out []PreferredTerm
	for _, p := range a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		term, miss := fromTerm(&p.Preference)
		if p.Weight > 0 && !miss.Missed() {
			out = append(out, PreferredTerm{Weight: p.Weight, Requirements: term})
		}
	}
	slices.SortStableFunc(out, func(a, b PreferredTerm) int { return cmp.Compare(a.Weight, b.Weight) })
	return out
}
