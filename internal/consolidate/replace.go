package consolidate

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
)

// groupSizes are how many nodes are tried to be replaced together. More take more moves
// for each step, which is then as hard to carry out.
var groupSizes = []int{1, 2, 3, 5, 8}

const (
	// maxGroups bounds the packings that look for replacements.
	maxGroups = 120
	// groupTrials is the effort of each: a group is a few machines' worth of pods.
	groupTrials = 1500
	// nearbyRooms are how many nodes with room are offered to a group besides machines.
	nearbyRooms = 8
	// minSpotTypes must be able to take the place of a spot node, so that chasing prices
	// does not end in the pool that is interrupted most.
	minSpotTypes = 15
	// leastWaste is the part of a node's price, one in so many, that its pods must leave
	// unused for replacements to be looked for.
	leastWaste = 20
	// mergeWaste is the same for nodes that get pods from others.
	mergeWaste = 3
)

// replace finds groups of nodes whose pods fit on cheaper machines.
func (s *solver) replace() {
	r := newReplacer(s)
	open := r.wasteful()
	open = s.turns(open, s.replacing(len(open)))
	s.until(shares)
	for len(open) > 0 && !r.over() {
		var best *Step
		size := 0
		for _, k := range groupSizes {
			if k > len(open) || !allowed(open[:k]) || r.over() {
				break
			}
			if st := r.try(open[:k]); st != nil && (best == nil || r.better(st, best)) {
				best, size = st, k
			}
		}
		if best == nil {
			open = open[1:]
			continue
		}
		s.commit(*best)
		r.spare = slices.DeleteFunc(r.spare, func(m *room) bool { return s.taken[m.node.Name] || s.gone[m.node.Name] })
		open = slices.DeleteFunc(open[size:], func(src *Source) bool { return s.taken[src.Node.Name] })
	}
	if s.spent() {
		s.postpone(open...)
	}
	r.mergeAll()
}

// allowed reports whether disruption budgets let all nodes of a group go at once: a step of
// more nodes would wait for ever. A single node is a group in any case, so that what keeps it
// is known.
func allowed(group []*Source) bool {
	return !slices.ContainsFunc(group, func(src *Source) bool { return len(group) > max(1, src.Together) })
}

// mergeAll looks at the nodes that get pods from others and are still larger than these
// need: it may be better to replace them.
func (r *replacer) mergeAll() {
	var wasteful []*Source
	waste, brought := map[*Source]offer.Price{}, r.brought()
	for _, src := range r.sources {
		if name := src.Node.Name; !r.taken[name] || r.gone[name] || src.Unreplaced != "" || src.Node.Reserved() {
			continue
		}
		if waste[src] = src.Price - r.used(src) - brought[src.Node.Name]; waste[src] > src.Price/mergeWaste {
			wasteful = append(wasteful, src)
		}
	}
	slices.SortStableFunc(wasteful, func(a, b *Source) int {
		return cmp.Or(cmp.Compare(waste[b], waste[a]), strings.Compare(a.Node.Name, b.Node.Name))
	})
	for _, src := range wasteful {
		if r.over() {
			return
		}
		if !r.gone[src.Node.Name] {
			r.merge(src)
		}
	}
}

// brought is the part of nodes' prices that the pods use which steps that can go now bring, by node.
func (r *replacer) brought() map[string]offer.Price {
	out := map[string]offer.Price{}
	for _, st := range r.steps {
		if r.now(&st) <= 0 {
			continue
		}
		for _, at := range st.Places {
			out[at.Node] += r.unitPrices.Value(r.requests[at.Pod])
		}
	}
	return out
}

// used is what the pods of a node would cost elsewhere: on full machines, each of which also runs what belongs to the
// node, such as pods of DaemonSets. A few large machines run those fewer times than many small ones.
func (r *replacer) used(src *Source) (value offer.Price) {
	var own amount.List
	var pods []*cluster.Pod
	for _, p := range r.pods[src.Node.Name] {
		if p.Template.BelongsToNode() {
			own = own.Plus(p.Template.Requests)
		} else {
			pods = append(pods, p)
		}
	}
	prices := r.pricesBeside(own)
	for _, p := range pods {
		value += prices.Value(p.Template.Requests)
	}
	return value - r.relieved(src, prices)
}

