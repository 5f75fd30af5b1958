package pack

import (
	"maps"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// Pods go where their spreads count the fewest, which evens out all combinations of domains. Two
// spreads ask for even zones and even capacity types, but not for pods of each capacity type in
// each zone, and a skew of more than 1 lets most pods go where they cost least. Fewer combinations
// need fewer machines, but nobody knows before machines are bought whether pods of other classes
// would have filled the others. So all pods are placed again, and gather this time. Of 24 clusters
// of one to six Deployments, most of them spread, 14 cost up to 44 % less; with 20 to 38 Deployments,
// eight of eight cost 2 to 15 % less. docs/worlds.md has the measurements.

// bestGathered returns the best of the plan s and of plans in which pods gather: all that may, and
// then, where there are few, those of each class in turn, or all but these.
func (p *planning) bestGathered(s *solver) *solver {
	gathering := s.gathering()
	if len(s.Machines()) == 0 || len(gathering) == 0 || !s.Uses(assign.Gather) {
		return s
	}
	try := func(classes []int) {
		other := s.made
		if other.gather = maps.Clone(s.made.gather); other.gather == nil {
			other.gather = map[int]bool{}
		}
		for _, c := range classes {
			other.gather[c] = !other.gather[c]
		}
		s = p.better(s, other)
	}
	try(gathering)
	if len(gathering) > 1 && (len(s.Problem.Pods)+len(s.Existing()))*len(gathering) <= mostAgain {
		for _, c := range gathering {
			try([]int{c})
		}
	}
	return s
}

// gathering lists the classes whose spreads leave them a choice, by their first pods.
func (s *solver) gathering() []int {
	var out []int
	for _, c := range s.Classes() {
		uneven := func(sp *topology.Spread) bool { return len(c.Keys) > 1 || sp.MaxSkew > 1 }
		if len(c.Class.Pods) > 1 && !c.Together() && slices.ContainsFunc(c.Spreads(), uneven) {
			out = append(out, c.First())
		}
	}
	return out
}
