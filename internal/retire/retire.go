// Package retire finds the nodes that should go, with the reason, and those that
// have a reason to go but must stay, with what holds them.
package retire

import (
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Reason is why a node should go, as annotations, metrics and reports spell it.
type Reason string

// The reasons, in the order in which they are looked for.
const (
	Orphaned  Reason = "provisioner-deleted"
	NeverUp   Reason = "never-up"  // did not come up in time
	Unhealthy Reason = "unhealthy" // was up, and has not been ready for long
	Expired   Reason = api.ReasonExpiry
	Drifted   Reason = api.ReasonDrift
	Empty     Reason = api.ReasonEmptiness
	// Consolidated nodes are found by a plan for the whole cluster.
	Consolidated Reason = api.ReasonConsolidation
)

// Reasons are all of them.
var Reasons = []Reason{Orphaned, NeverUp, Unhealthy, Expired, Drifted, Empty, Consolidated}

// Voluntary reports whether budgets and protections hold the removal back: budgets may name these reasons.
func (r Reason) Voluntary() bool { return slices.Contains(api.DisruptionReasons, string(r)) }

// Policy holds the time limits and permissions of an installation. The zero value of each means
// that it does not apply.
type Policy struct {
	// StartupTimeout is how long a machine may take to come up.
	StartupTimeout time.Duration
	// UnhealthyAfter is how long a node that has been up may be not ready.
	UnhealthyAfter time.Duration
	// MinLifetime is how long a node in use stays at least before it goes for drift.
	MinLifetime time.Duration
	// EvictOwnerless lets nodes go voluntarily although pods without a controller,
	// which nobody would replace, run there.
	EvictOwnerless bool
}

// Node is a node of ours with what its removal depends on.
type Node struct {
	*cluster.Node
	Provisioner *api.Provisioner // with its defaults
	// ProfileHash is that of the node profile which its Provisioner uses now.
	ProfileHash string
	// Profile is what the selectors of that node profile find now.
	Profile api.AWSNodeTemplateStatus
	// Image is the image that a new machine of its type gets; empty where that is not known.
	Image string
	Pods  []*cluster.Pod // in the order of the snapshot
	// Blocked is why its Provisioner may do nothing now; empty when it may.
	Blocked string
	// Nominated: pods are on their way to the node.
	Nominated bool
	// At is when it is looked at.
	At time.Time
}

// DueNode is a node with a reason to go.
type DueNode struct {
	Node    *Node
	Reason  Reason
	Message string
}

// A rule finds a reason for a node to go at a time.
type rule func(n *Node, now time.Time) (DueNode, bool)

// voluntary are the rules for nodes that may stay, in the order in which they are looked at.
var voluntary = []rule{expired, drifted, empty}

// Forced returns the nodes that must go whatever runs there, in their order, without those that are being deleted. Nodes
// that are unhealthy stay where too many are, and those that are being deleted count: then it is not the nodes.
func Forced(nodes []*Node, now time.Time, p Policy) []DueNode {
	var found []DueNode
	for _, n := range nodes {
		if its := reasons(n, now, []rule{orphaned, p.DidNotComeUp, p.unhealthy}); len(its) > 0 && !n.Deleting {
			found = append(found, its[0])
		}
	}
	return slices.DeleteFunc(found, func(due DueNode) bool {
		return due.Reason == Unhealthy && tooManyUnready(nodes, due.Node.UnreadySince, now)
	})
}

// Voluntary returns the nodes that should go if nothing holds them: the nodes that
// nobody uses first, each once with each reason that it has, and then the oldest with
// the first reason, so that none is passed over for ever while budgets let few go at a time.
func Voluntary(nodes []*Node, now time.Time) []DueNode {
	var used, unused []DueNode
	for _, n := range nodes {
		found := reasons(n, now, voluntary)
		switch {
		case !n.InUse():
			unused = append(unused, found...)
		case len(found) > 0:
			used = append(used, found[0])
		}
	}
	slices.SortStableFunc(used, func(a, b DueNode) int { return a.Node.Created.Compare(b.Node.Created) })
	return append(unused, used...)
}

// reasons finds all reasons for a node to go, in the order of the rules.
func reasons(n *Node, now time.Time, rules []rule) []DueNode {
	var out []DueNode
	for _, r := range rules {
		if due, ok := r(n, now); ok {
			out = append(out, due)
		}
	}
	return out
}

// StillHolds reports whether a node that is marked as going for a reason, by its
// name, still has it. Whether consolidation still pays is not asked again: what was begun
// is finished.
func StillHolds(n *Node, reason string, now time.Time) bool {
	if reason == api.ReasonConsolidation {
		return n.Provisioner.Spec.MovesPods()
	}
	return slices.ContainsFunc(reasons(n, now, voluntary), func(due DueNode) bool { return due.Reason == Reason(reason) })
}

// InUse reports whether workload pods run on the node or are on their way to it, or
// will come back to it.
func (n *Node) InUse() bool {
	return n.Nominated || slices.ContainsFunc(n.Pods, func(p *cluster.Pod) bool { return p.NeedsNode() || n.comesBack(p) })
}

// stoppingPatience is how long after the end of its grace period a pod that has not
// stopped keeps its node for its successor.
const stoppingPatience = 5 * time.Minute

// comesBack reports whether a pod that is going will have a successor in its place,
// which is made when it has gone: until then its node is not empty.
func (n *Node) comesBack(p *cluster.Pod) bool { return p.ComesBack() && AwaitsSuccessor(p, n.At) }

// successorTime is how long a ReplicaSet may take to make the successor of a pod that stops.
const successorTime = 10 * time.Second

// AwaitsSuccessor reports whether a pod is being deleted whose successor may not have been created yet. A ReplicaSet
// makes it when the pod begins to stop, and other owners may make it when the pod has gone. A pod that does not stop
// in time does not keep a node for its successor for ever.
func AwaitsSuccessor(p *cluster.Pod, now time.Time) bool {
	if p.State != cluster.PodTerminating || now.Sub(p.StopBy) >= stoppingPatience {
		return false
	}
	switch p.Owner.Kind {
	case "":
		return false
	case "ReplicaSet", "ReplicationController":
		return now.Sub(p.StopSince) < successorTime
	}
	return true
}
