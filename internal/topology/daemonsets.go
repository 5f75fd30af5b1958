package topology

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// Resident is what pods that are there mean to others: running pods of one template, or
// the pods that a DaemonSet puts on each of its nodes.
type Resident struct {
	PerNode []PerNode
	Members []int // groups counted by domain that they belong to
	Repels  []int // groups counted by domain that they keep away
}

// ReadResident adds the groups that a running pod's anti-affinity and ports speak of. It is
// called once.
func (gs *Groups) ReadResident(t *cluster.Template, r *Resident) {
	for _, k := range kinds {
		k.ReadResident(gs, t, r)
	}
}

// SettleResident finds, once all groups are known, which ones a running pod belongs to.
func (gs *Groups) SettleResident(t *cluster.Template, r *Resident) {
	in := gs.membership(t)
	for i, p := range r.PerNode {
		r.PerNode[i] = p.settled(in)
	}
	for id, member := range in {
		switch {
		case !member:
		case gs.List[id].Key != corev1.LabelHostname:
			r.Members = append(r.Members, id)
		default:
			r.PerNode = addPerNode(r.PerNode, PerNode{Group: id, Self: 1, Cap: Unbounded, Entry: Unbounded})
		}
	}
}

// Groups lists the groups that the pods have to do with.
func (r *Resident) Groups() []int {
	out := slices.Concat(r.Members, r.Repels)
	for _, p := range r.PerNode {
		out = append(out, p.Group)
	}
	return out
}

// Stopping returns what the pods mean to others while they stop. kube-scheduler counts them as before,
// but not for spreads.
func (gs *Groups) Stopping(r *Resident) *Resident {
	spread := func(id int) bool { return gs.List[id].spread }
	return &Resident{
		PerNode: slices.DeleteFunc(slices.Clone(r.PerNode), func(p PerNode) bool { return spread(p.Group) }),
		Members: slices.DeleteFunc(slices.Clone(r.Members), spread),
		Repels:  r.Repels,
	}
}

// CountedByDomain reports whether groups that are counted by domain look at the pods.
func (r *Resident) CountedByDomain() bool { return len(r.Members)+len(r.Repels) > 0 }

// Matters reports whether any constraint looks at the pods.
func (r *Resident) Matters() bool { return len(r.PerNode) > 0 || r.CountedByDomain() }

// countsOnNode reports whether the pods belong to a group counted by node.
func (r *Resident) countsOnNode(group int) bool {
	return slices.ContainsFunc(r.PerNode, func(p PerNode) bool { return p.Group == group && p.Self > 0 })
}

// Occupy counts a pod that is there.
func (s *State) Occupy(n *NodeView, r *Resident) {
	s.CountOn(n, r.PerNode, 1)
	if !n.HostLess() {
		for _, p := range r.PerNode {
			s.List[p.Group].Total += p.Self
		}
	}
	for _, id := range r.Members {
		g := s.List[id]
		if value, ok := n.Labels[g.Key]; ok && g.Counts(n.Node) {
			g.count[value]++
			g.Total++
		}
	}
	for _, id := range r.Repels {
		g := s.List[id]
		if value, ok := n.Labels[g.Key]; ok {
			g.repel[value]++
		}
	}
}

// TakesResident reports whether a node takes a pod that is not placed by us, such as one of a
// DaemonSet, as far as other pods go.
func (s *State) TakesResident(n *NodeView, r *Resident) bool {
	return s.RoomOn(n, r.PerNode, 1) > 0 && !s.kept(r, func(key string) (string, bool) { value, ok := n.Labels[key]; return value, ok })
}

// kept reports whether other pods keep a pod that is not placed by us out of the domains
// that a node with these labels is in.
func (s *State) kept(r *Resident, label func(key string) (string, bool)) bool {
	in := func(ids []int, pods func(*Group) map[string]int64) bool {
		return slices.ContainsFunc(ids, func(id int) bool {
			in := pods(s.List[id])
			if len(in) == 0 {
				return false
			}
			value, ok := label(s.List[id].Key)
			return ok && in[value] > 0
		})
	}
	return in(r.Members, func(g *Group) map[string]int64 { return g.repel }) || in(r.Repels, func(g *Group) map[string]int64 { return g.count })
}

// KeepDaemonsOff finds the offerings on which the pods of DaemonSets are not going to run
// because pods that run already keep them out of the domains of these. It is called before
// anything is placed.
func (s *State) KeepDaemonsOff() {
	off, some := make([]model.Bitset, len(s.Daemons)), false
	for i, d := range s.Daemons {
		off[i] = model.NewBitset(len(s.supply.Offerings))
		if !d.CountedByDomain() {
			continue
		}
		for k := range s.supply.DaemonSets[i].On.All {
			residual := s.supply.Pools[s.supply.Offerings[k].Pool].Residual
			if s.kept(d, func(key string) (string, bool) { value, ok := s.supply.LabelsOf(k, residual)[key]; return value, ok }) {
				off[i].Add(k)
				some = true
			}
		}
	}
	if s.keptOff, s.crews = nil, nil; some {
		s.keptOff = off
	}
}