// beside is the CPU and memory of what else runs on machines. Devices have a price of their own.
type beside struct{ cpu, memory int64 }

// pricesBeside are the unit prices on machines on which something else runs, too.
func (r *replacer) pricesBeside(own amount.List) *UnitPrices {
	key := beside{own[amount.CPU], own[amount.Memory]}
	if r.beside[key] == nil {
		r.beside[key] = new(r.market.unitPrices(r.demand, own))
		r.done += priceSteps * r.offerings
	}
	return r.beside[key]
}

// onto are the steps that bring pods to a node, and the others.
func (r *replacer) onto(src *Source) (onto, others []Step) {
	for i := range r.steps {
		st := r.steps[i]
		if slices.ContainsFunc(st.Places, func(at Place) bool { return at.Node == src.Node.Name }) {
			onto = append(onto, st)
		} else {
			others = append(others, st)
		}
	}
	return onto, others
}

// merge replaces a node to which other nodes' pods were planned to go, if that is worth more
// than the steps that it does away with.
func (r *replacer) merge(src *Source) {
	onto, others := r.onto(src)
	for i := range onto {
		r.landings.undo(&onto[i])
	}
	st := r.together(src, onto)
	if st == nil {
		st = r.alone(src, onto)
	}
	if st == nil {
		for i := range onto {
			r.landings.take(&onto[i])
		}
		return
	}
	for i := range onto {
		for _, name := range onto[i].Nodes {
			delete(r.gone, name)
			r.refuse(name, "the node to which its pods could move is replaced first")
		}
	}
	r.steps = others
	r.commit(*st)
}

// together replaces a node and those of the steps that bring pods to it by a single step; nil where that is not worth more.
func (r *replacer) together(src *Source, onto []Step) *Step {
	group := []*Source{src}
	for i := range onto {
		if len(onto[i].Machines) > 0 {
			return nil
		}
		group = append(group, r.of(onto[i].Nodes)...)
	}
	unreplaced := func(src *Source) bool { return src.Unreplaced != "" }
	if len(group) > groupSizes[len(groupSizes)-1] || !allowed(group) || slices.ContainsFunc(group, unreplaced) {
		return nil
	}
	over, before := r.horizon(group), 0.0 // the same for both: an old node lends its age to a step that is no better
	for i := range onto {
		before += gain(&onto[i], over)
	}
	if st := r.try(group); st != nil && gain(st, over) > before {
		return st
	}
	return nil
}

// alone replaces a node by itself; nil where that is not worth more now than the steps that bring pods to it.
// Without this, a small step that has to wait would keep an expensive node for as long as it waits.
func (r *replacer) alone(src *Source, onto []Step) *Step {
	before := 0.0
	for i := range onto {
		before += r.now(&onto[i])
	}
	if before >= float64(src.Cost) { // which is the most that a step can save
		return nil
	}
	if st := r.try([]*Source{src}); st != nil && r.now(st) > before {
		return st
	}
	return nil
}

// now is the gain of a step that is due, and whose nodes disruption budgets let go; 0 for the others.
func (r *replacer) now(st *Step) float64 {
	of := r.of(st.Nodes)
	st.schedule(r.Problem)
	if st.Due.After(r.Base.Now) || slices.ContainsFunc(of, func(src *Source) bool { return len(of) > src.Together }) {
		return 0
	}
	return max(0, gain(st, r.horizon(of)))
}

// replacer looks for replacements.
type replacer struct {
	*solver
	market     market
	demand     amount.List
	unitPrices UnitPrices
	beside     map[beside]*UnitPrices
	requests   map[cluster.PodKey]amount.List
	pods       map[string][]*cluster.Pod // by node, with those that wait and have their place there
	spare      []*room                   // those with the most room first
	vacancies  *vacancies
	packed     int
}

// over reports whether no more groups are looked at.
func (r *replacer) over() bool { return r.packed >= maxGroups || r.spent() }

