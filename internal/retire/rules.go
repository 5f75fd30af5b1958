package retire

import (
	"fmt"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// orphaned: its Provisioner is being deleted.
func orphaned(n *Node, _ time.Time, _ time.Duration) (Finding, bool) {
	return Finding{n, Orphaned, fmt.Sprintf("provisioner %s is being deleted", n.Provisioner.Name)}, n.Provisioner.DeletionTimestamp != nil
}

// neverUp: its machine did not come up in time.
func neverUp(n *Node, now time.Time, startup time.Duration) (Finding, bool) {
	late := startup > 0 && !n.Initialized && !n.Ready && now.Sub(n.Created) >= startup
	return Finding{n, NeverUp, fmt.Sprintf("not ready %s after it was launched", startup)}, late
}

// expired: older than its Provisioner allows. A node that is not up yet is left
// to come up, so that short lifetimes cannot outrun it.
func expired(n *Node, now time.Time, _ time.Duration) (Finding, bool) {
	ttl := n.Provisioner.Spec.TTLSecondsUntilExpired
	if ttl == nil || !n.Initialized {
		return Finding{}, false
	}
	limit := time.Duration(*ttl) * time.Second
	return Finding{n, Expired, fmt.Sprintf("older than %s", limit)}, now.Sub(n.Created) >= limit
}

// drifted: its Provisioner or node profile no longer describes it. What is fixed
// when a node is built is compared by hash, requirements by value.
func drifted(n *Node, _ time.Time, _ time.Duration) (Finding, bool) {
	d := n.Provisioner.Spec.Disruption
	if d != nil && d.Drift != nil && !*d.Drift || !n.Initialized {
		return Finding{}, false
	}
	if built := n.Annotations[api.AnnotationProvisionerHash]; built != "" && built != n.Provisioner.Hash() {
		return Finding{n, Drifted, fmt.Sprintf("provisioner %s has changed since it was launched", n.Provisioner.Name)}, true
	}
	if built := n.Annotations[api.AnnotationProfileHash]; built != "" && n.ProfileHash != "" && built != n.ProfileHash {
		return Finding{n, Drifted, "its node profile has changed since it was launched"}, true
	}
	if miss, ok := match.Node(match.ForProvisioner(n.Provisioner), n.Node); !ok {
		have := miss.Have
		if have == "" {
			have = "no value"
		}
		return Finding{n, Drifted, fmt.Sprintf("provisioner %s now requires %s %s, the node has %s", n.Provisioner.Name, miss.Key, miss.Want, have)}, true
	}
	return Finding{}, false
}

// empty: nobody has used it for as long as its Provisioner says.
func empty(n *Node, now time.Time, _ time.Duration) (Finding, bool) {
	ttl := n.Provisioner.Spec.TTLSecondsAfterEmpty
	if ttl == nil || n.InUse() || !n.Initialized {
		return Finding{}, false
	}
	since, marked := emptySince(n)
	if !marked {
		since = now
	}
	limit := time.Duration(*ttl) * time.Second
	return Finding{n, Empty, fmt.Sprintf("no workload pods for %s", limit)}, now.Sub(since) >= limit
}

// emptySince reads the emptiness timestamp. One that is no time counts as none.
func emptySince(n *Node) (time.Time, bool) {
	since, err := time.Parse(time.RFC3339, n.Annotations[api.AnnotationEmptiness])
	return since, err == nil
}

// Mark says which emptiness timestamp a node should get: the time, the zero time
// to remove the one it has, or false to leave it as it is.
func Mark(n *Node, now time.Time) (time.Time, bool) {
	_, annotated := n.Annotations[api.AnnotationEmptiness]
	_, valid := emptySince(n)
	if n.Provisioner.Spec.TTLSecondsAfterEmpty != nil && n.Initialized && !n.InUse() {
		return now, !valid
	}
	return time.Time{}, annotated
}
