package retire

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// Hold is why a node does not go for consolidation now.
type Hold struct {
	Blocker Blocker
	// Why completes a sentence: "node x stays: ...".
	Why string
}

// Blocker sorts what keeps a node from being consolidated.
type Blocker string

// The blockers.
const (
	BlockedOff        Blocker = "off"          // the Provisioner does not ask for it
	BlockedProtection Blocker = "protection"   // a pod or the node is protected
	BlockedPDB        Blocker = "pdb"          // a PodDisruptionBudget
	BlockedQuiet      Blocker = "quiet-time"   // pods came or went a short while ago, are on their way, or the node is not up
	BlockedBudget     Blocker = "budget"       // a disruption budget, or no window is open
	BlockedSpot       Blocker = "spot"         // a spot node that too few instance types could replace
	BlockedUnpaid     Blocker = "does-not-pay" // it would not save enough, or not yet
)

// Unmovable says what keeps the pods of a node from being moved elsewhere; a zero Hold means that
// nothing does. Last is when a workload pod last came to the node or left it.
func (c *Case) Unmovable(last time.Time) Hold {
	after, on := c.Node.Provisioner.Spec.ConsolidateAfter()
	_, moves := c.Node.Provisioner.Spec.EvictionCost()
	switch {
	case !c.Node.Provisioner.Spec.ConsolidationEnabled():
		return Hold{BlockedOff, "consolidation of provisioner " + c.Node.Provisioner.Name + " is off"}
	case !on:
		return Hold{BlockedOff, "consolidateAfter of provisioner " + c.Node.Provisioner.Name + " is Never"}
	case !moves:
		return Hold{BlockedOff, "evictionCost of provisioner " + c.Node.Provisioner.Name + " is Never"}
	}
	if why := c.first([]protection{closed, closing}); why != "" {
		return Hold{BlockedBudget, why}
	}
	if why := c.first([]protection{twoPDBs, blockedByPDB}); why != "" {
		return Hold{BlockedPDB, why}
	}
	if why := c.first([]protection{notUp, nominated}); why != "" {
		return Hold{BlockedQuiet, why} // it passes by itself
	}
	if why := c.first([]protection{blocked, annotated, unlabelled, doNotDisrupt, ownerless, finishing, local, sharing, heldBySurge, refused}); why != "" {
		return Hold{BlockedProtection, why}
	}
	if quiet := last.Add(after); c.Now.Before(quiet) {
		return Hold{BlockedQuiet, fmt.Sprintf("pods came or went less than %s ago", amount.ShortDuration(after))}
	}
	return Hold{}
}

// unlabelled holds back nodes whose price is unknown because a label is missing.
func unlabelled(c *Case) string {
	for _, key := range []string{api.LabelInstanceType, api.LabelCapacityType, api.LabelZone} {
		if c.Node.Labels[key] == "" {
			return "it has no label " + key + ", so its price is not known"
		}
	}
	return ""
}

// finishing holds where pods will end by themselves: waiting for them is cheaper than
// beginning their work again, and owners other than Jobs may not begin it again at all.
func finishing(c *Case) string {
	for _, p := range c.Node.Pods {
		switch {
		case p.Finishes():
			return fmt.Sprintf("pod %s of a %s will finish by itself; the node is kept until then", p, p.Owner.Kind)
		case c.Node.comesBack(p):
			return fmt.Sprintf("pod %s of a %s is being replaced", p, p.Owner.Kind)
		}
	}
	return ""
}

// local keeps nodes with the data of a pod on their own disks from consolidation: it would be gone, and the pod's
// successor would wait for the volume for ever.
func local(c *Case) string {
	if c.Reason != Consolidated && c.Node.Mark().Reason != api.ReasonConsolidation {
		return ""
	}
	for _, p := range c.Node.Pods {
		if !p.NeedsNode() {
			continue
		}
		if v := c.Snapshot.LocalVolume(p.Template); v != nil {
			return fmt.Sprintf("pod %s has persistent volume %s, which is on the node's own disks", p, v.Name)
		}
	}
	return ""
}

// sharing keeps together pods that use one EBS volume, which only one node can attach unless it is for many. kube-scheduler
// may put their successors on several nodes, where all but one would wait for the volume. Pods that have to be with others
// on their node are left to their affinity.
func sharing(c *Case) string {
	users := map[string]*cluster.Pod{}
	for _, p := range c.Node.Pods {
		if keys := match.TopologyKeys(match.RequiredTerms(match.AffinityTerms(p.Template))); !p.NeedsNode() || slices.Contains(keys, corev1.LabelHostname) {
			continue
		}
		for _, ref := range p.Template.Claims {
			claim := c.Snapshot.Claim(p.Namespace, ref.Name)
			if claim == nil || slices.Contains(claim.AccessModes, corev1.ReadWriteMany) {
				continue
			}
			v := c.Snapshot.Volume(claim.VolumeName)
			if v == nil || v.Driver != cluster.EBSDriver {
				continue
			}
			if other := users[v.Name]; other != nil {
				return fmt.Sprintf("pods %s and %s use persistent volume %s, which only one node can attach", other, p, v.Name)
			}
			users[v.Name] = p
		}
	}
	return ""
}

// LastChange is when a workload pod last came to the node, or began to leave it, as far
// as the pods tell that are there; when the node came up where there are none.
func (n *Node) LastChange() time.Time {
	last := n.Created
	if n.ReadySince.Before(n.Created.Add(startTime)) && n.ReadySince.After(last) {
		last = n.ReadySince
	}
	for _, p := range n.Pods {
		if p.Template.BelongsToNode() {
			continue
		}
		if p.Since.After(last) {
			last = p.Since
		}
		if p.StopSince.After(last) {
			last = p.StopSince
		}
	}
	return last
}

// startTime bounds how long after its creation a node's first readiness may be: a
// later one is a return from an outage, which changes nothing about what runs there.
const startTime = 15 * time.Minute

// LastArrival is when something last came to the node that stays there: what ends by
// itself does not count.
func (n *Node) LastArrival() time.Time {
	last := n.Created
	for _, p := range n.Pods {
		if p.NeedsNode() && !p.Finishes() && p.Since.After(last) {
			last = p.Since
		}
	}
	return last
}
