package retire

import (
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Deadline is when a node will have a reason to go if nothing changes until then.
type Deadline struct {
	Reason Reason
	At     time.Time
}

// Deadlines lists those of a node that depend on the time alone, beginning with what it would go for. One that has
// passed does not mean that the node goes: something else may keep it. The Provisioner of the node may be nil.
func (p *Policy) Deadlines(n *cluster.Node, by *api.Provisioner) []Deadline {
	all := []Deadline{{NeverUp, p.lateAt(n)}, {Unhealthy, p.unhealthyAt(n)}}
	if by != nil {
		all = append(all, Deadline{Empty, emptyUntil(n, by)}, Deadline{Expired, expiresAt(n, by)})
	}
	return slices.DeleteFunc(all, func(d Deadline) bool { return d.At.IsZero() })
}

// reached reports whether a time has come; the zero time never does.
func reached(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

// Late reports whether a machine has not come up in time.
func (p *Policy) Late(n *cluster.Node, now time.Time) bool { return reached(p.lateAt(n), now) }

// lateAt is when a machine has not come up in time; zero where it has come up, or may take for ever.
func (p *Policy) lateAt(n *cluster.Node) time.Time {
	if p.StartupTimeout <= 0 || n.Initialized {
		return time.Time{}
	}
	return n.Created.Add(p.StartupTimeout)
}

// unhealthyAt is when a node has not been ready for too long; zero while it is ready.
func (p *Policy) unhealthyAt(n *cluster.Node) time.Time {
	if p.UnhealthyAfter <= 0 || n.UnreadySince.IsZero() {
		return time.Time{}
	}
	return n.UnreadySince.Add(p.UnhealthyAfter)
}

// expiresAt is when a node is older than its Provisioner allows; zero means never. A node that is not up yet is
// left to come up, so that short lifetimes cannot outrun it.
func expiresAt(n *cluster.Node, p *api.Provisioner) time.Time {
	limit, expires := p.Spec.ExpireAfter()
	if !expires || !n.Initialized || n.Created.IsZero() {
		return time.Time{}
	}
	return n.Created.Add(limit)
}

// emptyUntil is until when a node that is marked as empty stays; zero where it is not marked, is not up, or stays
// for ever.
func emptyUntil(n *cluster.Node, p *api.Provisioner) time.Time {
	limit, goes := p.Spec.EmptyAfter()
	since, marked := n.EmptySince()
	if !goes || !marked || !isUp(n) {
		return time.Time{}
	}
	return since.Add(limit)
}
