package labelset

import (
	"strconv"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// Spell returns requirements that together mean the set for a key: at most three,
// in the order In or bounds, then NotIn. A set that allows everything gives none,
// and so does an empty one, which no requirements can say: see Empty.
func (s Set) Spell(key string) []api.Requirement {
	of := func(op api.Operator, values ...string) api.Requirement {
		return api.Requirement{Key: key, Operator: op, Values: values}
	}
	if s.Empty() {
		return nil
	}
	if !s.complement {
		if len(s.values) == 0 {
			return []api.Requirement{of(api.OpDoesNotExist)}
		}
		return []api.Requirement{of(api.OpIn, s.values...)}
	}
	var out []api.Requirement
	switch {
	case s.ranged:
		if s.lo > 0 || s.hi == noMaximum {
			out = append(out, of(api.OpGte, strconv.FormatInt(s.lo, 10)))
		}
		if s.hi != noMaximum {
			out = append(out, of(api.OpLte, strconv.FormatInt(s.hi, 10)))
		}
	case !s.absent:
		out = append(out, of(api.OpExists))
	}
	if len(s.values) > 0 {
		out = append(out, of(api.OpNotIn, s.values...))
	}
	return out
}