// crew is a set of DaemonSets that some offerings have in common, of which there are few.
type crew struct {
	counts NodeCounts // what they mean to others on a node
	on     model.Bitset
}

// crewsOf returns the crews of all offerings, found once.
func crewsOf(s *State) []crew {
	if s.crews != nil {
		return s.crews
	}
	known, last, before := map[string]int{}, -1, []int(nil)
	for k := range s.supply.Offerings {
		if of := s.DaemonsOn(k); last < 0 || !slices.Equal(of, before) {
			key := fmt.Sprint(of)
			i, ok := known[key]
			if !ok {
				i = len(s.crews)
				known[key] = i
				s.crews = append(s.crews, crew{s.DaemonCounts(k), model.NewBitset(len(s.supply.Offerings))})
			}
			before, last = of, i
		}
		s.crews[last].on.Add(k)
	}
	return s.crews
}

// KeepBesideDaemons leaves out of a set the offerings on whose nodes pods of DaemonSets leave no
// room for a pod with such constraints by node.
func (s *State) KeepBesideDaemons(of model.Bitset, perNode []PerNode) {
	for _, c := range crewsOf(s) {
		s.supply.Effort.Spend(1 + len(perNode))
		if c.counts.Room(perNode, 1) <= 0 {
			of.Remove(c.on)
		}
	}
}

// DaemonsOn lists the DaemonSets that will have a pod on a node of the offering, as places in
// Daemons.
func (s *State) DaemonsOn(offering int) []int {
	all := s.supply.Offerings[offering].DaemonSets
	if s.keptOff == nil {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(i int) bool { return s.keptOff[i].Has(offering) })
}

// runsOn returns the offerings on whose nodes a DaemonSet will have a pod.
func (s *State) runsOn(daemon int) model.Bitset {
	on := s.supply.DaemonSets[daemon].On.Clone()
	if s.keptOff != nil {
		on.Remove(s.keptOff[daemon])
	}
	return on
}

// DaemonCounts returns what the DaemonSets of an offering mean to others on a node.
func (s *State) DaemonCounts(offering int) NodeCounts {
	var h NodeCounts
	for _, i := range s.DaemonsOn(offering) {
		h = h.Plus(s.Daemons[i].PerNode, 1)
	}
	return h
}

// MindDaemons leaves out of a set the offerings on which DaemonSets put pods that the
// class must not meet, and those on which they put none that it has to be with, where
// others have one. It returns the groups of which each offering that is left then has a pod.
func (s *State) MindDaemons(of model.Bitset, r *Rules) (lent []int) {
	for _, c := range r.follows {
		on, _ := s.runningOn(func(i int) bool { return s.Daemons[i].countsOnNode(c.group) })
		of.Keep(on)
	}
	s.KeepFromDaemons(of, r)
	for _, c := range r.Affinities() {
		in := func(i int) bool {
			return slices.Contains(s.Daemons[i].Members, c.group) && s.runsOn(i).Meets(of)
		}
		if on, some := s.runningOn(in); c.Required() && some {
			of.Keep(on)
			lent = append(lent, c.group)
		}
	}
	return lent
}

// KeepFromDaemons leaves out of a set the offerings on which DaemonSets put pods that the class must
// not meet.
func (s *State) KeepFromDaemons(of model.Bitset, r *Rules) {
	for i := range s.Daemons {
		if s.repelEachOther(r, s.Daemons[i]) {
			of.Remove(s.runsOn(i))
		}
	}
}

// runningOn returns the offerings that one of the DaemonSets runs on, and whether there is
// such a DaemonSet.
func (s *State) runningOn(which func(int) bool) (on model.Bitset, some bool) {
	on = model.NewBitset(len(s.supply.Offerings))
	for i := range s.Daemons {
		if which(i) {
			some = true
			on.Join(s.runsOn(i))
		}
	}
	return on, some
}

// repelEachOther reports whether a pod of the class and one of the DaemonSet must not be in
// one domain of a key other than the host name.
func (s *State) repelEachOther(r *Rules, d *Resident) bool {
	return slices.ContainsFunc(r.AntiAffinities(), func(c *AntiAffinity) bool { return c.Required() && slices.Contains(d.Members, c.group) }) ||
		slices.ContainsFunc(d.Repels, func(id int) bool { return slices.Contains(r.Members, id) })
}

// CountsDaemons reports whether pods of DaemonSets belong to the group.
func (s *State) CountsDaemons(group int) bool {
	return s.daemonsIn(group) || slices.ContainsFunc(s.Daemons, func(d *Resident) bool { return slices.Contains(d.Members, group) })
}
