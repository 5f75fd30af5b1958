package consolidate

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
)

// maxConfirmations bounds the packings that confirm which nodes can be done without: each
// refusal parts the nodes in two.
const maxConfirmations = 24

// confirmTrials is the effort of each: what it buys is of no interest.
const confirmTrials = 200

// empty finds nodes whose pods all fit on nodes that stay, and has a packing confirm it. A
// node is a source before it is a place for others: at first, no pods go to nodes that are
// better sources than their own. The sources that are left then may go anywhere.
func (s *solver) empty() {
	for _, pass := range []struct {
		first           bool
		search, confirm int64 // shares of the work after which each ends
	}{{true, 2, 4}, {false, 5, 6}} {
		s.makeRooms()
		s.again()
		s.sources = s.turns(s.sources, s.emptying())
		s.until(pass.search)
		var found []*Source
		for _, src := range s.sources {
			switch {
			case s.taken[src.Node.Name] || s.gone[src.Node.Name]:
			case s.spent():
				s.postpone(src)
			case s.findRooms(src, pass.first):
				found = append(found, src)
			}
		}
		s.until(pass.confirm)
		if len(found) > 0 {
			s.confirm(found, maxConfirmations)
		}
	}
}

// crowded is why a source stays although its pods have places.
const crowded = "kube-scheduler would leave some of its pods without room, and machines for these cannot be bought or cost more than the step saves"

// makeRooms finds the rooms that the steps so far leave.
func (s *solver) makeRooms() {
	s.taken = s.destinations()
	s.rooms = s.roomsLeft(func(n *cluster.Node) bool { return n.Ready && n.HasBeenUp() && !s.Busy[n.Name] })
}

// destinations are the nodes that get pods from the steps so far.
func (s *solver) destinations() map[string]bool {
	out := map[string]bool{}
	for i := range s.steps {
		for _, at := range s.steps[i].Places {
			out[at.Node] = true
		}
	}
	return out
}

// roomsLeft are the rooms that the pods that wait and the steps so far leave on nodes that are open.
func (s *solver) roomsLeft(open func(*cluster.Node) bool) *rooms {
	left := newRooms(s.Base.Snapshot, func(n *cluster.Node) bool { return open(n) && !s.Base.Leaving[n.Name] && !s.Base.Shut[n.Name] })
	pods := map[cluster.PodKey]*cluster.Template{}
	for _, src := range s.sources {
		for i := range src.Moves {
			pods[src.Moves[i].Pod.PodKey] = src.Moves[i].Pod.Template
		}
	}
	byName := map[string]*room{}
	for _, m := range left.list {
		byName[m.node.Name] = m
	}
	for i := range s.Base.Pods {
		d := &s.Base.Pods[i]
		if m := byName[d.Nodes[0]]; m != nil {
			m.take(d.Pod.Template, left.need(d.Pod.Template))
		}
	}
	for i := range s.steps {
		for _, at := range s.steps[i].Places {
			if m := byName[at.Node]; m != nil {
				m.take(pods[at.Pod], left.need(pods[at.Pod]))
			}
		}
	}
	return left
}

// findRooms finds rooms for all pods of a source, and notes them; or none at all. At first, those of better sources do
// not count.
func (s *solver) findRooms(src *Source, first bool) bool {
	name := src.Node.Name
	s.gone[name] = true
	found := s.takeRooms(s.rooms, src, func(node string) bool { return !s.gone[node] && (!first || !s.sooner(node, src)) })
	if found == nil {
		delete(s.gone, name)
		return false
	}
	for pod, m := range found {
		s.taken[m.node.Name] = true
		s.proposed[pod.PodKey] = m.node.Name
	}
	return true
}

// takeRooms takes rooms for all pods of a source, the most expensive first, on nodes that may take them; or none at all.
func (s *solver) takeRooms(in *rooms, src *Source, may func(node string) bool) map[*cluster.Pod]*room {
	moves := slices.Clone(src.Moves)
	slices.SortStableFunc(moves, func(a, b Move) int { return cmp.Compare(b.Cost, a.Cost) })
	found := map[*cluster.Pod]*room{}
	for i := range moves {
		t := moves[i].Pod.Template
		s.done += seekSteps * int64(len(in.list))
		at := in.best(t, src.Node.Labels[api.LabelZone], may)
		if at < 0 {
			in.giveBack(found)
			return nil
		}
		in.list[at].take(t, in.need(t))
		found[moves[i].Pod] = in.list[at]
	}
	return found
}

// awaited returns a busy node without which the pods of a source find no room elsewhere; empty if there is none.
func (s *solver) awaited(src *Source) (node string) {
	if s.later == nil {
		s.later = s.roomsLeft(func(n *cluster.Node) bool { return s.Busy[n.Name] || n.Ready && n.HasBeenUp() })
	}
	found := s.takeRooms(s.later, src, func(node string) bool { return node != src.Node.Name && !s.gone[node] })
	s.later.giveBack(found)
	for _, m := range found {
		if name := m.node.Name; s.Busy[name] && (node == "" || name < node) {
			node = name
		}
	}
	return node
}

// confirm packs as if the sources were leaving. Where a pod has no place then, it tries
// again without the sources of such pods, and those by themselves.
func (s *solver) confirm(proposed []*Source, tries int) (left int) {
	if s.spent() {
		s.postpone(proposed...)
		return tries
	}
	layout, demands := s.without(proposed)
	if tries--; len(layout.Machines) > 0 || slices.ContainsFunc(layout.Places, func(p pack.Place) bool { return !p.Placed() }) {
		return s.part(proposed, layout, demands, tries)
	}
	by := map[string]*Step{}
	for _, src := range proposed {
		by[src.Node.Name] = &Step{Nodes: []string{src.Node.Name}, Saving: src.Cost, Cost: offer.Price(src.evictions())}
	}
	for i := range demands {
		if st := by[demands[i].From]; st != nil {
			st.Places = append(st.Places, Place{demands[i].Pod.PodKey, demands[i].From, layout.Places[i].Node})
		}
	}
	for _, src := range proposed {
		if st := by[src.Node.Name]; s.spent() {
			s.postpone(src)
		} else if s.saves(st) {
			s.commit(*st)
		} else {
			delete(s.gone, src.Node.Name)
			s.refuse(src.Node.Name, crowded)
		}
	}
	return tries
}

// part divides sources that cannot all be done without.
func (s *solver) part(proposed []*Source, layout *pack.Layout, demands []pack.Demand, tries int) (left int) {
	if len(proposed) == 1 || tries <= 0 {
		s.going(proposed, false)
		return tries
	}
	needy := map[string]bool{}
	for i := range demands {
		if at := &layout.Places[i]; at.Node == "" {
			needy[demands[i].From] = true
		}
	}
	good, bad := SplitBatch(proposed, func(src *Source) bool { return needy[src.Node.Name] })
	s.going(bad, false)
	if tries = s.confirm(good, tries); tries <= 0 {
		return tries
	}
	s.going(bad, true)
	return s.confirm(bad, tries)
}

// going notes that sources go, or that they do not.
func (s *solver) going(sources []*Source, gone bool) {
	for _, src := range sources {
		if gone {
			s.gone[src.Node.Name] = true
		} else {
			delete(s.gone, src.Node.Name)
		}
	}
}
