package pack

import (
	"fmt"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// nodeMiss is what keeps a class from a node.
type nodeMiss struct {
	node, text string
	kind       match.MissKind
	lack       int64 // for a resource: the share of the need, in thousandths
}

// nearer reports whether it is a nearer miss than another one.
func (m *nodeMiss) nearer(than *nodeMiss) bool {
	return m.kind > than.kind || m.kind == than.kind && m.lack < than.lack
}

// missOfNodes says what keeps a class from the nodes that it requires by their names. It is empty if the class may go to
// other nodes, too, or if none of these takes pods: then Provisioners are asked, which cannot give a machine such a name.
func missOfNodes(a *assign.Assignment, c *assign.Class, o *model.Options) string {
	names := o.Requires.Names()
	if len(names) == 0 {
		return ""
	}
	var nearest *nodeMiss
	n := 0
	for i, node := range a.Existing() {
		a.Effort.Spend(model.StepsToMatch)
		if a.Effort.Over() {
			break // what is known by now must do
		}
		if !match.Meets(names, node.Node.Node) {
			continue
		}
		n++
		if miss := missOfNode(a, c, o, i); nearest == nil || miss.nearer(nearest) {
			nearest = &miss
		}
	}
	if n == 0 {
		return ""
	}
	who, which := "the pod requires", fmt.Sprintf("node %s, which", nearest.node)
	if len(c.Template.Claims) > 0 && !match.AsksFor(c.Template, names[0].Key) {
		who = "the pod's volumes require"
	}
	if n > 1 {
		which = fmt.Sprintf("one of %d nodes, and the nearest, %s,", n, nearest.node)
	}
	return who + " " + which + " " + nearest.text
}

// missOfNode says what keeps a class from one node.
func missOfNode(a *assign.Assignment, c *assign.Class, o *model.Options, i int) nodeMiss {
	node := a.Existing()[i]
	out := nodeMiss{node: node.Name}
	if miss, ok := match.Node(o.Requires, node.Node.Node); !ok {
		has := "does not have the label " + miss.Key
		if miss.Have != "" {
			has = fmt.Sprintf("has %s %s", miss.Key, miss.Have)
		}
		out.kind, out.text = miss.Kind, fmt.Sprintf("%s, and the pod requires %s", has, miss.Want)
		return out
	}
	if taint := match.Untolerated(node.Taints, c.Template.Tolerations, false); taint != nil {
		out.kind, out.text = match.Taint, match.Miss{Kind: match.Taint, Key: taint.ToString()}.String()
		return out
	}
	if text := shortfall(a, c.Need, node.Free); text != "" {
		_, out.lack = worstLack(c.Need, node.Free)
		out.kind, out.text = match.Resource, text
		return out
	}
	out.kind, out.text = match.Topology, "has room, but "+a.State.Explain(c.Rules, maxMisses)
	if a.RoomAlone(c, o, i, 1) == 0 {
		out.text = "has room, but not beside the pods that it has: a host port, a volume or an anti-affinity keeps the pod from them"
	}
	return out
}

// shortfall says of what a node has not enough left; empty for nothing.
func shortfall(a *assign.Assignment, need, room []int64) string {
	asked, left := make([]int64, len(need)), make([]int64, len(need))
	full := false
	for r, name := range a.Space.Names {
		if need[r] > room[r] {
			asked[r], left[r] = need[r], max(room[r], 0)
			full = full || name == amount.Pods
		}
	}
	text := phrase(a, asked, asked)
	switch {
	case text != "":
		return fmt.Sprintf("has %s left, and the pod needs %s", phrase(a, left, asked), text)
	case full:
		return "has as many pods as it takes"
	}
	return ""
}