func newReplacer(s *solver) *replacer {
	r := &replacer{solver: s, vacancies: newVacancies(&s.Base), beside: map[beside]*UnitPrices{}, requests: map[cluster.PodKey]amount.List{}, pods: map[string][]*cluster.Pod{}}
	snapshot := s.Base.Snapshot
	for i := range snapshot.Pods {
		p := &snapshot.Pods[i]
		r.requests[p.PodKey] = p.Template.Requests
		if p.NodeName != "" {
			r.pods[p.NodeName] = append(r.pods[p.NodeName], p)
		}
	}
	for i := range s.Base.Pods {
		p, at := *s.Base.Pods[i].Pod, s.Base.Pods[i].Nodes[0]
		p.NodeName, p.State = at, cluster.PodBound
		r.pods[at] = append(r.pods[at], &p)
	}
	r.market, r.demand = newMarket(s.Base.Provisioners), Demand(snapshot)
	r.unitPrices = r.market.unitPrices(r.demand, nil)
	for _, m := range s.rooms.list {
		if !s.gone[m.node.Name] && !s.taken[m.node.Name] {
			r.spare = append(r.spare, m)
		}
	}
	slices.SortStableFunc(r.spare, func(a, b *room) int {
		return cmp.Or(cmp.Compare(r.free(b), r.free(a)), strings.Compare(a.node.Name, b.node.Name))
	})
	return r
}

// free is what the room that is left on a node costs.
func (r *replacer) free(m *room) offer.Price {
	return r.unitPrices.Value(amount.List{}.Max(r.rooms.space.List(m.free)))
}

// wasteful lists the sources that may be replaced, the greatest waste for each eviction
// first.
func (r *replacer) wasteful() []*Source {
	waste := map[*Source]float64{}
	var out []*Source
	for _, src := range r.sources {
		name := src.Node.Name
		if r.gone[name] || r.taken[name] {
			continue
		}
		if src.Node.Reserved() {
			r.refuse(name, "it is in a capacity reservation, which is paid for whether or not it is used")
			continue
		}
		if src.Unreplaced != "" {
			r.refuse(name, src.Unreplaced)
			continue
		}
		value := r.used(src)
		if src.Price-value < src.Price/leastWaste {
			r.refuse(name, "its pods use nearly all of what it costs")
			continue
		}
		waste[src] = float64(src.Price-value) * r.horizon([]*Source{src}).Hours() / (1 + src.evictions())
		out = append(out, src)
	}
	slices.SortStableFunc(out, func(a, b *Source) int {
		return cmp.Or(cmp.Compare(waste[b], waste[a]), strings.Compare(a.Node.Name, b.Node.Name))
	})
	return out
}

// horizon is for how long the new arrangement of these sources may be expected to pay: a
// step is due when it pays back within it.
func (s *solver) horizon(these []*Source) time.Duration {
	var price, aged float64
	for _, src := range these {
		price += float64(src.Price)
		aged += float64(float64(src.Price) * max(0, s.Base.Now.Sub(src.LastArrival).Hours()))
	}
	age := time.Duration(aged / price * float64(time.Hour))
	return max(paysAtOnce, age)
}

// better prefers steps that are due, and of two that are due the one that saves more less the cost spread over the same
// horizon: an old node lends its age to a step that is no better. Of two that are not due, it prefers what pays back
// sooner.
func (r *replacer) better(a, b *Step) bool {
	x, y := gain(a, r.horizon(r.of(a.Nodes))), gain(b, r.horizon(r.of(b.Nodes)))
	switch {
	case x > 0 && y > 0:
		both := slices.Concat(a.Nodes, b.Nodes)
		slices.Sort(both)
		over := r.horizon(r.of(slices.Compact(both)))
		return gain(a, over) > gain(b, over)
	case x > 0 || y > 0:
		return x > y
	}
	return a.paysBack() < b.paysBack()
}

// of lists the sources with these names.
func (r *replacer) of(nodes []string) (out []*Source) {
	for _, name := range nodes {
		out = append(out, r.source(name))
	}
	return out
}

