package topology

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// State is what is counted where. Every package asks it about the rules.
type State struct {
	*Groups
	// Nodes are room for pods, and Closed are others that stay: what they have counts.
	Nodes, Closed []*NodeView
	// Daemons mean to others what the pods of the supply's DaemonSets do, in their order.
	Daemons []*Resident
	// keptOff lists by DaemonSet the offerings that running pods keep its pods off.
	keptOff []model.Bitset
	crews   []crew // see crewsOf

	supply  *model.Supply
	planned []*NodeView         // the machines among them are domains of spreads
	values  map[string][]string // of topology keys, that nodes have
}

// NodeView is a node that exists or will, as kube-scheduler sees it.
type NodeView struct {
	*model.Node
	Counts NodeCounts
}

// NewState returns a state in which nothing is counted.
func NewState(groups *Groups, supply *model.Supply) *State {
	return &State{Groups: groups, supply: supply, values: map[string][]string{}}
}

// RoomOn returns how many pods with such constraints may be added to a node as far as what
// is counted by node goes, at most limit.
func (s *State) RoomOn(n *NodeView, of []PerNode, limit int64) int64 {
	return n.Counts.Room(s.countedOn(n.Node, of), limit)
}

// CountOn counts k pods on a node; fewer than 0 are taken away.
func (s *State) CountOn(n *NodeView, of []PerNode, k int64) {
	n.Counts = n.Counts.Plus(s.countedOn(n.Node, of), k)
}

func (s *State) countedOn(n *model.Node, of []PerNode) []PerNode {
	if len(of) == 0 || !n.HostLess() {
		return of
	}
	return slices.DeleteFunc(slices.Clone(of), func(p PerNode) bool { return !s.CountedOn(n, p.Group) })
}

// CountedOn reports whether a group that is counted by node is counted on this one. Pods that
// a constraint over the host name finds are not where the node has no such label. Ports and
// attachments are the node's own, whatever its labels: see Group.ofNode.
func (s *State) CountedOn(n *model.Node, group int) bool {
	return s.List[group].ofNode || !n.HostLess()
}

// Plan makes the domains of nodes of a plan count for spreads.
func (s *State) Plan(planned []*NodeView, classes []*Rules) {
	for _, r := range classes {
		for _, c := range r.Spreads() {
			c.domains = nil // the machines' domains count as well
		}
	}
	clear(s.values)
	s.planned = planned
}

// stepsToAdmit is the effort of looking at one rule of a class in some domains.
const stepsToAdmit = 4

// Admits reports whether another pod of the class may enter the domains, and how many
// pods are there that its spreads count, and that others' spreads count with it: where
// these are few there is most need of it.
func (s *State) Admits(r *Rules, at *DomainAssignment, relaxed Relaxed) (int64, bool) {
	s.supply.Effort.Begin(r.Account)
	s.supply.Effort.Spend(stepsToAdmit * (1 + len(r.byDomain) + len(r.Members)))
	evens, counted := false, int64(0)
	countIn := func(g *Group) {
		value, _ := at.Value(g.Key)
		counted += g.count[value]
	}
	for _, c := range r.byDomain {
		if r.gaveUp(c, relaxed) {
			continue
		}
		if !c.admits(s, r, at) {
			return 0, false
		}
		if id := c.evens(); id >= 0 {
			evens = true
			countIn(s.List[id])
		}
	}
	if evens {
		for _, id := range r.Members {
			if g := s.List[id]; g.spread {
				countIn(g)
			}
		}
	}
	return counted, !s.Repelled(r, at)
}

// Accepts reports whether kube-scheduler would let the next pod of the class onto a node as
// far as other pods go. Preferences keep no pod away.
func (s *State) Accepts(r *Rules, to *NodeView, at *DomainAssignment) bool {
	if s.RoomOn(to, r.PerNodeLate, 1) == 0 || !s.Reaches(r, to, true) {
		return false
	}
	_, ok := s.Admits(r, at, r.Everything())
	return ok
}

// Reaches reports whether a node has what the class must share a node with; first means
// that a pod may be the first of those that it asks for. Nothing can follow others onto a
// node without a host name, or be spread over it.
func (s *State) Reaches(r *Rules, to *NodeView, first bool) bool {
	if len(r.byNode) == 0 {
		return true
	}
	if r.needsHostName && to.HostLess() {
		return false
	}
	return s.Accompanied(r, to.Counts, first)
}

