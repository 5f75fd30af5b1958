package retire

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Case is a node with a reason to go voluntarily, and what speaks against it.
type Case struct {
	DueNode
	Now time.Time
	// PDBs are the PodDisruptionBudgets of the cluster.
	PDBs *PDBs
	// Snapshot is the cluster's state.
	Snapshot *cluster.Snapshot
	Policy   Policy
	// Begun: a machine is being bought in its place.
	Begun bool
}

// A protection returns what holds a node back from going voluntarily, or an
// empty string.
type protection func(c *Case) string

var (
	// protections keep a node from being chosen for emptiness, expiry or drift. Unmovable has those that keep one from
	// consolidation.
	protections = []protection{blocked, notUp, closed, closing, nominated, annotated, inTime(doNotDisrupt), ownerless, young, inTime(twoPDBs), inTime(blockedByPDB), heldBySurge, refused}
	// vetoes make a node stay after it was chosen, and delays make it wait.
	vetoes = []protection{annotated, inTime(doNotDisrupt), ownerless, consolidated(finishing), local, consolidated(sharing)}
	delays = []protection{blocked, notUp, inTime(twoPDBs), inTime(blockedByPDB), heldBySurge, refused}
)

// Protected returns what holds a node back from going voluntarily, or an empty
// string.
func (c *Case) Protected() string { return c.first(protections) }

// Vetoed returns what on the node keeps it, also if that has come up since the node was chosen, or
// an empty string.
func (c *Case) Vetoed() string { return c.first(vetoes) }

// Closed returns why nothing voluntary happens now, or an empty string.
func (c *Case) Closed() string { return closed(c) }

// Delayed returns what has come up since the node was chosen that keeps it for a
// while, or an empty string.
func (c *Case) Delayed() string { return c.first(delays) }

func (c *Case) first(all []protection) string {
	for _, p := range all {
		if why := p(c); why != "" {
			return why
		}
	}
	return ""
}

// inTime returns the protection without its effect on some nodes, as Karpenter does: a drifted node of a
// NodePool with a terminationGracePeriod goes all the same. Its drain waits for the pods until that has passed.
func inTime(p protection) protection {
	return func(c *Case) string {
		d := c.Node.Provisioner.Spec.Disruption
		drifted := c.Reason == Drifted || c.Node.Mark().Reason == api.ReasonDrift
		if drifted && c.Node.OfNodePool() && d != nil && d.TerminationGracePeriod != nil {
			return ""
		}
		return p(c)
	}
}

// consolidated returns the protection without its effect on nodes that were not chosen for consolidation.
func consolidated(p protection) protection {
	return func(c *Case) string {
		if c.Node.Mark().Reason != api.ReasonConsolidation {
			return ""
		}
		return p(c)
	}
}

func blocked(c *Case) string {
	if c.Node.Blocked != "" {
		return "the agent may not act for provisioner " + c.Node.Provisioner.Name + " now: " + c.Node.Blocked
	}
	return ""
}

