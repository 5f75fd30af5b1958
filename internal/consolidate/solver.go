package consolidate

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
)

// solver is a plan while it is being made.
type solver struct {
	*Problem
	*work
	rooms    *rooms
	later    *rooms // with those on busy nodes; nil until somebody asks
	landings *landings
	// sources that may still go, the most worth per eviction first.
	sources []*Source
	// gone are the nodes of steps, taken those that get pods from them, or would from proposals of empty, confirmed or not.
	gone, taken map[string]bool
	steps       []Step
	refused     map[string]Unpaid
	// proposed are the rooms of pods whose nodes may go.
	proposed map[cluster.PodKey]string
}

func newSolver(in *Problem) *solver {
	p := new(*in)
	p.Base.Charged = in.Base.Charge() // also where a packing leaves nodes out
	w := newWork(p)
	s := &solver{Problem: p, work: w, landings: newLandings(p, w), gone: map[string]bool{}, taken: map[string]bool{}, refused: map[string]Unpaid{}, proposed: map[cluster.PodKey]string{}}
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
	return float64(src.Price) * s.horizon([]*Source{src}).Hours() / (1 + src.evictions())
}

// refuse notes why a node is in no step. The first reason stays.
func (s *solver) refuse(name, why string) { s.leave(name, Unpaid{Why: why}) }

// leave is refuse with more than the reason.
func (s *solver) leave(name string, as Unpaid) {
	if s.refused[name].Why == "" {
		s.refused[name] = as
	}
}

// saves subtracts from a step's saving what the machines cost that kube-scheduler's choice needs,
// and reports whether something is left, and all pods have room.
func (s *solver) saves(st *Step) bool {
	lost, machines, ok := s.landings.lost(st)
	st.Saving -= lost
	st.Fewer = len(st.Nodes) - len(st.Machines) - machines
	return ok && st.Saving > 0
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
func (s *solver) unpaid() map[string]Unpaid {
	out, destinations := map[string]Unpaid{}, s.destinations()
	busy := slices.Contains(slices.Collect(maps.Values(s.Busy)), true)
	for _, src := range s.sources {
		name := src.Node.Name
		switch {
		case s.gone[name]:
			continue
		case destinations[name]:
			out[name] = Unpaid{Why: "pods of other nodes are planned to move to it"}
			continue
		}
		as := s.refused[name]
		if as.Why == "" {
			as.Why = "no cheaper place was found for its pods"
		}
		if busy && as.Why != crowded && !s.spent() {
			as.Awaited = s.awaited(src)
		}
		out[name] = as
	}
	return out
}

// total adds costs up.
func total(sources []*Source) (cost offer.Price, evictions float64) {
	for _, src := range sources {
		cost += src.Cost
		evictions += src.evictions()
	}
	return cost, evictions
}
