package pack

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// rendering states an assignment as a layout.
type rendering struct{ *assign.Assignment }

// layout renders the solution.
func (s rendering) layout() *Layout {
	out := &Layout{Places: s.Places, assignment: s.Assignment, Machines: make([]Machine, 0, len(s.Machines))}
	s.sortMachines()
	r := &ranker{Assignment: s.Assignment, slack: s.slack(), known: map[string]ranking{}}
	type content struct {
		items  *assign.Item // which machines share
		column int
	}
	known := map[content]*Machine{}
	for i, m := range s.Machines {
		is := content{&m.Items[0], m.Offering}
		if same, ok := known[is]; ok {
			out.Machines = append(out.Machines, *same)
			out.Machines[i].Pods = m.Pods
		} else {
			out.Machines = append(out.Machines, s.render(m, r))
			known[is] = &out.Machines[i]
		}
		for _, pod := range m.Pods {
			s.Places[pod].Machine = i
		}
	}
	for _, c := range s.Classes {
		if c.Left == 0 {
			continue
		}
		reason := diagnosis(s).explain(c)
		for _, pod := range c.PodIndices[int64(len(c.PodIndices))-c.Left:] {
			s.Places[pod].Reason, s.Places[pod].Exhausted = reason, c.Missing.Kind == match.Exhausted
		}
	}
	out.Effort = s.Effort.Total
	return out
}

// sortMachines brings the machines into an order that does not depend on how
// they were found: by Provisioner, then by offering, then by their pods, which it sorts.
func (s rendering) sortMachines() {
	for _, m := range s.Machines {
		s.noteGivenUp(m)
		s.noteSoft(m)
		slices.Sort(m.Pods)
	}
	slices.SortStableFunc(s.Machines, func(a, b *assign.Machine) int {
		return cmp.Or(
			cmp.Compare(a.Pool.Number, b.Pool.Number),
			cmp.Compare(a.Offering, b.Offering),
			cmp.Compare(a.Pods[0], b.Pods[0]),
		)
	})
}

// noteGivenUp notes the preferences that were given up for the places on a machine.
func (s rendering) noteGivenUp(m *assign.Machine) {
	at := 0
	for _, it := range m.Placed {
		if given := it.Class.GivenUp(it.Level.Relaxed); given != nil {
			for _, pod := range m.Pods[at : at+int(it.N)] {
				s.Places[pod].GivenUp = given
			}
		}
		at += int(it.N)
	}
}

// noteSoft notes the preferences by node that a machine does not meet.
func (s rendering) noteSoft(m *assign.Machine) {
	at := 0
	for _, it := range m.Placed {
		c := it.Class
		for _, soft := range c.Soft {
			if !soft.Met(s.podsOf(m, soft.Group())) {
				for _, pod := range m.Pods[at : at+int(it.N)] {
					s.Places[pod].GivenUp = append(slices.Clone(s.Places[pod].GivenUp), soft.Text)
				}
			}
		}
		at += int(it.N)
	}
}

// podsOf counts the pods of a group that are placed on a machine.
func (s rendering) podsOf(m *assign.Machine, group int) int64 {
	g, n := s.State.List[group], int64(0)
	for _, it := range m.Placed {
		if g.Matches(it.Class.Template) {
			n += it.N
		}
	}
	return n
}

func (s rendering) render(m *assign.Machine, r *ranker) Machine {
	col := &s.Offerings[m.Offering]
	out := Machine{Provisioner: m.Pool.Number, Pods: m.Pods, Labels: s.labels(m)}
	used := slices.Clone(m.Used)
	for _, i := range col.DaemonSets {
		model.AddTimes(used, s.DaemonSets[i].Need, 1)
	}
	out.Used = s.Space.List(used)
	out.Allocatable = col.Type.Allocatable()
	for name, v := range out.Used {
		if v == 0 || assign.Pseudo(name) {
			delete(out.Used, name)
		}
	}
	out.Ahead = int(m.Ahead)
	ranked := r.rank(m)
	out.Candidates, out.RunnerUp, out.Needed = ranked.candidates, ranked.runnerUp, ranked.needed
	return out
}

// labels returns what the machine's requirements say about labels beyond those
// that follow from the offering that is bought.
func (s rendering) labels(m *assign.Machine) map[string]string {
	return s.ChosenLabels(m.Offering, m.Residual)
}
