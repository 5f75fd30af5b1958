package consolidate

import (
	"cmp"
	"maps"
	"slices"
	"strings"

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

// solver is a plan while it is being made.
type solver struct {
	*Problem
	*work
	rooms    *rooms
	landings *landings
	// sources that may still go, the most worth per eviction first.
	sources []*Source
	// gone are the nodes of steps, taken those that get pods from them.
	gone, taken map[string]bool
	steps       []Step
	refused     map[string]string
	// proposed are the rooms of pods whose nodes may go.
	proposed map[cluster.PodKey]string
}

func newSolver(p *Problem) *solver {
	w := newWork(p)
	s := &solver{Problem: p, work: w, landings: newLandings(p, w), gone: map[string]bool{}, taken: map[string]bool{}, refused: map[string]string{}, proposed: map[cluster.PodKey]string{}}
	for i := range p.Sources {
		if src := &p.Sources[i]; src.Price > 0 && len(src.Moves) > 0 {
			s.sources = append(s.sources, src)
		}
	}
	slices.SortStableFunc(s.sources, func(a, b *Source) int {
		return cmp.Or(cmp.Compare(s.worth(b), s.worth(a)), strings.Compare(a.Node.Name, b.Node.Name))
	})
	return s
}

// worth is how many times over the source would have paid for its evictions within its
// horizon.
func (s *solver) worth(src *Source) float64 {
	return float64(src.Price) * s.horizon([]*Source{src}).Hours() / float64(1+src.evictions())
}

// empty finds nodes whose pods all fit on nodes that stay, and has a packing confirm it. A
// node is a source before it is a place for others: at first, no pods go to nodes that are
// better sources than their own. The sources that are left then may go anywhere.
func (s *solver) empty() {
	for _, pass := range []struct {
		first            bool
		rehouse, confirm int64 // shares of the work after which each ends
	}{{true, 2, 4}, {false, 5, 6}} {
		s.makeRooms()
		s.again()
		s.sources = s.turns(s.sources, s.emptying())
		s.until(pass.rehouse)
		var found []*Source
		for _, src := range s.sources {
			switch {
			case s.taken[src.Node.Name] || s.gone[src.Node.Name]:
			case s.spent():
				s.postpone(src)
			case s.rehouse(src, pass.first):
				found = append(found, src)
			}
		}
		s.until(pass.confirm)
		if len(found) > 0 {
			s.confirm(found, maxConfirmations)
		}
	}
}

// makeRooms finds the rooms that the steps so far leave.
func (s *solver) makeRooms() {
	open := func(n *cluster.Node) bool {
		return n.Ready && n.Initialized && !s.Base.Leaving[n.Name] && !s.Base.Shut[n.Name] && !s.Busy[n.Name]
	}
	s.rooms, s.taken = newRooms(s.Base.Snapshot, open), map[string]bool{}
	pods := map[cluster.PodKey]*cluster.Template{}
	for _, src := range s.sources {
		for i := range src.Moves {
			pods[src.Moves[i].Pod.PodKey] = src.Moves[i].Pod.Template
		}
	}
	byName := map[string]*room{}
	for _, m := range s.rooms.list {
		byName[m.node.Name] = m
	}
	for i := range s.steps {
		for _, at := range s.steps[i].Places {
			s.taken[at.Node] = true
			if m := byName[at.Node]; m != nil {
				m.take(pods[at.Pod], s.rooms.need(pods[at.Pod]))
			}
		}
	}
}

// rehouse finds rooms for all pods of a source, the dearest first, and notes them; or none at
// all. At first, those of better sources do not count.
func (s *solver) rehouse(src *Source, first bool) bool {
	name := src.Node.Name
	moves := slices.Clone(src.Moves)
	slices.SortStableFunc(moves, func(a, b Move) int { return cmp.Compare(b.Cost, a.Cost) })
	admits := func(node string) bool { return !s.gone[node] && (!first || !s.sooner(node, src)) }
	var done []*room
	s.gone[name] = true
	for i := range moves {
		t := moves[i].Pod.Template
		s.done += seekSteps * int64(len(s.rooms.list))
		at := s.rooms.best(t, src.Node.Labels[api.LabelZone], admits)
		if at < 0 {
			for k, m := range done {
				m.give(moves[k].Pod.Template, s.rooms.need(moves[k].Pod.Template))
			}
			delete(s.gone, name)
			return false
		}
		s.rooms.list[at].take(t, s.rooms.need(t))
		done = append(done, s.rooms.list[at])
	}
	for k, m := range done {
		s.taken[m.node.Name] = true
		s.proposed[moves[k].Pod.PodKey] = m.node.Name
	}
	return true
}

// confirm packs as if the sources were leaving. Where a pod has no place then, it tries
// again without the sources of such pods, and those by themselves.
func (s *solver) confirm(proposed []*Source, tries int) (left int) {
	if s.spent() {
		s.postpone(proposed...)
		return tries
	}
	layout, demands := s.without(proposed)
	if tries--; layout == nil || len(layout.Machines) > 0 || slices.ContainsFunc(layout.Places, func(p pack.Place) bool { return !p.Placed() }) {
		return s.part(proposed, layout, demands, tries)
	}
	by := map[string]*Step{}
	for _, src := range proposed {
		by[src.Node.Name] = &Step{Nodes: []string{src.Node.Name}, Saving: src.Cost, Cost: src.evictions()}
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
			s.refuse(src.Node.Name, "kube-scheduler would leave pods without room, and machines for them cost more than is saved")
		}
	}
	return tries
}

