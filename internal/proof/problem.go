package proof

import (
	"maps"
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bound"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// problem states a plan as the problem of its bound.
type problem struct {
	bound.Problem
	s         *assign.Assignment
	placed    []placedClass
	followers []*assign.Class // those of placed whose pods follow others onto their nodes
	at        map[classAt]int
	domains   [len(sharedKeys)]map[string]int // by topology key, numbered
	choices   map[string]int                  // by the offerings
	groupIDs  []int                           // of Groups
	zones     map[int]zoneSet                 // by class, where it must be
	paid      []bool                          // by tier, whether it is known what its machines and those after it are paid
	inDomain  map[int]int64                   // by class, how many of its pods are in one topology domain at most
	special   model.Bitset                    // special offerings that are bought for some class
}

const (
	// boundOperations limits the effort for the bound, one to three seconds of processor time
	// on a busy machine, and more in proportion to a budget.
	boundOperations = 1_600_000_000
	// heldAtMost bounds nodes times classes: beyond it nothing is proven.
	heldAtMost = 4_000_000
)

// newProblem states the plan. The pods of one group are in the only zone, if one is given.
func (pr Prover) newProblem(placed []placedClass, only *zoneOf) *problem {
	b := &problem{s: pr.Assignment, placed: placed, at: map[classAt]int{}, choices: map[string]int{}, zones: map[int]zoneSet{}, inDomain: map[int]int64{}}
	b.Price = int64(pr.Price())
	b.Operations = boundOperations * max(assign.DefaultTrials(assign.ManyPods), pr.Problem.Trials) / assign.DefaultTrials(assign.ManyPods)
	b.addZones(only)
	for i, p := range placed {
		b.at[p.classAt] = i
		if len(p.class.Follows()) > 0 {
			b.followers = append(b.followers, p.class)
		}
	}
	b.addSpecial()
	b.addShares()
	tiers := b.tiers()
	b.addSpending(tiers)
	for k := range pr.Offerings {
		o := &pr.Offerings[k]
		b.Offerings = append(b.Offerings, bound.Offering{
			Room: o.All().Room, Price: max(1, o.Price), Pool: o.Pool, Tier: tiers[o.Pool], Capacity: o.All().Capacity,
			Domains: b.domainsOf(func(key string) string { return domainIn(o, key) }),
		})
	}
	for i := range placed {
		p := &placed[i]
		most := min(topology.NodeCounts{}.Room(p.class.PerNodeLate, p.n), b.mostInDomain(i)) / p.lump
		b.Classes = append(b.Classes, bound.Class{Need: p.need(), Count: p.n / p.lump, Choice: b.choiceOf(i), Most: max(1, most)})
	}
	b.addGroups()
	b.addNodes()
	b.addLimits()
	b.addStart()
	return b
}

// mostInDomain returns how many pods of a class are in one topology domain at most.
func (b *problem) mostInDomain(class int) int64 {
	if most, ok := b.inDomain[class]; ok {
		return most
	}
	return b.placed[class].n
}

// choiceOf returns the number of the set of offerings that a class may be on, whatever
// room they have.
func (b *problem) choiceOf(class int) int {
	a, p := b.s, &b.placed[class]
	set := b.allowed(p)
	for _, other := range p.others {
		other.least, other.lump = p.least, p.lump
		set.Join(b.allowed(&other))
	}
	if zones := b.zones[class]; zones != nil {
		for k := range set.All {
			if !zones[a.Offerings[k].Offer.Zone] {
				set.Drop(k)
			}
		}
	}
	return b.numbered(set)
}

// numbered returns the number of a set of offerings among the choices.
func (b *problem) numbered(set model.Bitset) int {
	key := set.AppendKey(make([]byte, 0, 8*len(set)))
	id, ok := b.choices[string(key)]
	if !ok {
		id = len(b.Choices)
		b.choices[string(key)] = id
		b.Choices = append(b.Choices, set)
	}
	return id
}

// allowed returns the offerings that a class may be on by one node selector term.
func (b *problem) allowed(p *placedClass) model.Bitset {
	set := p.opt.Any.Clone() // whatever must be offered with others
	set.Join(p.mask)
	b.s.KeepAble(set, p.class.PerNode, p.opt)
	if p.mask.Meets(b.s.Special) {
		set.Keep(b.weighed(p))
		return set
	}
	spare := set.Clone()
	spare.Keep(b.special)
	set.Remove(b.s.Special)
	set.Keep(b.weighed(p))
	set.Join(spare)
	return set
}

// addSpecial finds the special offerings that may be bought for some class. Others may use the
// room that is left there, whatever the weight of the Provisioner is.
func (b *problem) addSpecial() {
	b.special = model.NewBitset(len(b.s.Offerings))
	join := func(p *placedClass) {
		if p.mask.Meets(b.s.Special) {
			b.special.Join(p.opt.Any)
			b.special.Join(p.mask)
		}
	}
	for i := range b.placed {
		join(&b.placed[i])
		for j := range b.placed[i].others {
			join(&b.placed[i].others[j])
		}
	}
	for _, m := range b.s.Machines() {
		b.special.Add(m.Offering)
	}
	b.special.Keep(b.s.Special)
}

// sharesSpecial reports whether a class may use room that is left on special machines.
func (b *problem) sharesSpecial(p *placedClass) bool {
	return !p.mask.Meets(b.s.Special) && p.opt.Any.Meets(b.special)
}

// matches reports whether a node is one that a class may be on.
func (b *problem) matches(p *placedClass, node int) bool {
	return b.s.Matches(p.opt, node) || slices.ContainsFunc(p.others, func(o placedClass) bool { return b.s.Matches(o.opt, node) })
}

// addGroups states which classes keep apart from each other on nodes.
func (b *problem) addGroups() {
	members := map[int]*bound.ClassGroup{}
	for i, p := range b.placed {
		for _, of := range p.class.PerNodeLate {
			most := min(of.Cap, of.Entry)
			if of.Self != 1 || p.lump > 1 || most >= topology.NoCap || b.s.State.List[of.Group].OfVolumes() {
				continue
			}
			g := members[of.Group]
			if g == nil {
				g = &bound.ClassGroup{}
				members[of.Group] = g
			}
			g.Classes, g.Most = append(g.Classes, i), max(g.Most, most)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(members)) {
		if g := members[id]; len(g.Classes) > 1 {
			b.Groups, b.groupIDs = append(b.Groups, *g), append(b.groupIDs, id)
		}
	}
}

// addNodes states what the nodes can hold. Where there are too many, each class is taken
// to find room for all its pods there.
func (b *problem) addNodes() {
	a := b.s
	for i, n := range a.Existing() {
		node := bound.Node{Room: a.Start.Room[i], Holds: make([]int64, len(b.placed)), Domains: b.domainsOf(func(key string) string { return n.Labels[key] })}
		for c := range b.placed {
			p := &b.placed[c]
			switch zones := b.zones[c]; {
			case zones != nil && !zones[n.Labels[api.LabelZone]]:
			case len(a.Existing())*len(b.placed) > heldAtMost:
				node.Holds[c] = p.n
			case model.Fits(p.need(), a.Start.Room[i]) && b.matches(p, i):
				at := &topology.NodeView{Node: n.Node, Counts: a.Start.Counts[i]}
				node.Holds[c] = a.State.RoomOn(at, p.class.PerNodeLate, p.n) / p.lump
			}
		}
		for g, id := range b.groupIDs {
			node.Groups = append(node.Groups, b.mostOn(i, g, id))
		}
		b.Nodes = append(b.Nodes, node)
	}
}

// mostOn returns how many pods of a group may come onto a node.
func (b *problem) mostOn(node, group, id int) int64 {
	if !b.s.State.CountedOn(b.s.Existing()[node].Node, id) {
		return topology.NoCap
	}
	count, _ := b.s.Start.Counts[node].Get(id)
	return max(0, b.Groups[group].Most-count)
}

// addLimits states the limits that bind: others change nothing.
func (b *problem) addLimits() {
	a := b.s
	for _, p := range a.Pools {
		for r, name := range a.Space.Names {
			if _, binds := p.Limits[name]; !binds {
				continue
			}
			bought := int64(0)
			for _, m := range a.Machines() {
				if m.Pool == p {
					bought += a.Offerings[m.Offering].Capacity[r]
				}
			}
			l := bound.Limit{Pool: p.Number, Resource: r, Most: max(bought, p.Most[name]-p.Has[name])}
			if len(p.Limits) == 1 && p.Spec.Spec.Limits != nil {
				l.Least = min(bought, b.leastOf(p, r, l.Most))
			}
			b.Limits = append(b.Limits, l)
		}
	}
}

// leastOf returns how much of its limit a pool is used for at least. Of the pods that no
// other Provisioner of as high a weight can take, either all are on its machines, or it has
// no room left for even the smallest machine that one of them could be on.
func (b *problem) leastOf(p *model.Pool, resource int, most int64) int64 {
	a, needed, largest := b.s, int64(0), int64(0)
	for _, n := range a.Start.Room {
		needed -= max(0, min(n[resource], model.Plenty/int64(len(a.Start.Room))))
	}
	for i := range b.placed {
		of := &b.placed[i]
		if len(of.class.Keys) > 0 || len(of.others) > 0 || b.tied(of) || b.sharesSpecial(of) || a.FirstOf(of.mask) != p {
			continue
		}
		smallest := int64(math.MaxInt64)
		for k := range of.mask.Within(p.Offerings) {
			smallest = min(smallest, a.Offerings[k].Capacity[resource])
		}
		needed, largest = needed+of.class.Need[resource]*of.n, max(largest, smallest)
	}
	return min(needed, most-largest)
}

// addStart states the machines of the plan.
func (b *problem) addStart() {
	for i, m := range b.s.Machines() {
		if i > 0 && m == b.s.Machines()[i-1] {
			continue
		}
		counts := map[int]int64{}
		for _, p := range m.Placed {
			c := b.at[classAt{p.Class, p.Level}]
			counts[c] += p.N / b.placed[c].lump
		}
		of := bound.Content{Offering: m.Offering}
		for _, c := range slices.Sorted(maps.Keys(counts)) {
			of.Parts = append(of.Parts, bound.Part{Class: c, N: counts[c]})
		}
		b.Start = append(b.Start, of)
	}
}