// notUp also holds nodes that have lost contact. Whether they are replaced depends on how many they are: see unhealthy.
func notUp(c *Case) string {
	switch {
	case !c.Node.Initialized:
		return "it is not up yet"
	case !c.Node.Ready:
		return "it is not ready"
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
	chosen := c.Node.Mark().Reason
	consolidated := c.Reason == Empty || c.Reason == Consolidated || chosen == api.ReasonEmptiness || chosen == api.ReasonConsolidation
	if consolidated && c.Node.Provisioner.Spec.ConsolidationEnabled() && c.Node.Annotations[api.AnnotationDoNotConsolidate] == "true" {
		return "it has the annotation " + api.AnnotationDoNotConsolidate
	}
	return ""
}

func doNotDisrupt(c *Case) string {
	for _, p := range c.Node.Pods {
		switch {
		case !p.NeedsNode() || !p.NotDisrupted(c.Now):
		case p.Template.DoNotDisrupt:
			return fmt.Sprintf("pod %s must not be disrupted", p)
		default:
			return fmt.Sprintf("pod %s must not be disrupted for %s after it came", p, amount.ShortDuration(p.Template.DoNotDisruptFor))
		}
	}
	return ""
}

func ownerless(c *Case) string {
	if c.Policy.EvictOwnerless {
		return ""
	}
	for _, p := range c.Node.Pods {
		if p.NeedsNode() && p.Owner.Kind == "" && !tied(p) {
			return fmt.Sprintf("pod %s has no controller that would replace it", p)
		}
	}
	return ""
}

// tied reports whether the pod was made for its node and may run nowhere else, like those that a driver of volumes
// makes beside the pods that mount them. It is of no use once those have gone.
func tied(p *cluster.Pod) bool {
	a := p.Template.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	only := func(f corev1.NodeSelectorRequirement) bool {
		return f.Key == metav1.ObjectNameField && f.Operator == corev1.NodeSelectorOpIn && slices.Equal(f.Values, []string{p.NodeName})
	}
	terms := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	return len(terms) == 1 && slices.ContainsFunc(terms[0].MatchFields, only)
}

// young holds for reasons that somebody's edit may bring up again and again, not
// for an expiry that a user has set or for nodes that nobody needs.
func young(c *Case) string {
	if age := c.Now.Sub(c.Node.Created); c.Reason == Drifted && c.Node.InUse() && age < c.Policy.MinLifetime {
		return fmt.Sprintf("it is younger than %s", amount.ShortDuration(c.Policy.MinLifetime))
	}
	return ""
}

// closed holds outside of the times in which the Provisioner's nodes may go.
func closed(c *Case) string {
	if c.Node.Provisioner.Spec.WindowOpen(c.Now) {
		return ""
	}
	return "none of the windows of provisioner " + c.Node.Provisioner.Name + " is open"
}

// replacing is for how long nodes in use are left alone before nothing voluntary may happen any more. A replacement
// that comes up after that would be idle until the next time.
const replacing = 3 * time.Minute

// closing holds shortly before the last window closes.
func closing(c *Case) string {
	if c.Begun || !c.Node.InUse() || c.Node.Provisioner.Spec.WindowOpen(c.Now.Add(replacing)) {
		return ""
	}
	return "no window of provisioner " + c.Node.Provisioner.Name + " is open for another " + amount.ShortDuration(replacing)
}

// twoPDBs holds where a pod is under several PodDisruptionBudgets: the Eviction API
// refuses to evict it, whatever they allow.
func twoPDBs(c *Case) string {
	for _, p := range c.Node.Pods {
		if !guarded(p) {
			continue
		}
		if over := c.PDBs.over(p.Template); len(over) > 1 {
			return fmt.Sprintf("pod %s is under PodDisruptionBudgets %s and %s, so it cannot be evicted", p, over[0].Name, over[1].Name)
		}
	}
	return ""
}

func blockedByPDB(c *Case) string {
	for _, p := range c.Node.Pods {
		if !guarded(p) {
			continue
		}
		for _, b := range c.PDBs.over(p.Template) {
			if b.Forbids(p) {
				return fmt.Sprintf("PodDisruptionBudget %s/%s allows no eviction of pod %s now", b.Namespace, b.Name, p)
			}
		}
	}
	return ""
}

// refused holds for a while after the API server has refused to delete the node, or to mark it before. It would stay,
// and its replacement would be paid for.
func refused(c *Case) string { return c.Node.Refused }

// heldBySurge holds while a pod cannot be moved without fewer of its replicas being ready meanwhile, as
// it is to be.
func heldBySurge(c *Case) string {
	for _, p := range c.Node.Pods {
		if p.NeedsNode() && p.Held != "" {
			return fmt.Sprintf("pod %s %s", p, p.Held)
		}
	}
	return ""
}
