package retire

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Guards are the PodDisruptionBudgets of a cluster. A decision makes them once and asks for the same pods
// again and again: each selector is read once, and pods that share a Template share the answer.
// BenchmarkGuards measures them.
type Guards struct {
	budgets map[string][]guard // by namespace, in the order of the snapshot
	known   map[*cluster.Template][]*cluster.PodDisruptionBudget
}

// guard is a budget with its selector.
type guard struct {
	budget   *cluster.PodDisruptionBudget
	selector labels.Selector
}

// NewGuards reads the selectors of budgets. One with an error selects nothing: the API server refuses it.
func NewGuards(budgets []cluster.PodDisruptionBudget) *Guards {
	g := &Guards{budgets: map[string][]guard{}, known: map[*cluster.Template][]*cluster.PodDisruptionBudget{}}
	for i := range budgets {
		b := &budgets[i]
		if selector, err := metav1.LabelSelectorAsSelector(b.Selector); err == nil {
			g.budgets[b.Namespace] = append(g.budgets[b.Namespace], guard{b, selector})
		}
	}
	return g
}

// guarded reports whether PodDisruptionBudgets may keep a pod. Surge evicts none, and the Eviction API looks at no
// budget if the pod's containers have not been started.
func guarded(p *cluster.Pod) bool { return p.NeedsNode() && !p.Covered && p.Running }

// over lists the budgets that select the pods of a template.
func (g *Guards) over(t *cluster.Template) []*cluster.PodDisruptionBudget {
	out, known := g.known[t]
	if known {
		return out
	}
	for _, one := range g.budgets[t.Namespace] {
		if one.selector.Matches(labels.Set(t.Labels)) {
			out = append(out, one.budget)
		}
	}
	g.known[t] = out
	return out
}
