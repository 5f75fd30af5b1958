package pack

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// exhausted ends a class that has spent what it may: it gets no place in this packing.
func (s *solver) exhausted(c *class) bool {
	if c.never.Kind == match.Exhausted {
		return true
	}
	s.Effort.Begin(c.Account)
	if !s.Effort.Over() {
		return false
	}
	c.never = match.Miss{Kind: match.Exhausted, Want: "planning it takes more work than one pod may take: " + bulk(c.Template)}
	return true
}

// bulk names what a template has most of.
func bulk(t *cluster.Template) string {
	type count struct {
		what string
		n    int
	}
	counts := []count{
		{"topology spread constraints", len(t.Spread)}, {"host ports", len(t.HostPorts)}, {"claims", len(t.Claims)},
		{"tolerations", len(t.Tolerations)}, {"node selector labels", len(t.NodeSelector)}, {"pod affinity terms", len(model.PodTerms(t.Affinity))},
	}
	if a := t.Affinity; a != nil && a.NodeAffinity != nil {
		counts = append(counts, count{"preferred node affinity terms", len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)})
		required, expressions, values := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution, 0, 0
		if required != nil {
			for i := range required.NodeSelectorTerms {
				for _, e := range required.NodeSelectorTerms[i].MatchExpressions {
					expressions, values = expressions+1, values+len(e.Values)
				}
			}
			counts = append(counts, count{"required node affinity terms", len(required.NodeSelectorTerms)}, count{"node affinity expressions", expressions}, count{"values in node affinity expressions", values})
		}
	}
	slices.SortStableFunc(counts, func(a, b count) int { return cmp.Compare(b.n, a.n) })
	if counts[1].n == 0 {
		return fmt.Sprintf("it has %d %s", counts[0].n, counts[0].what)
	}
	return fmt.Sprintf("it has %d %s and %d %s", counts[0].n, counts[0].what, counts[1].n, counts[1].what)
}
