package pack

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
)

// space fixes which resources are counted and in which order, so that amounts
// become vectors of the same width.
type space struct {
	names []string
	index map[string]int
}

// plenty stands for a resource that is not limited. Sums of a few million of
// the largest requests stay far from overflow.
const plenty = math.MaxInt64 / 4

func newSpace(lists []amount.List) *space {
	s := &space{index: map[string]int{amount.CPU: 0, amount.Memory: 0, amount.Pods: 0}}
	for _, l := range lists {
		for name, v := range l {
			if v > 0 {
				s.index[name] = 0
			}
		}
	}
	for name := range s.index {
		s.names = append(s.names, name)
	}
	slices.Sort(s.names)
	for i, name := range s.names {
		s.index[name] = i
	}
	return s
}

// add adds a pseudo-resource behind the others.
func (s *space) add(name string) {
	s.index[name] = len(s.names)
	s.names = append(s.names, name)
}

// pseudo reports whether a name is that of a resource that stands for a constraint.
func pseudo(name string) bool {
	return strings.HasPrefix(name, slotPrefix)
}

func (s *space) vector(l amount.List) []int64 {
	out := make([]int64, len(s.names))
	for i, name := range s.names {
		out[i] = l[name]
	}
	return out
}

func (s *space) list(v []int64) amount.List {
	out := make(amount.List, len(v))
	for i, name := range s.names {
		if v[i] != 0 {
			out[name] = v[i]
		}
	}
	return out
}

// fits reports whether the need fits into the room. A resource that is not
// needed does not matter, even where there is less than none of it.
func fits(need, room []int64) bool {
	for i, n := range need {
		if n > 0 && n > room[i] {
			return false
		}
	}
	return true
}

// addTimes adds n times the vector to the sum.
func addTimes(sum, vector []int64, n int64) {
	for i, v := range vector {
		sum[i] += n * v
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
