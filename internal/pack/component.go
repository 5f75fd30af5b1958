package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// Pods that a constraint ties together are one component: their classes have to do with
// the same groups. What happens in one component does not matter to another, so that
// only those are confirmed of which a pod may be refused.

// confirmation confirms an assignment as kube-scheduler will carry it out: it is the
// assignment, with what that takes.
type confirmation struct{ *assign.Assignment }

// doubt lists the classes of which a pod may be refused where it is planned.
type doubt map[*assign.Class]bool

// doubted finds the components that must be replayed: where pods have no place, a pod group was
// not bought that had been counted, pods come together, or groups look at what is not
// known before a machine's type is. In the others kube-scheduler takes every pod where
// it is planned if they come in the order in which they were placed: each was let in
// after those before it, of which none was taken back.
func (co confirmation) doubted() doubt {
	together, marked := co.Components(), make([]bool, len(co.State.List))
	mark := func(groups []int) {
		for _, g := range groups {
			marked[together.Of(g)] = true
		}
	}
	for i, g := range co.State.List {
		if g.Selective() {
			mark([]int{i})
		}
	}
	for _, d := range co.State.Daemons {
		if d.CountedByDomain() {
			mark(d.Groups())
		}
	}
	planned := map[string][]string{}
	for _, c := range co.Classes() {
		if c.WantsPlace() || c.TookBack || c.Refused || len(c.Follows()) > 0 || co.surprised(c, planned) {
			mark(c.Groups())
		}
	}
	out := doubt{}
	for _, c := range co.Classes() {
		if slices.ContainsFunc(c.Groups(), func(g int) bool { return marked[together.Of(g)] }) {
			out[c] = true
		}
	}
	return out
}

// surprised reports whether machines are planned in domains that a spread of the class
// did not know of. What is planned is kept by topology key.
func (co confirmation) surprised(c *assign.Class, planned map[string][]string) bool {
	for _, sp := range c.Spreads() {
		key, known := co.State.List[sp.Group()].Key, co.State.Domains(c.Rules, sp)
		if planned[key] == nil {
			planned[key] = co.plannedValues(key)
		}
		if slices.ContainsFunc(planned[key], func(v string) bool { return !slices.Contains(known, v) }) {
			return true
		}
	}
	return false
}

// plannedValues lists the values of a label that planned machines have.
func (co confirmation) plannedValues(key string) []string {
	seen := map[string]bool{}
	for _, m := range co.Machines() {
		if value, ok := co.LabelsOf(m.Offering, m.Residual)[key]; ok {
			seen[value] = true
		}
	}
	return model.SortedKeys(seen)
}
