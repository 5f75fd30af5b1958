package pack

import (
	"cmp"
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// maxCandidateTypes bounds the instance types of a machine's candidates: more
// than a fleet request needs.
const maxCandidateTypes = 60

// layout renders the solution.
func (s *solver) layout() *Layout {
	out := &Layout{Places: s.places, LowerBound: s.lowerBound(), Machines: make([]Machine, 0, len(s.machines))}
	s.sortMachines()
	slack := s.slack()
	known := map[*item]*Machine{} // by their content, which machines share
	for i, m := range s.machines {
		if same, ok := known[&m.items[0]]; ok {
			out.Machines = append(out.Machines, *same)
			out.Machines[i].Pods = m.pods
		} else {
			out.Machines = append(out.Machines, s.render(m, slack))
			known[&m.items[0]] = &out.Machines[i]
		}
		for _, pod := range m.pods {
			s.places[pod].Machine = i
		}
	}
	for _, c := range s.classes {
		if c.left == 0 {
			continue
		}
		reason := s.explain(c)
		for _, pod := range c.pods[int64(len(c.pods))-c.left:] {
			s.places[pod].Reason = reason
		}
	}
	return out
}

// sortMachines brings the machines into an order that does not depend on how
// they were found: by Provisioner, then by column, then by their pods, which it sorts.
func (s *solver) sortMachines() {
	for _, m := range s.machines {
		s.noteGivenUp(m)
		s.noteSoft(m)
		slices.Sort(m.pods)
	}
	slices.SortStableFunc(s.machines, func(a, b *machine) int {
		return cmp.Or(
			cmp.Compare(a.seller.index, b.seller.index),
			cmp.Compare(a.column, b.column),
			cmp.Compare(a.pods[0], b.pods[0]),
		)
	})
}

// noteGivenUp notes the preferences that were given up for the places on a machine.
func (s *solver) noteGivenUp(m *machine) {
	at := 0
	for _, it := range m.placed {
		if given := it.class.givenUp(it.level); given != nil {
			for _, pod := range m.pods[at : at+int(it.n)] {
				s.places[pod].GivenUp = given
			}
		}
		at += int(it.n)
	}
}

// noteSoft notes the preferences by node that a machine does not meet.
func (s *solver) noteSoft(m *machine) {
	at := 0
	for _, it := range m.placed {
		c := it.class
		for _, soft := range c.soft {
			if !s.softMet(m, soft) {
				for _, pod := range m.pods[at : at+int(it.n)] {
					s.places[pod].GivenUp = append(slices.Clone(s.places[pod].GivenUp), soft.text)
				}
			}
		}
		at += int(it.n)
	}
}

func (s *solver) softMet(m *machine, soft softTouch) bool {
	g := s.groups.list[soft.group]
	others := -soft.self
	for _, it := range m.placed {
		if g.matches(it.class.template) {
			others += it.n
		}
	}
	if soft.want {
		return others > 0
	}
	return others+soft.self <= max(soft.cap, soft.self)
}

// slack returns, by seller and resource, how much each of its machines may be
// larger than planned without breaking a limit.
func (s *solver) slack() budget {
	out := s.budgets()
	count := make([]int64, len(s.sellers))
	for _, m := range s.machines {
		count[m.seller.index]++
	}
	for i, left := range out {
		for r := range left {
			left[r] = max(0, left[r]/max(1, count[i]))
		}
	}
	return out
}

func (s *solver) render(m *machine, slack budget) Machine {
	col := &s.columns[m.column]
	out := Machine{Provisioner: m.seller.index, Pods: m.pods, Labels: s.labels(m)}
	used := slices.Clone(m.used)
	for _, i := range col.daemons {
		addTimes(used, s.daemons[i].need, 1)
	}
	out.Used = s.space.list(used)
	out.Allocatable = col.typ.Allocatable()
	for name, v := range out.Used {
		if v == 0 || len(name) > len(attachPrefix) && name[:len(attachPrefix)] == attachPrefix {
			delete(out.Used, name)
		}
	}
	out.Ahead = int(m.ahead)
	out.Candidates = s.candidates(m, slack[m.seller.index])
	for i := range out.Candidates {
		if c := out.Candidates[i]; c.InstanceType != col.typ.Name {
			out.RunnerUp = &c
			break
		}
	}
	return out
}

// candidates ranks the offerings that can take the machine's content by price.
// Spot offerings that cost more than the cheapest on-demand one are left out.
func (s *solver) candidates(m *machine, slack []int64) []offer.Candidate {
	columns := s.able(m, slack)
	// The planned offering goes in front of others of the same price.
	i := slices.Index(columns, m.column)
	columns = slices.Insert(slices.Delete(columns, i, i+1), 0, m.column)
	out := make([]offer.Candidate, len(columns))
	for i, k := range columns {
		col := &s.columns[k]
		out[i] = offer.Candidate{InstanceType: col.typ.Name, Zone: col.offering.Zone, CapacityType: col.offering.CapacityType, Price: col.offering.Price}
	}
	s.scratch = columns
	return out
}

// able lists the columns that can take the machine's content, the cheapest first.
func (s *solver) able(m *machine, slack []int64) []int {
	out := s.scratch[:0]
	types, count := make([]bool, len(m.seller.Types)), 0 // by model
	onDemand := int64(math.MaxInt64)
	planned := &s.columns[m.column]
	first := m.column
	for first > m.seller.columns[0] && s.columns[first-1].price == planned.price {
		first--
	}
	footing := s.footingOf(m)
	for k := range s.roomFor(m).within([2]int{first, m.seller.columns[1]}) {
		col := &s.columns[k]
		if count == maxCandidateTypes && !types[col.model] || col.offering.CapacityType == api.CapacitySpot && col.price > onDemand {
			continue
		}
		if k != m.column && (!s.leavesChoice(m.residual, col) || !within(col, planned, slack) || !s.sameFooting(k, m, footing)) {
			continue
		}
		if !types[col.model] {
			types[col.model] = true
			count++
		}
		if col.offering.CapacityType == api.CapacityOnDemand {
			onDemand = min(onDemand, col.price)
		}
		out = append(out, k)
	}
	return out
}

// within reports whether buying the column instead of the planned one keeps the
// limits.
func within(col, planned *column, slack []int64) bool {
	for r := range slack {
		if col.capacity[r] > planned.capacity[r]+slack[r] {
			return false
		}
	}
	return true
}

// labels returns what the machine's requirements say about labels beyond those
// that follow from the offering that is bought.
func (s *solver) labels(m *machine) map[string]string {
	return s.chosenLabels(m.column, m.residual)
}

func (s *solver) chosenLabels(column, residual int) map[string]string {
	out := map[string]string{}
	for _, q := range s.residuals[residual] {
		set := q.Set
		if values, ok := s.columns[column].typ.Labels[q.Key]; ok {
			for _, v := range values {
				if set.Has(v) {
					out[q.Key] = v
					break
				}
			}
			continue
		}
		if value, ok := set.Pick(); ok {
			out[q.Key] = value
		}
	}
	return out
}
