package model

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// An offering that no pod can use must not change a plan: it would count for the size of pods,
// for the prices of resources and for the work that is done. So it is left out.

// demand is what the pods of some classes require of labels and tolerate of taints.
type demand struct {
	requires    match.Requirements
	tolerations []corev1.Toleration
}

// demandsOf lists what the classes demand, each demand once. Preferences only restrict further
// what they can use.
func demandsOf(classes []*Class) []demand {
	type identity struct{ requires, tolerates string }
	var out []demand
	seen := map[identity]bool{}
	for _, c := range classes {
		if c.Never.Missed() {
			continue
		}
		for _, place := range c.Places {
			if id := (identity{place.String(), c.Tolerates}); !seen[id] {
				seen[id] = true
				out = append(out, demand{place, c.Template.Tolerations})
			}
		}
	}
	return out
}

// demanded tells, by instance type and place, what some demand allows of a pool's offerings.
type demanded [][]bool

func (d demanded) has(o offer.Ranked) bool { return d[o.Type] != nil && d[o.Type][o.Place] }

// demandedOf finds what is demanded of a pool. It is empty where nothing is.
func (s *Supply) demandedOf(p *Pool, demands []demand) demanded {
	var out demanded
	for _, d := range demands {
		combined, miss := s.combined(d, false, p)
		if miss.Missed() {
			continue
		}
		if out == nil {
			out = make(demanded, len(p.Types))
		}
		asked := askedOf(d.requires, combined, p)
		if len(asked) == 0 || s.Effort.Over() {
			all := slices.Repeat([]bool{true}, len(p.Catalogue.Places))
			return slices.Repeat(demanded{all}, len(p.Types))
		}
		s.Effort.Spend(len(asked) * len(p.Types) / 8)
		types, places := typesAllowed(asked, p.Catalogue), placesAllowed(asked, p.Catalogue)
		for t := range types {
			if types[t] {
				out[t] = joined(out[t], places)
			}
		}
	}
	return out
}

// joined returns which of two lists of the same length say so. The first may be nil.
func joined(a, b []bool) []bool {
	if a == nil {
		return slices.Clone(b)
	}
	for i, v := range b {
		a[i] = a[i] || v
	}
	return a
}
