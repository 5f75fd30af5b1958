package retire

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// orphaned: its Provisioner is being deleted.
func orphaned(n *Node, _ time.Time) (DueNode, bool) {
	return DueNode{n, Orphaned, fmt.Sprintf("provisioner %s is being deleted", n.Provisioner.Name)}, n.Provisioner.DeletionTimestamp != nil
}

// DidNotComeUp finds that a node's machine did not come up in time, that its devices did not, or
// that nothing has removed the taints that keep pods away until then. Pods may still run there;
// whether it is healthy is another question then.
func (p *Policy) DidNotComeUp(n *Node, now time.Time) (DueNode, bool) {
	late := p.Late(n.Node, now)
	after := amount.ShortDuration(p.StartupTimeout) + " after it was launched"
	if !n.Ready {
		why := "not ready " + after
		if n.Unreadiness != "" {
			why += ": " + n.Unreadiness
		}
		return DueNode{n, NeverUp, why}, late && !n.hasRun()
	}
	useful := slices.ContainsFunc(n.Pods, (*cluster.Pod).NeedsNode)
	if late = late && !useful; len(n.Awaited) > 0 {
		return DueNode{n, NeverUp, fmt.Sprintf("no device plugin has registered %s %s", strings.Join(n.Awaited, ", "), after)}, late
	}
	taints := n.PassingTaints(n.Provisioner)
	return DueNode{n, NeverUp, fmt.Sprintf("nothing has removed the taints %s %s", strings.Join(taints, ", "), after)}, late && len(taints) > 0
}

// hasRun reports whether the node has been up. One that keeps its startup taints is not initialized, but pods
// that tolerate them may run there for days.
func (n *Node) hasRun() bool { return n.Initialized || slices.ContainsFunc(n.Pods, ShowsNodeUp) }

// ShowsNodeUp reports whether a pod shows that its node has been up. One that is going shows it too: Kubernetes
// evicts the pods of a node whose kubelet is silent.
func ShowsNodeUp(p *cluster.Pod) bool {
	return p.Running && !p.Template.BelongsToNode()
}

// unhealthy: it was up, and its kubelet has not been ready for long.
func (p *Policy) unhealthy(n *Node, now time.Time) (DueNode, bool) {
	silent := reached(p.unhealthyAt(n.Node), now)
	return DueNode{n, Unhealthy, fmt.Sprintf("not ready for %s", amount.ShortDuration(p.UnhealthyAfter))}, silent && n.hasRun()
}

// maxUnready is the share of the nodes, in percent and rounded up, beyond which
// nodes that are not ready are left alone: the trouble is elsewhere then, such as in
// the network, and new nodes would not be better.
const maxUnready = 20

// longestOutage is how long nodes count as those that one outage has cut off.
const longestOutage = 24 * time.Hour

// tooManyUnready counts the nodes that have been up, and had been made when one of them fell silent. Otherwise what is
// bought in the place of those that are silent would soon make them few. After the longest outage, all nodes count:
// a few that never come back must not stay because the others of their age have gone. Nodes whose machines the cloud has
// refused for long to terminate do not count: nothing else is done with them, however long that lasts.
func tooManyUnready(nodes []*Node, since, now time.Time) bool {
	up, unready := 0, 0
	if now.Sub(since) > longestOutage {
		since = now
	}
	for _, n := range nodes {
		switch {
		case n.ended() || n.Unterminated || !n.hasRun():
		case !n.Ready:
			up++
			unready++
		case !n.Created.After(since):
			up++
		}
	}
	return unready > (up*maxUnready+99)/100
}

// expired: older than its Provisioner allows.
func expired(n *Node, now time.Time) (DueNode, bool) {
	limit, _ := n.Provisioner.Spec.ExpireAfter()
	return DueNode{n, Expired, fmt.Sprintf("older than %s", amount.ShortDuration(limit))}, reached(expiresAt(n.Node, n.Provisioner), now)
}

// empty: it is up, and nobody has used it for as long as its Provisioner says. Kubernetes evicts the pods of a node that
// has lost contact, so that it seems to be empty while they still run there.
func empty(n *Node, now time.Time) (DueNode, bool) {
	limit, goes := n.Provisioner.Spec.EmptyAfter()
	if !goes || n.InUse() || !isUp(n.Node) {
		return DueNode{}, false
	}
	at := emptyUntil(n.Node, n.Provisioner)
	if at.IsZero() { // it has no mark yet
		at = now.Add(limit)
	}
	return DueNode{n, Empty, fmt.Sprintf("no workload pods for %s", amount.ShortDuration(limit))}, !now.Before(at)
}

// isUp reports whether the node came up and has not lost contact since.
func isUp(n *cluster.Node) bool { return n.Initialized && n.Ready }

// Emptiness says which emptiness timestamp a node should get: the time, the zero time
// to remove the one it has, or false to leave it as it is.
func Emptiness(n *Node, now time.Time) (time.Time, bool) {
	_, annotated := n.Annotations[api.AnnotationEmptiness]
	_, valid := n.EmptySince()
	if _, goes := n.Provisioner.Spec.EmptyAfter(); goes && isUp(n.Node) && !n.InUse() {
		return now, !valid
	}
	return time.Time{}, annotated
}
