package pack

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// rendering states an assignment as a layout.
type rendering struct{ *Assignment }

// layout renders the solution.
func (s rendering) layout() *Layout {
	out := &Layout{Places: s.places, assignment: s.Assignment, Machines: make([]Machine, 0, len(s.machines))}
	s.sortMachines()
	r := &ranker{Assignment: s.Assignment, slack: s.slack(), known: map[string]ranking{}}
	type content struct {
		items  *item // which machines share
		column int
	}
	known := map[content]*Machine{}
	for i, m := range s.machines {
		is := content{&m.items[0], m.column}
		if same, ok := known[is]; ok {
			out.Machines = append(out.Machines, *same)
			out.Machines[i].Pods = m.pods
		} else {
			out.Machines = append(out.Machines, s.render(m, r))
			known[is] = &out.Machines[i]
		}
		for _, pod := range m.pods {
			s.places[pod].Machine = i
		}
	}
	for _, c := range s.classes {
		if c.left == 0 {
			continue
		}
		reason := diagnosis(s).explain(c)
		for _, pod := range c.pods[int64(len(c.pods))-c.left:] {
			s.places[pod].Reason, s.places[pod].Exhausted = reason, c.never.Kind == match.Exhausted
		}
	}
	out.Effort = s.Effort.Total
	return out
}

// sortMachines brings the machines into an order that does not depend on how
// they were found: by Provisioner, then by column, then by their pods, which it sorts.
func (s rendering) sortMachines() {
	for _, m := range s.machines {
		s.noteGivenUp(m)
		s.noteSoft(m)
		slices.Sort(m.pods)
	}
	slices.SortStableFunc(s.machines, func(a, b *machine) int {
		return cmp.Or(
			cmp.Compare(a.seller.Number, b.seller.Number),
			cmp.Compare(a.column, b.column),
			cmp.Compare(a.pods[0], b.pods[0]),
		)
	})
}

// noteGivenUp notes the preferences that were given up for the places on a machine.
func (s rendering) noteGivenUp(m *machine) {
	at := 0
	for _, it := range m.placed {
		if given := it.class.GivenUp(it.level.relaxed); given != nil {
			for _, pod := range m.pods[at : at+int(it.n)] {
				s.places[pod].GivenUp = given
			}
		}
		at += int(it.n)
	}
}

// noteSoft notes the preferences by node that a machine does not meet.
func (s rendering) noteSoft(m *machine) {
	at := 0
	for _, it := range m.placed {
		c := it.class
		for _, soft := range c.Soft {
			if !soft.Met(s.podsOf(m, soft.Group())) {
				for _, pod := range m.pods[at : at+int(it.n)] {
					s.places[pod].GivenUp = append(slices.Clone(s.places[pod].GivenUp), soft.Text)
				}
			}
		}
		at += int(it.n)
	}
}

// podsOf counts the pods of a group that are placed on a machine.
func (s rendering) podsOf(m *machine, group int) int64 {
	g, n := s.state.List[group], int64(0)
	for _, it := range m.placed {
		if g.Matches(it.class.Template) {
			n += it.n
		}
	}
	return n
}

func (s rendering) render(m *machine, r *ranker) Machine {
	col := &s.Offerings[m.column]
	out := Machine{Provisioner: m.seller.Number, Pods: m.pods, Labels: s.labels(m)}
	used := slices.Clone(m.used)
	for _, i := range col.DaemonSets {
		model.AddTimes(used, s.DaemonSets[i].Need, 1)
	}
	out.Used = s.Space.List(used)
	out.Allocatable = col.Type.Allocatable()
	for name, v := range out.Used {
		if v == 0 || pseudo(name) {
			delete(out.Used, name)
		}
	}
	out.Ahead = int(m.ahead)
	ranked := r.rank(m)
	out.Candidates, out.RunnerUp, out.Needed = ranked.candidates, ranked.runnerUp, ranked.needed
	return out
}

// labels returns what the machine's requirements say about labels beyond those
// that follow from the offering that is bought.
func (s rendering) labels(m *machine) map[string]string {
	return s.ChosenLabels(m.column, m.residual)
}
