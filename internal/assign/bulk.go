package assign

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// size is how many constraints of a kind a pod has.
type size struct {
	what string
	n    int
}

// bulk names the two kinds of constraints of which a template has most.
func bulk(t *cluster.Template) string {
	sizes := append(nodeAffinitySizes(t.Affinity),
		size{"pod affinity terms", len(match.AffinityTerms(t)) + len(match.AntiAffinityTerms(t))},
		size{"tolerations", len(t.Tolerations)},
		size{"topology spread constraints", len(t.Spread)},
		size{"claims", len(t.Claims)},
		size{"host ports", len(t.HostPorts)},
		size{"node selector labels", len(t.NodeSelector)})
	slices.SortStableFunc(sizes, func(a, b size) int { return cmp.Compare(b.n, a.n) })
	if sizes[1].n == 0 {
		return fmt.Sprintf("it has %d %s", sizes[0].n, sizes[0].what)
	}
	return fmt.Sprintf("it has %d %s and %d %s", sizes[0].n, sizes[0].what, sizes[1].n, sizes[1].what)
}

func nodeAffinitySizes(a *corev1.Affinity) []size {
	if a == nil || a.NodeAffinity == nil {
		return nil
	}
	out := []size{{"preferred node affinity terms", len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)}}
	if required := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		out = append(out, selectorSizes(required.NodeSelectorTerms)...)
	}
	return out
}

func selectorSizes(terms []corev1.NodeSelectorTerm) []size {
	expressions, values := 0, 0
	for i := range terms {
		for _, e := range terms[i].MatchExpressions {
			expressions, values = expressions+1, values+len(e.Values)
		}
	}
	return []size{{"required node affinity terms", len(terms)}, {"node affinity expressions", expressions}, {"values in node affinity expressions", values}}
}
