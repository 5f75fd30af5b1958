package pack

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// rendering states an assignment as a layout.
type rendering struct{ *assign.Assignment }

// layout renders the solution.
func (s rendering) layout() *Layout {
	machines, places := s.sorted(), s.Places()
	out := &Layout{Places: places, assignment: s.Assignment, Machines: make([]Machine, 0, len(machines))}
	r := &ranker{Assignment: s.Assignment, slack: s.slack(), known: map[string]ranking{}}
	type content struct {
		items    *assign.Items // which machines share
		offering int
	}
	known := map[content]int{}
	for i, m := range machines {
		is := content{&m.Items[0], m.Offering}
		if same, ok := known[is]; ok {
			out.Machines = append(out.Machines, out.Machines[same])
		} else {
			out.Machines = append(out.Machines, s.render(m, r))
			known[is] = i
		}
		pods := slices.Clone(m.Pods)
		slices.Sort(pods)
		out.Machines[i].Pods = pods
		for _, pod := range m.Pods {
			places[pod].Machine = i
		}
		s.notePreferences(m, places)
	}
	waiting := slices.ContainsFunc(s.Classes(), s.postponed)
	for _, c := range s.Classes() { // before reasons are looked for, which is work, too
		exhausted := c.Missing.Kind == match.Exhausted || waiting && s.Effort.Greedy(c.Account)
		for _, pod := range c.Unplaced() {
			places[pod].Exhausted, places[pod].Postponed = exhausted, s.postponed(c)
		}
	}
	for _, c := range s.Classes() {
		if c.Left == 0 {
			continue
		}
		reason := explain(s.Assignment, c)
		for _, pod := range c.Unplaced() {
			places[pod].Reason = reason
		}
	}
	out.Effort = s.Effort.Total
	return out
}

// sorted lists the machines in an order that does not depend on how they were found: by
// Provisioner, then by offering, then by their first pod.
func (s rendering) sorted() []*assign.Machine {
	first := make(map[*assign.Machine]int, len(s.Machines()))
	for _, m := range s.Machines() {
		first[m] = slices.Min(m.Pods)
	}
	out := slices.Clone(s.Machines())
	slices.SortFunc(out, func(a, b *assign.Machine) int {
		return cmp.Or(
			cmp.Compare(a.Pool.Number, b.Pool.Number),
			cmp.Compare(a.Offering, b.Offering),
			cmp.Compare(first[a], first[b]),
		)
	})
	return out
}

// notePreferences notes the preferences that were given up for the places on a machine, and
// those by node that it does not meet.
func (s rendering) notePreferences(m *assign.Machine, places []assign.Place) {
	at := 0
	for _, it := range m.Placed {
		given := it.Class.GivenUp(it.Level.Relaxed)
		for _, soft := range it.Class.Soft {
			if !soft.Met(s.podsOf(m, soft.Group())) {
				given = append(slices.Clone(given), soft.Text)
			}
		}
		for _, pod := range m.Pods[at : at+int(it.N)] {
			places[pod].GivenUp = given
		}
		at += int(it.N)
	}
}

// podsOf counts the pods of a group that are placed on a machine.
func (s rendering) podsOf(m *assign.Machine, group int) int64 {
	n := int64(0)
	for _, it := range m.Placed {
		if it.Class.Belongs(group) {
			n += it.N
		}
	}
	return n
}

func (s rendering) render(m *assign.Machine, r *ranker) Machine {
	o := &s.Offerings[m.Offering]
	out := Machine{Provisioner: m.Pool.Number, Cost: offer.Price(o.Cost), Labels: s.ChosenLabels(m.Offering, m.Residual)}
	used := slices.Clone(m.Used)
	out.Allocatable = o.Type.Allocatable()
	all := s.Space.Vector(out.Allocatable)
	for _, i := range o.DaemonSets {
		model.AddTimes(used, s.DaemonSets[i].NeedOf(all), 1)
	}
	out.Used = s.Space.List(used)
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

// postponed reports whether no work was left for pods of the class.
func (s rendering) postponed(c *assign.Class) bool {
	return c.Left > 0 && c.Missing.Kind == match.Exhausted && s.Effort.Postponed(c.Account)
}
