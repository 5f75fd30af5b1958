package retire

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Case is a node with a reason to go voluntarily, and what speaks against it.
type Case struct {
	Finding
	Now time.Time
	// Budgets are the PodDisruptionBudgets of the cluster.
	Budgets []cluster.DisruptionBudget
	Policy  Policy
}

// A protection returns what holds a node back from going voluntarily, or an
// empty string.
type protection func(c *Case) string

var (
	protections = []protection{blocked, notUp, nominated, annotated, doNotDisrupt, ownerless, young, blockedByBudget}
	lasting     = []protection{annotated, doNotDisrupt}
	passing     = []protection{blocked, blockedByBudget}
)

// Protected returns what holds a node back from going voluntarily, or an empty
// string.
func (c *Case) Protected() string { return c.first(protections) }

// Vetoed returns what has come up since the node was chosen that keeps it for
// good, or an empty string.
func (c *Case) Vetoed() string { return c.first(lasting) }

// Delayed returns what has come up since the node was chosen that keeps it for a
// while, or an empty string.
func (c *Case) Delayed() string { return c.first(passing) }

func (c *Case) first(all []protection) string {
	for _, p := range all {
		if why := p(c); why != "" {
			return why
		}
	}
	return ""
}

func blocked(c *Case) string {
	if c.Node.Blocked != "" {
		return "the agent may not act for provisioner " + c.Node.Provisioner.Name + " now: " + c.Node.Blocked
	}
	return ""
}

func notUp(c *Case) string {
	if !c.Node.Initialized {
		return "it is not up yet"
	}
	return ""
}

func nominated(c *Case) string {
	if c.Node.Nominated {
		return "pods are about to be bound to it"
	}
	return ""
}

func annotated(c *Case) string {
	if c.Node.Annotations[api.AnnotationDoNotDisrupt] == "true" {
		return "it has the annotation " + api.AnnotationDoNotDisrupt
	}
	emptied := c.Reason == Empty || c.Node.Annotations[api.AnnotationDisruption] == api.ReasonEmptiness
	if emptied && c.Node.Provisioner.Spec.ConsolidationEnabled() && c.Node.Annotations[api.AnnotationDoNotConsolidate] == "true" {
		return "it has the annotation " + api.AnnotationDoNotConsolidate
	}
	return ""
}

func doNotDisrupt(c *Case) string {
	for _, p := range c.Node.Pods {
		if workload(p) && p.Template.DoNotDisrupt {
			return fmt.Sprintf("pod %s must not be disrupted", p)
		}
	}
	return ""
}

func ownerless(c *Case) string {
	if c.Policy.Ownerless {
		return ""
	}
	for _, p := range c.Node.Pods {
		if workload(p) && p.Owner.Kind == "" {
			return fmt.Sprintf("pod %s has no controller that would replace it", p)
		}
	}
	return ""
}

// young holds for reasons that somebody's edit may bring up again and again, not
// for an expiry that a user has set or for nodes that nobody needs.
func young(c *Case) string {
	if age := c.Now.Sub(c.Node.Created); c.Reason == Drifted && c.Node.InUse() && age < c.Policy.MinLifetime {
		return fmt.Sprintf("it is younger than %s", api.ShortDuration(c.Policy.MinLifetime))
	}
	return ""
}

func blockedByBudget(c *Case) string {
	for i := range c.Budgets {
		b := &c.Budgets[i]
		if b.DisruptionsAllowed > 0 {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(b.Selector)
		if err != nil {
			continue // the API server refuses such a budget
		}
		for _, p := range c.Node.Pods {
			if workload(p) && p.Namespace == b.Namespace && selector.Matches(labels.Set(p.Template.Labels)) {
				return fmt.Sprintf("PodDisruptionBudget %s/%s allows no eviction of pod %s now", b.Namespace, b.Name, p)
			}
		}
	}
	return ""
}
