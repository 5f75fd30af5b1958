package api

import (
	"strconv"
	"strings"
)

// Selector returns the requirement in the syntax of label selectors, as `kubectl -l`
// takes it: `karpenter.sh/capacity-type in (on-demand,spot)`. Bounds must be whole
// numbers, which ValidateProvisioner sees to.
//
// https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
func (r Requirement) Selector() string {
	switch r.Operator {
	case OpIn:
		return r.Key + " in (" + strings.Join(r.Values, ",") + ")"
	case OpNotIn:
		return r.Key + " notin (" + strings.Join(r.Values, ",") + ")"
	case OpDoesNotExist:
		return "!" + r.Key
	case OpGt:
		return r.Key + ">" + r.Values[0]
	case OpLt:
		return r.Key + "<" + r.Values[0]
	case OpGte: // selectors have neither >= nor numbers below 0
		if n := bound(r); n > 0 {
			return r.Key + ">" + strconv.FormatInt(n-1, 10)
		}
	case OpLte:
		return r.Key + "<" + strconv.FormatInt(bound(r)+1, 10)
	case OpExists:
	}
	return r.Key
}

// bound is the number that Gte or Lte compares with, 0 where it is none.
func bound(r Requirement) int64 {
	n, err := strconv.ParseInt(strings.Join(r.Values, ""), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
