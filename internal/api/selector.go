package api

import (
	"strconv"
	"strings"
)

// Selector returns the requirement in the syntax of label selectors, as `kubectl -l`
// takes it: `karpenter.sh/capacity-type in (on-demand,spot)`. One that the
// validation would refuse, such as Gt without a number, may give what is no selector.
//
// https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
func (r Requirement) Selector() string {
	values := strings.Join(r.Values, ",")
	switch r.Operator {
	case OpIn:
		return r.Key + " in (" + values + ")"
	case OpNotIn:
		return r.Key + " notin (" + values + ")"
	case OpDoesNotExist:
		return "!" + r.Key
	case OpGt:
		return r.Key + ">" + values
	case OpLt:
		return r.Key + "<" + values
	case OpGte: // selectors have neither >= nor numbers below 0
		if n, ok := ParseBound(values); ok && n > 0 {
			return r.Key + ">" + strconv.FormatInt(n-1, 10)
		}
	case OpLte:
		if n, ok := ParseBound(values); ok {
			return r.Key + "<" + strconv.FormatInt(n+1, 10)
		}
	case OpExists:
	}
	return r.Key
}
