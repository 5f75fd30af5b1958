package retire

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// A protection returns what holds a node back from going voluntarily, or an
// empty string.
type protection func(n *Node, budgets []cluster.DisruptionBudget) string

var protections = []protection{blocked, notUp, nominated, annotated, doNotDisrupt, ownerless, blockedByBudget}

// Protected returns what holds a node back from going voluntarily, or an empty
// string. Budgets are the PodDisruptionBudgets of the cluster.
func Protected(n *Node, budgets []cluster.DisruptionBudget) string {
	for _, p := range protections {
		if why := p(n, budgets); why != "" {
			return why
		}
	}
	return ""
}

func blocked(n *Node, _ []cluster.DisruptionBudget) string {
	if n.Blocked != "" {
		return "provisioner " + n.Provisioner.Name + " may do nothing now: " + n.Blocked
	}
	return ""
}

func notUp(n *Node, _ []cluster.DisruptionBudget) string {
	if !n.Initialized {
		return "it is not up yet"
	}
	return ""
}

func nominated(n *Node, _ []cluster.DisruptionBudget) string {
	if n.Nominated {
		return "pods are on their way to it"
	}
	return ""
}

func annotated(n *Node, _ []cluster.DisruptionBudget) string {
	if n.Annotations[api.AnnotationDoNotDisrupt] == "true" {
		return "it has the annotation " + api.AnnotationDoNotDisrupt
	}
	return ""
}

func doNotDisrupt(n *Node, _ []cluster.DisruptionBudget) string {
	for _, p := range n.Pods {
		if workload(p) && p.Template.DoNotDisrupt {
			return fmt.Sprintf("pod %s must not be disrupted", p)
		}
	}
	return ""
}

func ownerless(n *Node, _ []cluster.DisruptionBudget) string {
	for _, p := range n.Pods {
		if workload(p) && p.Owner.Kind == "" {
			return fmt.Sprintf("pod %s has no controller that would replace it", p)
		}
	}
	return ""
}

func blockedByBudget(n *Node, budgets []cluster.DisruptionBudget) string {
	for i := range budgets {
		b := &budgets[i]
		if b.DisruptionsAllowed > 0 {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(b.Selector)
		if err != nil {
			continue // the API server refuses such a budget
		}
		for _, p := range n.Pods {
			if workload(p) && p.Namespace == b.Namespace && selector.Matches(labels.Set(p.Template.Labels)) {
				return fmt.Sprintf("PodDisruptionBudget %s/%s allows no eviction of pod %s now", b.Namespace, b.Name, p)
			}
		}
	}
	return ""
}
