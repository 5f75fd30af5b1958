package purchase

import (
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/colgen"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/lp"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// Nodes that exist are filled before it is known what will be on machines. A small pod that
// may not be beside another of its kind then needs a machine, although it could have taken a
// little of a node, or a node has room left for which no pod is small enough. So the
// program over patterns fills both again, and the search exchanges pods between them, as far as
// nothing but room and the other pods on a node decides where they may be.

// held is a node with what this plan has put there and may put elsewhere.
type held struct {
	node   int // index of Existing
	view   *topology.NodeView
	placed []int // indices of OnNodes
	items  []assign.Items
	room   []int64             // with what the items take
	counts topology.NodeCounts // without the items
}

// mostHeld bounds nodes times pod groups.
const mostHeld = 100_000

// hold lists the nodes that matter to pod groups which are bought for from a tier.
func (pu *Purchaser) hold(asked []*assign.PodGroup, tier []*model.Pool) []*held {
	existing := pu.Existing()
	if !pu.Uses(assign.HeldNodes) || len(asked) == 0 || len(existing)*len(asked) > mostHeld {
		return nil
	}
	all, at := make([]*held, len(existing)), map[*assign.Node]*held{}
	for i, n := range existing {
		all[i] = &held{node: i, view: n.NodeView, room: slices.Clone(n.Free), counts: slices.Clone(pu.Start.Counts[i])}
		at[n] = all[i]
	}
	groups := movable{pu, tier[0].Weight, map[placedAs]*assign.PodGroup{}}
	for i := range pu.OnNodes() {
		p := &pu.OnNodes()[i]
		h, g := at[p.Node], groups.of(p)
		if g == nil {
			h.counts = h.counts.Plus(p.Class.PerNode, p.N)
			continue
		}
		h.placed, h.items = append(h.placed, i), append(h.items, assign.Items{Group: g, N: p.N})
		model.AddTimes(h.room, p.Class.Need, p.N)
	}
	pu.Effort.Others() // as before it was asked what each class may use
	return pu.reached(all, asked)
}

// reached keeps the nodes that some of the pod groups may be on, and those that pods of such
// nodes may go to instead, and so on.
func (pu *Purchaser) reached(nodes []*held, groups []*assign.PodGroup) []*held {
	groups, reached := slices.Clone(groups), map[*held]bool{}
	for i := 0; i < len(groups) && len(nodes)*i <= mostHeld; i++ {
		for _, h := range nodes {
			if reached[h] || h.view.HostLess() || !model.Fits(groups[i].Need, h.room) || !pu.buying.mayHold(h, groups[i]) {
				continue
			}
			reached[h] = true
			for _, it := range h.items {
				if !slices.Contains(groups, it.Group) {
					groups = append(groups, it.Group)
				}
			}
		}
	}
	return slices.DeleteFunc(nodes, func(h *held) bool { return !reached[h] })
}

// mayHold reports whether items of the pod group may be on the node, room and other pods apart.
func (by *buyer) mayHold(h *held, g *assign.PodGroup) bool {
	free := func(g *assign.PodGroup) bool { return len(g.Parts) == 1 && by.roams(g.Parts[0].Class) }
	return free(g) && !slices.ContainsFunc(g.Members, func(of *assign.PodGroup) bool { return !free(of) }) && by.Matches(g.Opt, h.node)
}

// roams reports whether pods of the class may leave a node for another one in the same domains,
// as far as pods on neither of them go. Spreads of other classes may count its pods on some nodes only.
func (by *buyer) roams(c *assign.Class) bool {
	picky := func(id int) bool { return by.State.List[id].Selective() && !c.SpreadBy(id) }
	return len(c.Follows())+len(c.Nodes) == 0 && !slices.ContainsFunc(c.Groups(), picky)
}

// movable finds pod groups for what is on nodes.
type movable struct {
	*Purchaser
	weight int32 // of the Provisioners that machines are bought from
	known  map[placedAs]*assign.PodGroup
}

// placedAs is what pods on nodes have in common that may be exchanged.
type placedAs struct {
	class   *assign.Class
	level   assign.Level
	domains string
}

// of returns the pod group of what is placed on a node; nil where it stays where it is.
func (m *movable) of(p *assign.NodePlacement) *assign.PodGroup {
	at := topology.AssignmentOf(p.Class.Keys, p.Node.Node)
	key := placedAs{p.Class, p.Level, model.DomainsKey(at.Domains)}
	g, ok := m.known[key]
	if !ok {
		g = m.find(p.Class, p.Level, at)
		m.known[key] = g
	}
	return g
}

// find returns nothing where others depend on where the pods are, and where they could not be
// bought for in these domains from the Provisioners of this weight.
func (m *movable) find(c *assign.Class, level assign.Level, at *topology.DomainAssignment) *assign.PodGroup {
	if !m.buying.roams(c) || m.followed(c) {
		return nil
	}
	o, ok := m.OptionsAt(c, level)
	if !ok {
		return nil
	}
	if len(c.Keys) > 0 {
		combinations := m.CombinationsOf(o, c.Keys)
		i := slices.IndexFunc(combinations, func(in model.DomainCombination) bool { return slices.Equal(in.Domains, at.Domains) })
		if i < 0 {
			return nil
		}
		o = m.PinnedTo(o, &combinations[i])
	}
	g, _ := m.GroupFor(c, level, o)
	if best, ok := m.BestRank(g.Mask, m.Remaining()); !ok || best.Weight != m.weight {
		return nil
	}
	if len(c.Keys) > 0 {
		g.At = at
	}
	return g
}

// followed reports whether pods of another class must be with the class's.
func (m *movable) followed(c *assign.Class) bool {
	return slices.ContainsFunc(m.Classes(), func(o *assign.Class) bool { return len(o.Follows()) > 0 && m.FollowsClass(o, c) })
}

// together returns purchases, which leave so much of the limits, as one that also has what nodes hold.
func together(all []*bought, limits assign.RemainingLimits) *bought {
	r, out := all[0].of, &bought{limits: limits}
	before := limits.Clone()
	var groups []*assign.PodGroup
	for _, b := range all {
		groups, out.left = append(groups, b.of.asked...), append(out.left, b.left...)
		out.machines, out.cost = append(out.machines, b.machines...), out.cost+b.cost
		for _, m := range b.machines {
			before.Spend(&r.Offerings[m.Offering], -1)
		}
	}
	for _, h := range r.held {
		for _, it := range h.items {
			if !slices.Contains(groups, it.Group) {
				it.Group.N = 0
				groups = append(groups, it.Group)
			}
			it.Group.N += it.N
		}
	}
	out.of = newRequest(r.buyer, groups, r.pools, before)
	out.of.nodes = r.held
	out.left = append(out.left, make([]int64, len(groups)-len(out.left))...)
	return out
}

// onNode returns what is on a node: what has been put there, or else what it holds.
func (b *bought) onNode(node int) []assign.Items {
	if b.onNodes == nil {
		return b.of.nodes[node].items
	}
	return b.onNodes[node]
}

// fillNode puts items on a node of which nothing has been decided, as far as they are left. It
// reports whether it did.
func (b *bought) fillNode(node int, items []assign.Items) bool {
	if b.onNodes[node] != nil {
		return false
	}
	h := b.of.nodes[node]
	counts, put := slices.Clone(h.counts), []assign.Items{}
	for _, it := range items {
		if n := counts.Room(it.Group.PerNode, min(it.N, b.left[it.Group.Index])); n > 0 {
			put, counts = append(put, assign.Items{Group: it.Group, N: n}), counts.Plus(it.Group.PerNode, n)
			b.left[it.Group.Index] -= n
		}
	}
	b.onNodes[node] = put
	return true
}

// nodeKinds states nodes for the linear program, which has a row for each of them after so many
// limits: there is one of each, for next to nothing.
func (r *request) nodeKinds(limits int) []colgen.MachineKind {
	out := make([]colgen.MachineKind, len(r.nodes))
	for node, h := range r.nodes {
		out[node] = colgen.MachineKind{Room: h.room, Cost: 1, Uses: make([]int64, limits+len(r.nodes))}
		out[node].Uses[limits+node] = 1
		for i, g := range r.asked {
			if model.Fits(g.Need, h.room) && r.mayHold(h, g) && h.counts.Room(g.PerNode, 1) > 0 {
				out[node].Items = append(out[node].Items, i)
			}
		}
	}
	return out
}

// worth is the most that pods on a node can be worth, if they may be divided.
func (p *searchProblem) worth(h *held, items []int, value []float64) int64 {
	var share, most, each []float64
	for _, i := range items {
		g := p.asked[i]
		n := amount.Copies(g.Need, h.room, g.N)
		if n == 0 || !p.mayHold(h, g) {
			continue
		}
		most, each = append(most, float64(n)), append(each, value[i])
		for r, v := range g.Need {
			share = append(share, float64(v)/float64(max(1, h.room[r])))
		}
	}
	packing := lp.NewPacking(len(h.room), share, most)
	packing.Solve(each)
	return max(1, int64(math.Ceil(packing.Value)))
}

// relocate carries out what a purchase has changed on nodes.
func (pu *Purchaser) relocate(b *bought) {
	if b.onNodes == nil || len(b.of.nodes) == 0 {
		return
	}
	var list []assign.Withdrawal
	for _, h := range b.of.nodes {
		for _, i := range h.placed {
			p := &pu.OnNodes()[i]
			list = append(list, assign.Withdrawal{Index: i, N: p.N})
			pu.State.Join(p.Class.Rules, -p.N)
			pu.State.EnterNode(p.Class.Rules, topology.AssignmentOf(p.Class.Keys, p.Node.Node), p.Node.Node, -p.N)
		}
		for _, it := range h.items {
			pu.Uncount(it.Group, -it.N) // as if it were booked
		}
	}
	slices.SortFunc(list, func(a, b assign.Withdrawal) int { return a.Index - b.Index })
	pu.Withdraw(list)
	for k, h := range b.of.nodes {
		for _, it := range b.onNodes[k] {
			pu.PutItems(h.node, it.Group, it.N)
		}
	}
}
