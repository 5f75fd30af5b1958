package model

import (
	"maps"
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
)

// Space fixes which resources are counted and in which order, so that amounts
// become vectors of the same width.
type Space struct {
	Names []string
	index map[string]int
}

// Plenty stands for a resource that is not limited.
const Plenty = math.MaxInt64 / 4

// NewSpace returns the space of CPU, memory, pods and all resources of which some list has any.
func NewSpace(lists []amount.List) *Space {
	s := &Space{index: map[string]int{amount.CPU: 0, amount.Memory: 0, amount.Pods: 0}}
	for _, l := range lists {
		for name, v := range l {
			if v > 0 {
				s.index[name] = 0
			}
		}
	}
	for name := range s.index {
		s.Names = append(s.Names, name)
	}
	slices.Sort(s.Names)
	for i, name := range s.Names {
		s.index[name] = i
	}
	return s
}

// with returns the space with more resources behind the others.
func (s *Space) with(names []string) *Space {
	out := &Space{Names: slices.Concat(s.Names, names), index: maps.Clone(s.index)}
	for i, name := range names {
		out.index[name] = len(s.Names) + i
	}
	return out
}

// Vector returns the list's amounts in the order of Names, 0 for those that the list does
// not have. Resources that the space does not count are left out.
func (s *Space) Vector(l amount.List) []int64 {
	out := make([]int64, len(s.Names))
	for i, name := range s.Names {
		out[i] = l[name]
	}
	return out
}

// List returns the amounts of a vector that are not 0, by the names of the resources. The
// vector must be as long as Names.
func (s *Space) List(v []int64) amount.List {
	out := make(amount.List, len(v))
	for i, name := range s.Names {
		if v[i] != 0 {
			out[name] = v[i]
		}
	}
	return out
}

// Fits reports whether the need fits into the room. A resource that is not
// needed does not matter, even where there is less than none of it.
func Fits(need, room []int64) bool {
	for i, n := range need {
		if n > 0 && n > room[i] {
			return false
		}
	}
	return true
}

// AddTimes adds n times the vector to the sum.
func AddTimes(sum, vector []int64, n int64) {
	for i, v := range vector {
		sum[i] = amount.Add(sum[i], amount.Product(n, v))
	}
}

// SortedKeys returns the keys of a map in ascending order.
func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
