package decide

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
)

// owned lists the nodes of ours whose Provisioner is known.
func (d *decision) owned() []*retire.Node {
	pods := map[string][]*cluster.Pod{}
	for _, p := range d.onNodes {
		pods[p.NodeName] = append(pods[p.NodeName], p)
	}
	var out []*retire.Node
	for i := range d.in.Snapshot.Nodes {
		n := &d.in.Snapshot.Nodes[i]
		p := d.provisioner(n.Provisioner)
		if p == nil {
			continue
		}
		node := &retire.Node{
			Node: n, Provisioner: p.Spec, ProfileHash: p.ProfileHash, Profile: p.Profile,
			Blocked: p.Blocked, Pods: pods[n.Name], At: d.in.Now,
		}
		if t := p.typeOf(n); t != nil {
			node.Image, _ = t.Label(api.LabelInstanceAMIID)
		}
		out = append(out, node)
	}
	return out
}

// staying leaves out the nodes that are being removed, and those that are marked for removal:
// these stay after all, or another program has marked them.
func (d *decision) staying(nodes []*retire.Node) []*retire.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *retire.Node) bool { return d.leaving[n.Name] || n.Mark().Reason != "" })
}

// force lets the nodes go that must go, whatever runs there and whether or not they
// were chosen to go before.
func (d *decision) force(nodes []*retire.Node) []Removal {
	var out []Removal
	for _, f := range retire.Forced(nodes, d.in.Now, d.in.Settings.Policy) {
		out = append(out, Removal{Node: f.Node.Name, Reason: f.Reason, Message: f.Message})
	}
	for _, r := range out {
		d.leaving[r.Node], d.forced[r.Node] = true, true
	}
	return out
}

// attempt is a packing that was made for a set of leaving nodes.
type attempt struct {
	problem *pack.Problem
	layout  *pack.Layout
}

func (d *decision) packed() attempt {
	problem := d.problem(d.leaving)
	layout := pack.Solve(problem)
	d.effort += layout.Effort
	for i := range layout.Places {
		if place := &layout.Places[i]; place.Exhausted {
			d.exhausted[problem.Pods[i].Pod.PodKey] = place
		}
	}
	return attempt{problem, layout}
}

// nominate notes which nodes get pods. Pods that stop have no place in the plan: until their successors are made, what was
// bought for them is not empty.
func (d *decision) nominate(nodes []*retire.Node, a attempt) {
	if len(nodes) == 0 {
		return
	}
	to := map[string]bool{}
	for i := range a.layout.Places {
		to[a.layout.Places[i].Node] = true
	}
	for i := range d.in.Snapshot.Pods {
		p := &d.in.Snapshot.Pods[i]
		to[p.NominatedNode] = true
		for _, name := range d.awaitVolumes(p) {
			to[name] = true
		}
	}
	for i := range d.in.Planned {
		if b := &d.in.Planned[i]; b.From != "" {
			to[b.Node] = true
		}
	}
	for _, p := range d.onNodes {
		if d.leaving[p.NodeName] && !p.Template.BelongsToNode() && retire.AwaitsSuccessor(p, d.in.Now) {
			for _, name := range d.launchedFor(p.NodeName) {
				to[name] = true
			}
		}
	}
	for _, n := range nodes {
		n.Nominated = to[n.Name]
	}
}

// awaitVolumes returns the nodes for which volumes of a pod are being made. Before it binds a pod, kube-scheduler waits
// for its volumes, and only their claims name the node that it has chosen. Pending pods have a place in the plan.
func (d *decision) awaitVolumes(p *cluster.Pod) (nodes []string) {
	if p.NodeName != "" || p.State == cluster.PodPending {
		return nil
	}
	for _, ref := range p.Template.Claims {
		if c := d.in.Snapshot.Claim(p.Namespace, ref.Name); c != nil && c.VolumeName == "" && c.Selected != "" {
			nodes = append(nodes, c.Selected)
		}
	}
	return nodes
}

func (d *decision) caseOf(f retire.DueNode) *retire.Case {
	return &retire.Case{DueNode: f, Now: d.in.Now, PDBs: d.pdbs, Snapshot: d.in.Snapshot, Policy: d.in.Settings.Policy, Begun: d.in.Begun[f.Node.Name]}
}

// keepsPlaces reports whether each pod that has a place has one in another packing, too.
func (a attempt) keepsPlaces(in attempt) bool {
	placed := map[cluster.PodKey]bool{}
	for i, place := range in.layout.Places {
		placed[in.problem.Pods[i].Pod.PodKey] = place.Placed()
	}
	for i, place := range a.layout.Places {
		if place.Placed() && !placed[a.problem.Pods[i].Pod.PodKey] {
			return false
		}
	}
	return true
}

// emptiness returns the emptiness timestamps to set or remove.
func (d *decision) emptiness(nodes []*retire.Node) []Emptiness {
	var out []Emptiness
	for _, n := range d.staying(nodes) {
		if since, change := retire.Emptiness(n, d.in.Now); change {
			out = append(out, Emptiness{Node: n.Name, Since: since})
		}
	}
	return out
}
