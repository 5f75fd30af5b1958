package retire

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// PDBs are the PodDisruptionBudgets of a cluster. A decision makes them once and asks for the same pods
// again and again: each selector is read once, and pods that share a Template share the answer.
// BenchmarkPDBs measures them.
type PDBs struct {
	budgets map[string][]parsedPDB // by namespace, in the order of the snapshot
	known   map[*cluster.Template][]*cluster.PodDisruptionBudget
}

// parsedPDB is a budget with its selector.
type parsedPDB struct {
	budget   *cluster.PodDisruptionBudget
	selector labels.Selector
}

// NewPDBs reads the selectors of budgets. One with an error selects nothing: the API server refuses it.
func NewPDBs(budgets []cluster.PodDisruptionBudget) *PDBs {
	out := &PDBs{budgets: map[string][]parsedPDB{}, known: map[*cluster.Template][]*cluster.PodDisruptionBudget{}}
	for i := range budgets {
		b := &budgets[i]
		if selector, err := metav1.LabelSelectorAsSelector(b.Selector); err == nil {
			out.budgets[b.Namespace] = append(out.budgets[b.Namespace], parsedPDB{b, selector})
		}
	}
	return out
}

// guarded reports whether PodDisruptionBudgets may keep a pod. Surge evicts none, and the Eviction API looks at no
// budget if the pod's containers have not been started.
func guarded(p *cluster.Pod) bool { return p.NeedsNode() && !p.Covered && p.Running }

// Stuck reports whether the Eviction API refuses to evict a pod, however many of its replicas are ready. It does so, too,
// for a pod under several budgets.
func (p *PDBs) Stuck(pod *cluster.Pod) bool {
	if !guarded(pod) {
		return false
	}
	over := p.over(pod.Template)
	return len(over) > 1 || len(over) == 1 && over[0].Strict && over[0].Forbids(pod)
}

// over lists the budgets that select the pods of a template.
func (p *PDBs) over(t *cluster.Template) []*cluster.PodDisruptionBudget {
	out, known := p.known[t]
	if known {
		return out
	}
	for _, one := range p.budgets[t.Namespace] {
		if one.selector.Matches(labels.Set(t.Labels)) {
			out = append(out, one.budget)
		}
	}
	p.known[t] = out
	return out
}
