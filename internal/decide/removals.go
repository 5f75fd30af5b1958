package decide

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
)

// owned lists the nodes of ours whose Provisioner is known.
func (t *turn) owned() []*retire.Node {
	pods := map[string][]*cluster.Pod{}
	for _, p := range t.onNodes {
		pods[p.NodeName] = append(pods[p.NodeName], p)
	}
	var out []*retire.Node
	for i := range t.in.Snapshot.Nodes {
		n := &t.in.Snapshot.Nodes[i]
		p := t.provisioner(n.Provisioner)
		if p == nil {
			continue
		}
		out = append(out, &retire.Node{Node: n, Provisioner: p.Spec, ProfileHash: p.ProfileHash, Profile: p.Profile, Blocked: p.Blocked, Pods: pods[n.Name], At: t.in.Now})
	}
	return out
}

// staying leaves out the nodes that are on their way out, and those that have the mark of it,
// because they stay after all or because it is another program's.
func (t *turn) staying(nodes []*retire.Node) []*retire.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *retire.Node) bool { return t.leaving[n.Name] || n.Mark().Reason != "" })
}

// force lets the nodes go that must go, whatever runs there and whether or not they
// were chosen to go before.
func (t *turn) force(nodes []*retire.Node) []Removal {
	var out []Removal
	there := slices.DeleteFunc(slices.Clone(nodes), func(n *retire.Node) bool { return n.Deleting })
	for _, f := range retire.Forced(there, t.in.Now, t.in.Settings.Policy) {
		out = append(out, Removal{Node: f.Node.Name, Reason: f.Reason, Message: f.Message})
	}
	for _, r := range out {
		t.leaving[r.Node], t.forced[r.Node] = true, true
	}
	return out
}

// attempt is a packing that was made for a set of leaving nodes.
type attempt struct {
	problem *pack.Problem
	layout  *pack.Layout
}

func (t *turn) pack() attempt {
	problem := t.problem(t.leaving)
	layout := pack.Solve(problem)
	t.effort += layout.Effort
	for i := range layout.Places {
		if place := &layout.Places[i]; place.Exhausted {
			t.exhausted[problem.Pods[i].Pod.PodKey] = place
		}
	}
	return attempt{problem, layout}
}

// nominate notes which nodes get pods.
func (t *turn) nominate(nodes []*retire.Node, a attempt) {
	if len(nodes) == 0 {
		return
	}
	to := map[string]bool{}
	for i := range a.layout.Places {
		to[a.layout.Places[i].Node] = true
	}
	for i := range t.in.Snapshot.Pods {
		to[t.in.Snapshot.Pods[i].NominatedNode] = true
	}
	for _, n := range nodes {
		n.Nominated = to[n.Name]
	}
}

func (t *turn) caseOf(f retire.DueNode) *retire.Case {
	return &retire.Case{DueNode: f, Now: t.in.Now, Guards: t.guards, Policy: t.in.Settings.Policy, Begun: t.in.Postponed[f.Node.Name]}
}

func unplaced(a attempt) int {
	n := 0
	for i := range a.layout.Places {
		if !a.layout.Places[i].Placed() {
			n++
		}
	}
	return n
}

// marks returns the emptiness timestamps to set or remove.
func (t *turn) marks(nodes []*retire.Node) []Mark {
	var out []Mark
	for _, n := range t.staying(nodes) {
		if since, change := retire.Mark(n, t.in.Now); change {
			out = append(out, Mark{Node: n.Name, Since: since})
		}
	}
	return out
}
