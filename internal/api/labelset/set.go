// Package labelset holds sets of states that a label of a node may be in, and what operators and
// intersections make of them.
package labelset

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// Set is a set of states that one label of a node may be in: its possible
// values, and whether it may be missing. The zero value is empty.
type Set struct {
	// complement: all values are in the set but those listed, and, where it is
	// ranged, only integers from lo to hi.
	complement bool
	ranged     bool
	absent     bool
	lo, hi     int64
	values     []string // sorted, distinct
}

// noMaximum stands for "no upper bound" in a ranged set.
const noMaximum = math.MaxInt64

// Only returns the set of the given values.
func Only(values ...string) Set {
	return Set{values: slices.Compact(slices.Sorted(slices.Values(values)))}
}

// Missing returns the set that holds only the missing label.
func Missing() Set { return Set{absent: true} }

// Any returns the set of all values, without the missing label.
func Any() Set { return Set{complement: true} }

// New returns the set that an operator describes. Like in Kubernetes, NotIn
// holds for a missing label, while Gt and its kin want an integer.
func New(op api.Operator, values []string) (Set, error) {
	switch op {
	case api.OpIn:
		return Only(values...), nil
	case api.OpNotIn:
		s := Only(values...)
		s.complement, s.absent = true, true
		return s, nil
	case api.OpExists:
		return Any(), nil
	case api.OpDoesNotExist:
		return Missing(), nil
	case api.OpGt, api.OpLt, api.OpGte, api.OpLte:
		return interval(op, values)
	}
	return Set{}, fmt.Errorf("operator %q is not known", op)
}

func interval(op api.Operator, values []string) (Set, error) {
	if len(values) != 1 {
		return Set{}, fmt.Errorf("operator %s takes one value, not %d", op, len(values))
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil {
		return Set{}, fmt.Errorf("operator %s takes an integer, not %q", op, values[0])
	}
	// Label values cannot be negative: they begin with a letter or a digit.
	s := Set{complement: true, ranged: true, hi: noMaximum}
	switch {
	case op == api.OpGt && n == math.MaxInt64, op == api.OpLt && n == math.MinInt64:
		return Set{}, nil
	case op == api.OpGt:
		s.lo = max(0, n+1)
	case op == api.OpGte:
		s.lo = max(0, n)
	case op == api.OpLt:
		s.hi = n - 1
	case op == api.OpLte:
		s.hi = n
	}
	return s, nil
}

// Has reports whether the label may have the value.
func (s Set) Has(value string) bool {
	_, listed := slices.BinarySearch(s.values, value)
	if !s.complement {
		return listed
	}
	return !listed && s.inRange(value)
}

// HasMissing reports whether the label may be missing.
func (s Set) HasMissing() bool { return s.absent }

// HasAny reports whether one of the values is in the set.
func (s Set) HasAny(values []string) bool { return slices.ContainsFunc(values, s.Has) }

func (s Set) inRange(value string) bool {
	if !s.ranged {
		return true
	}
	n, err := strconv.ParseInt(value, 10, 64)
	return err == nil && s.lo <= n && n <= s.hi
}

// Empty reports whether no state of the label is in the set.
func (s Set) Empty() bool { return !s.absent && !s.hasValue() }

func (s Set) hasValue() bool {
	if !s.complement {
		return len(s.values) > 0
	}
	if !s.ranged {
		return true
	}
	if s.hi < s.lo {
		return false
	}
	excluded := uint64(0)
	for _, v := range s.values {
		if s.inRange(v) {
			excluded++
		}
	}
	return uint64(s.hi)-uint64(s.lo) >= excluded
}

// Intersect returns what is in both sets.
func (s Set) Intersect(o Set) Set {
	out := Set{absent: s.absent && o.absent}
	if s.complement && o.complement {
		out.complement = true
		out.values = union(s.values, o.values)
		out.ranged, out.lo, out.hi = bothRanges(s, o)
		return out
	}
	if s.complement {
		s, o = o, s
	}
	for _, v := range s.values {
		if o.Has(v) {
			out.values = append(out.values, v)
		}
	}
	return out
}

func bothRanges(s, o Set) (ranged bool, lo, hi int64) {
	switch {
	case !s.ranged:
		return o.ranged, o.lo, o.hi
	case !o.ranged:
		return s.ranged, s.lo, s.hi
	}
	return true, max(s.lo, o.lo), min(s.hi, o.hi)
}

func union(a, b []string) []string {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

// Values returns the values that the set lists, and whether these are all that it has: else it has
// all but these.
func (s Set) Values() (listed []string, all bool) { return s.values, !s.complement }

// Pick returns a value of the set, always the same one: the first that is
// listed, or one that is made up where the set leaves the choice. It returns
// false where the label can only be missing.
func (s Set) Pick() (string, bool) {
	if !s.hasValue() {
		return "", false
	}
	if !s.complement {
		return s.values[0], true
	}
	for n := s.lo; ; n++ {
		candidate := strconv.FormatInt(n, 10)
		if !s.ranged {
			candidate = "any-" + candidate
		}
		if s.Has(candidate) {
			return candidate, true
		}
	}
}

// maxBrief is how many values Brief spells.
const maxBrief = 16

// Brief is String for people: it cuts a list that is too long to read.
func (s Set) Brief() string {
	if n := len(s.values); n > maxBrief {
		s.values = append(slices.Clone(s.values[:maxBrief]), fmt.Sprintf("… %d more", n-maxBrief))
	}
	return s.String()
}

// String spells the set as the requirement that describes it.
func (s Set) String() string {
	list := "[" + strings.Join(s.values, ", ") + "]"
	if len(s.values) > 0 && s.values[0] == "" { // sorted: the empty value comes first
		list = `[""` + list[1:]
	}
	switch {
	case s.Empty():
		return "no value"
	case !s.complement && len(s.values) == 0:
		return "DoesNotExist"
	case !s.complement && s.absent:
		return "In " + list + " or missing"
	case !s.complement:
		return "In " + list
	}
	text := "Exists"
	switch {
	case s.ranged && s.hi == noMaximum:
		text = fmt.Sprintf("Gte %d", s.lo)
	case s.ranged && s.lo == 0:
		text = fmt.Sprintf("Lte %d", s.hi)
	case s.ranged:
		text = fmt.Sprintf("from %d to %d", s.lo, s.hi)
	case len(s.values) > 0:
		return "NotIn " + list
	}
	if len(s.values) > 0 {
		text += ", NotIn " + list
	}
	return text
}
