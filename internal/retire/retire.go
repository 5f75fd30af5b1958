// Package retire finds the nodes that should go, with the reason, and those that
// have a reason to go but must stay, with what holds them.
package retire

import (
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Reason is why a node should go.
type Reason string

// The reasons, in the order in which they are looked for.
const (
	Orphaned Reason = "provisioner-deleted"
	NeverUp  Reason = "never-up"
	Expired  Reason = "expired"
	Drifted  Reason = "drifted"
	Empty    Reason = "empty"
)

// Voluntary reports whether budgets and protections hold the removal back.
func (r Reason) Voluntary() bool { return r != Orphaned && r != NeverUp }

// budgetName is how disruption budgets spell the reason.
func (r Reason) budgetName() string {
	switch r {
	case Empty:
		return api.ReasonEmptiness
	case Expired:
		return api.ReasonExpiry
	case Drifted:
		return api.ReasonDrift
	}
	return ""
}

// Node is a node of ours with what its removal depends on.
type Node struct {
	*cluster.Node
	Provisioner *api.Provisioner // with its defaults
	// ProfileHash is that of the node profile which its Provisioner uses now.
	ProfileHash string
	Pods        []*cluster.Pod // in the order of the snapshot
	// Blocked is why its Provisioner may do nothing now; empty when it may.
	Blocked string
	// Nominated: pods are on their way to the node.
	Nominated bool
}

// Finding is a node with a reason to go.
type Finding struct {
	Node    *Node
	Reason  Reason
	Message string
}

// A rule finds a reason for a node to go at a time.
type rule func(n *Node, now time.Time, startup time.Duration) (Finding, bool)

// Forced returns the nodes that must go whatever runs there, in their order.
// Startup is how long a machine may take to come up; 0 means for ever.
func Forced(nodes []*Node, now time.Time, startup time.Duration) []Finding {
	return find(nodes, now, startup, orphaned, neverUp)
}

// Voluntary returns the nodes that should go if nothing holds them: each with
// the first reason that it has, the nodes that nobody uses first.
func Voluntary(nodes []*Node, now time.Time) []Finding {
	var used, unused []Finding
	for _, f := range find(nodes, now, 0, expired, drifted, empty) {
		if f.Node.InUse() {
			used = append(used, f)
		} else {
			unused = append(unused, f)
		}
	}
	return append(unused, used...)
}

func find(nodes []*Node, now time.Time, startup time.Duration, rules ...rule) []Finding {
	var out []Finding
	for _, n := range nodes {
		for _, r := range rules {
			if f, ok := r(n, now, startup); ok {
				out = append(out, f)
				break
			}
		}
	}
	return out
}

// workload reports whether a pod needs its node to stay: DaemonSet pods, static
// pods and those that are going do not.
func workload(p *cluster.Pod) bool {
	return p.State == cluster.PodBound && !p.Template.DaemonSet && !p.Template.Static
}

// InUse reports whether workload pods run on the node or are on their way to it.
func (n *Node) InUse() bool {
	if n.Nominated {
		return true
	}
	return slices.ContainsFunc(n.Pods, workload)
}