// Accompanied reports whether the counts of a node have the pods that the class must share a
// node with.
func (s *State) Accompanied(r *Rules, counts NodeCounts, first bool) bool {
	return !slices.ContainsFunc(r.byNode, func(c Constraint) bool { return !c.admitsOn(s, r, counts, first) })
}

// Enter counts k pods of the class in some domains, on a node that will meet the
// requirements; fewer than 0 are taken away.
func (s *State) Enter(r *Rules, at *DomainAssignment, requires match.Requirements, k int64) {
	s.enter(r, at, k, func(g *Group) bool { return g.countsPlan(requires, at) })
}

// EnterNode counts k pods of the class in the domains of a node.
func (s *State) EnterNode(r *Rules, at *DomainAssignment, n *model.Node, k int64) {
	s.enter(r, at, k, func(g *Group) bool { return g.Counts(n) })
}

func (s *State) enter(r *Rules, at *DomainAssignment, k int64, counts func(*Group) bool) {
	for _, id := range r.Members {
		g := s.List[id]
		if value, ok := at.Value(g.Key); ok && counts(g) {
			g.count[value] += k
			g.Total += k
			if k < 0 {
				g.removed++
			}
		}
	}
	for _, c := range r.byDomain {
		c.count(s, at, k)
	}
}

// Join counts k pods of the class in the groups that are counted by node.
func (s *State) Join(r *Rules, k int64) {
	for _, p := range r.PerNode {
		s.List[p.Group].Total += p.Self * k
	}
}

// Place counts k pods of the class on a node: there, and in its domains.
func (s *State) Place(r *Rules, to *NodeView, at *DomainAssignment, k int64) {
	s.CountOn(to, r.PerNodeLate, k)
	if !to.HostLess() {
		s.Join(r, k)
	}
	s.EnterNode(r, at, to.Node, k)
}

// Explain says which constraints on other pods leave no place, and where those pods are;
// at most so many of them.
func (s *State) Explain(r *Rules, most int) string {
	var parts []string
	for _, c := range r.list {
		if text := c.refusal(s, r); text != "" {
			parts = append(parts, text)
		}
	}
	if len(parts) > 0 {
		return match.Several(parts, most)
	}
	for _, id := range r.Members {
		if g := s.List[id]; len(g.repel) > 0 {
			return "anti-affinity of other pods over " + g.Key + " keeps it out of " + match.Occupied(g.repel)
		}
	}
	return "constraints on other pods leave no node for it"
}

// countsPlan reports whether pods on a machine that will meet the requirements, in
// the given domains, count.
func (g *Group) countsPlan(requires match.Requirements, at *DomainAssignment) bool {
	for _, key := range g.labelled {
		if _, ok := at.Value(key); !ok && key != corev1.LabelHostname {
			return false
		}
	}
	return g.nodes == nil || slices.ContainsFunc(g.nodes, func(r match.Requirements) bool {
		_, bad := r.And(requires).Unmeetable()
		return !bad
	})
}

// present lists the values of the group's key that nodes have, those of the plan
// included where that is known.
func (s *State) present(g *Group) []string {
	if g.Selective() {
		return s.valuesOf(g.Key, func(n *model.Node) bool {
			s.supply.Effort.Spend(model.StepsToMatch * (1 + len(g.labelled) + len(g.nodes)))
			return g.Counts(n)
		})
	}
	known, ok := s.values[g.Key]
	if !ok {
		known = s.valuesOf(g.Key, func(*model.Node) bool { return true })
		s.values[g.Key] = known
	}
	return known
}

// valuesOf lists the values of a label that some of the nodes have.
func (s *State) valuesOf(key string, some func(*model.Node) bool) []string {
	seen := map[string]bool{}
	s.supply.Effort.Spend(model.StepsToMatch * (len(s.Nodes) + len(s.Closed) + len(s.planned)))
	for _, list := range [][]*NodeView{s.Nodes, s.Closed, s.planned} {
		for _, n := range list {
			if value, ok := n.Labels[key]; ok && !seen[value] && some(n.Node) {
				seen[value] = true
			}
		}
	}
	return model.SortedKeys(seen)
}

// Snapshot copies what all groups count.
func (gs *Groups) Snapshot() []Tally {
	var out []Tally
	for _, g := range gs.List {
		out = append(out, g.Tally.clone())
	}
	return out
}

// Restore sets what all groups count back to a snapshot.
func (gs *Groups) Restore(to []Tally) {
	for i, g := range gs.List {
		g.Tally = to[i].clone()
		g.removed++
	}
}
