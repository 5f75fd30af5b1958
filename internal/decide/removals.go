package decide

import (
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
)

// maxTrials bounds how many nodes in use are tried for removal in one turn: each
// means to pack once more.
const maxTrials = 16

// owned lists the nodes of ours that are not leaving and whose Provisioner is known.
func (t *turn) owned() []*retire.Node {
	pods := map[string][]*cluster.Pod{}
	for i := range t.in.Snapshot.Pods {
		if p := &t.in.Snapshot.Pods[i]; p.NodeName != "" {
			pods[p.NodeName] = append(pods[p.NodeName], p)
		}
	}
	var out []*retire.Node
	for i := range t.in.Snapshot.Nodes {
		n := &t.in.Snapshot.Nodes[i]
		k, known := slices.BinarySearchFunc(t.in.Provisioners, n.Provisioner, func(p Provisioner, name string) int { return strings.Compare(p.Spec.Name, name) })
		if n.Provisioner == "" || !known {
			continue
		}
		p := &t.in.Provisioners[k]
		out = append(out, &retire.Node{Node: n, Provisioner: p.Spec, ProfileHash: p.ProfileHash, Profile: p.Profile, Blocked: p.Blocked, Pods: pods[n.Name]})
	}
	return out
}

// staying leaves out the nodes that are on their way out, and those that still
// have the mark of it.
func (t *turn) staying(nodes []*retire.Node) []*retire.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *retire.Node) bool { return t.leaving[n.Name] || t.reprieved[n.Name] != "" })
}

// force lets the nodes go that must go, whatever runs there and whether or not they
// were chosen to go before.
func (t *turn) force(nodes []*retire.Node) []Removal {
	var out []Removal
	there := slices.DeleteFunc(slices.Clone(nodes), func(n *retire.Node) bool { return n.Deleting })
	for _, f := range retire.Forced(there, t.in.Now, t.in.Settings.policy()) {
		out = append(out, Removal{Node: f.Node.Name, Reason: RemovalReason(f.Reason), Message: f.Message})
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
	return attempt{problem, pack.Solve(problem)}
}

// nominate notes which nodes get pods.
func (t *turn) nominate(nodes []*retire.Node, a attempt) {
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

// retire lets nodes go voluntarily, as far as budgets and protections allow and
// all their pods have another place.
func (t *turn) retire(nodes []*retire.Node, now attempt) ([]Removal, []Kept, attempt) {
	t.nominate(nodes, now)
	budgets := retire.NewBudgets(nodes, t.in.Now, func(n *retire.Node) bool { return t.leaving[n.Name] })
	var removals []Removal
	var kept []Kept
	trials := 0
	for _, f := range retire.Voluntary(t.staying(nodes), t.in.Now) {
		keep := func(why string) {
			kept = append(kept, Kept{Node: f.Node.Name, Reason: RemovalReason(f.Reason), Why: why})
		}
		if why := t.caseOf(f).Protected(); why != "" {
			keep(why)
			continue
		}
		next := now
		if f.Node.InUse() {
			if trials++; trials > maxTrials {
				keep("other nodes go first")
				continue
			}
			var why string
			if next, why = t.without(f.Node.Name, now); why != "" {
				keep(why)
				continue
			}
		}
		if !budgets.Take(f) {
			keep("a disruption budget of provisioner " + f.Node.Provisioner.Name + " allows no more now")
			continue
		}
		now = next
		t.leaving[f.Node.Name] = true
		t.nominate(nodes, now)
		removals = append(removals, Removal{Node: f.Node.Name, Reason: RemovalReason(f.Reason), Message: f.Message, Voluntary: true})
	}
	return removals, kept, now
}

func (t *turn) caseOf(f retire.Finding) *retire.Case {
	return &retire.Case{Finding: f, Now: t.in.Now, Budgets: t.in.Snapshot.DisruptionBudgets, Policy: t.in.Settings.policy()}
}

// without packs as if the node were leaving too. It says why the node cannot be
// spared where one of its pods has no other place or another pod would lose its own.
func (t *turn) without(name string, now attempt) (attempt, string) {
	t.leaving[name] = true
	next := t.pack()
	delete(t.leaving, name)
	for i, place := range next.layout.Places {
		if d := &next.problem.Pods[i]; d.From == name && !place.Placed() {
			return attempt{}, "pod " + d.Pod.String() + " would have no other place: " + place.Reason
		}
	}
	if unplaced(next) > unplaced(now) {
		return attempt{}, "pods that wait for a place need it"
	}
	return next, ""
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