// refuse notes why a node is in no step. The first reason stays.
func (s *solver) refuse(name, why string) {
	if s.refused[name] == "" {
		s.refused[name] = why
	}
}

// saves subtracts from a step's saving what the machines cost that kube-scheduler's choice needs,
// and reports whether something is left.
func (s *solver) saves(st *Step) bool {
	st.Saving -= s.landings.lost(st)
	return st.Saving > 0
}

// part divides sources that cannot all be done without.
func (s *solver) part(proposed []*Source, layout *pack.Layout, demands []pack.Demand, tries int) (left int) {
	if len(proposed) == 1 || tries <= 0 {
		for _, src := range proposed {
			delete(s.gone, src.Node.Name)
		}
		return tries
	}
	needy := map[string]bool{}
	for i := range demands {
		if at := &layout.Places[i]; at.Node == "" {
			needy[demands[i].From] = true
		}
	}
	var good, bad []*Source
	for _, src := range proposed {
		if needy[src.Node.Name] {
			bad = append(bad, src)
		} else {
			good = append(good, src)
		}
	}
	if len(good) == 0 || len(bad) == 0 {
		good, bad = proposed[:len(proposed)/2], proposed[len(proposed)/2:]
	}
	for _, src := range bad {
		delete(s.gone, src.Node.Name)
	}
	tries = s.confirm(good, tries)
	for _, src := range bad {
		s.gone[src.Node.Name] = true
	}
	if tries <= 0 {
		for _, src := range bad {
			delete(s.gone, src.Node.Name)
		}
		return tries
	}
	return s.confirm(bad, tries)
}

// commit takes a step into the plan.
func (s *solver) commit(st Step) {
	slices.Sort(st.Nodes)
	for _, name := range st.Nodes {
		s.gone[name] = true
	}
	for i := range st.Places {
		if at := st.Places[i].Node; at != "" {
			s.taken[at] = true
		}
	}
	s.landings.take(&st)
	s.steps = append(s.steps, st)
}

// without packs the cluster as if the steps so far had been taken and these sources were
// leaving too. Busy nodes take nothing, nor do those that take nothing anyway.
func (s *solver) without(these []*Source) (*pack.Layout, []pack.Demand) {
	p := s.Base
	p.Trials = confirmTrials
	p.Shut = map[string]bool{}
	maps.Copy(p.Shut, s.Base.Shut)
	maps.Copy(p.Shut, s.Busy)
	p.Leaving = map[string]bool{}
	for name := range s.Base.Leaving {
		p.Leaving[name] = true
	}
	going := map[string]*Source{}
	for _, src := range these {
		going[src.Node.Name] = src
	}
	planned := map[cluster.PodKey]Place{}
	for i := range s.steps {
		for _, at := range s.steps[i].Places {
			planned[at.Pod] = at
		}
		for _, name := range s.steps[i].Nodes {
			going[name] = s.source(name)
		}
	}
	p.Pods = slices.Clone(s.Base.Pods)
	for i := range s.Sources {
		src := &s.Sources[i]
		if going[src.Node.Name] == nil {
			continue
		}
		p.Leaving[src.Node.Name] = true
		for _, m := range src.Moves {
			d := pack.Demand{Pod: m.Pod, From: src.Node.Name}
			if at := s.proposed[m.Pod.PodKey]; at != "" {
				d.Nodes = []string{at}
			}
			if at, ok := planned[m.Pod.PodKey]; ok {
				if at.Node == "" {
					continue // on a machine of its step
				}
				d.Nodes = []string{at.Node}
			}
			p.Pods = append(p.Pods, d)
		}
	}
	return s.solve(&p), p.Pods
}

// unpaid says why sources are in no step.
func (s *solver) unpaid() map[string]string {
	out := map[string]string{}
	for _, src := range s.sources {
		name := src.Node.Name
		switch {
		case s.gone[name]:
		case s.taken[name]:
			out[name] = "pods of nodes that go have room on it"
		case s.refused[name] != "":
			out[name] = s.refused[name]
		default:
			out[name] = "no cheaper place was found for its pods"
		}
	}
	return out
}

// total adds costs up.
func total(sources []*Source) (cost, evictions offer.Price) {
	for _, src := range sources {
		cost += src.Cost
		evictions += src.evictions()
	}
	return cost, evictions
}