// gain is what a step saves less its cost spread over a horizon.
func gain(st *Step, over time.Duration) float64 {
	return float64(st.Saving) - float64(st.Cost)/over.Hours()
}

// try packs the pods of a group onto a few nodes with room and onto machines. It returns
// nil where that saves nothing.
func (r *replacer) try(group []*Source) *Step {
	r.packed++
	p := r.around(group)
	layout := r.solve(&p)
	st := &Step{}
	for _, src := range group {
		st.Nodes = append(st.Nodes, src.Node.Name)
	}
	slices.Sort(st.Nodes)
	for i, at := range layout.Places {
		if !at.Placed() {
			if len(group) == 1 { // a limit, for example, leaves no room for both the node and what would replace it
				r.refuse(st.Nodes[0], "pod "+p.Pods[i].Pod.String()+" would have no other place: "+at.Reason)
			}
			return nil
		}
		st.Places = append(st.Places, Place{p.Pods[i].Pod.PodKey, p.Pods[i].From, at.Node})
	}
	cost, evictions := total(group)
	spot := slices.ContainsFunc(group, func(src *Source) bool { return src.Node.Labels[api.LabelCapacityType] == api.CapacitySpot })
	replacement := Restrict(layout.Machines, cost, spot)
	saving, why := replacement.Saving()
	if why != "" {
		if len(group) == 1 {
			if why == nothingCheaper && r.outweighed(p, cost) {
				why = "only Provisioners with a lower weight sell cheaper machines for its pods"
			}
			r.leave(st.Nodes[0], Unpaid{Why: why, Forgone: replacement.forgone})
		}
		return nil
	}
	st.Machines, st.Saving, st.Cost = replacement.Machines, saving, offer.Price(evictions)
	for i := range st.Machines {
		st.Cost += offer.Price(float64(st.Machines[i].Candidates[0].Price) * overlap.Hours())
	}
	if !r.saves(st) {
		if len(group) == 1 {
			r.refuse(st.Nodes[0], "replacing it saves nothing, because kube-scheduler would leave some of its pods without room")
		}
		return nil
	}
	return st
}

// outweighed reports whether the pods of a group would cost less if all Provisioners had the same weight.
func (r *replacer) outweighed(p pack.Problem, cost offer.Price) bool {
	p.Provisioners = slices.Clone(p.Provisioners)
	weights := map[int32]bool{}
	for i := range p.Provisioners {
		spec := *p.Provisioners[i].Spec
		weights[ptr.Deref(spec.Spec.Weight, 0)] = true
		spec.Spec.Weight = nil
		p.Provisioners[i].Spec = &spec
	}
	if len(weights) == 1 {
		return false
	}
	layout := r.solve(&p)
	for i := range layout.Machines {
		cost -= layout.Machines[i].Cost
	}
	return cost > 0 && !slices.ContainsFunc(layout.Places, func(at pack.Place) bool { return !at.Placed() })
}

// around is the problem of a group: its nodes, a few with room, and the pods of both.
func (r *replacer) around(group []*Source) pack.Problem {
	p := r.Base
	snapshot := *p.Snapshot
	snapshot.Nodes, snapshot.Pods = nil, nil
	p.Leaving, p.Pods, p.Trials = map[string]bool{}, nil, groupTrials
	include := func(n *cluster.Node) {
		snapshot.Nodes = append(snapshot.Nodes, *n)
		for _, pod := range r.pods[n.Name] {
			snapshot.Pods = append(snapshot.Pods, *pod)
		}
	}
	for _, src := range group {
		p.Leaving[src.Node.Name] = true
		include(src.Node)
		for _, m := range src.Moves {
			p.Pods = append(p.Pods, pack.Demand{Pod: m.Pod, From: src.Node.Name})
		}
	}
	rooms := 0
	for _, m := range r.spare {
		if rooms == nearbyRooms {
			break
		}
		if !p.Leaving[m.node.Name] && !r.gone[m.node.Name] && !r.taken[m.node.Name] {
			include(m.node)
			rooms++
		}
	}
	snapshot.Sort()
	p.Snapshot = &snapshot
	return p
}
