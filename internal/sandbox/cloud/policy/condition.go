package policy

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// operator is a parsed condition operator such as
// ForAllValues:StringLikeIfExists.
type operator struct {
	set      string // "", "ForAllValues" or "ForAnyValue"
	base     string
	ifExists bool
}

// comparison tells whether one value of the request satisfies one value of
// the policy.
type comparison struct {
	holds   func(have, want string) bool
	negated bool // every value of the policy must differ, and absence satisfies
}

var comparisons = map[string]comparison{
	"StringEquals":              {holds: func(have, want string) bool { return have == want }},
	"StringNotEquals":           {holds: func(have, want string) bool { return have == want }, negated: true},
	"StringEqualsIgnoreCase":    {holds: strings.EqualFold},
	"StringNotEqualsIgnoreCase": {holds: strings.EqualFold, negated: true},
	"StringLike":                {holds: like},
	"StringNotLike":             {holds: like, negated: true},
	"ArnEquals":                 {holds: arnLike},
	"ArnLike":                   {holds: arnLike},
	"ArnNotEquals":              {holds: arnLike, negated: true},
	"ArnNotLike":                {holds: arnLike, negated: true},
	"Bool":                      {holds: strings.EqualFold},
	"NumericEquals":             {holds: numeric(func(a, b float64) bool { return a == b })},
	"NumericNotEquals":          {holds: numeric(func(a, b float64) bool { return a == b }), negated: true},
	"NumericLessThan":           {holds: numeric(func(a, b float64) bool { return a < b })},
	"NumericLessThanEquals":     {holds: numeric(func(a, b float64) bool { return a <= b })},
	"NumericGreaterThan":        {holds: numeric(func(a, b float64) bool { return a > b })},
	"NumericGreaterThanEquals":  {holds: numeric(func(a, b float64) bool { return a >= b })},
	"DateLessThan":              {holds: date(time.Time.Before)},
	"DateGreaterThan":           {holds: date(time.Time.After)},
}

func parseOperator(name string) (operator, error) {
	var op operator
	if set, rest, found := strings.Cut(name, ":"); found {
		if set != "ForAllValues" && set != "ForAnyValue" {
			return operator{}, fmt.Errorf("invalid condition type: %s", name)
		}
		op.set, name = set, rest
	}
	op.base, op.ifExists = strings.CutSuffix(name, "IfExists")
	if op.base == "Null" && !op.ifExists {
		return op, nil
	}
	if _, ok := comparisons[op.base]; !ok {
		return operator{}, fmt.Errorf("invalid condition type: %s", name)
	}
	return op, nil
}

// conditionsHold is true if every operator holds for every key.
func (s Statement) conditionsHold(context ContextKeys) bool {
	for name, keys := range s.Condition {
		op, err := parseOperator(name)
		if err != nil {
			return false
		}
		for key, wanted := range keys {
			have, present := context.lookup(key)
			if !op.holds(have, present, wanted, context) {
				return false
			}
		}
	}
	return true
}

func (op operator) holds(have []string, present bool, wanted []string, context ContextKeys) bool {
	if op.base == "Null" {
		return nullHolds(present && len(have) > 0, wanted)
	}
	compare := comparisons[op.base]
	if !present || len(have) == 0 {
		return op.ifExists || op.set == "ForAllValues" || (op.set == "" && compare.negated)
	}
	if op.set == "ForAllValues" {
		for _, value := range have {
			if !compare.satisfied(value, wanted, context) {
				return false
			}
		}
		return true
	}
	for _, value := range have {
		if compare.satisfied(value, wanted, context) {
			return true
		}
	}
	return false
}

// satisfied compares one value of the request with all values of the policy:
// any may match, or, for a negated operator, none may.
func (c comparison) satisfied(have string, wanted []string, context ContextKeys) bool {
	for _, want := range wanted {
		if c.holds(have, expand(want, context)) {
			return !c.negated
		}
	}
	return c.negated
}

// nullHolds implements Null: "true" asks for the key to be absent.
func nullHolds(present bool, wanted []string) bool {
	for _, want := range wanted {
		if strings.EqualFold(want, "true") != present {
			return true
		}
	}
	return false
}

func like(have, want string) bool { return Match(want, have) }

// arnLike compares the six parts of an ARN separately, so that a wildcard does
// not reach over a colon of the first five.
func arnLike(have, want string) bool {
	h, w := strings.SplitN(have, ":", 6), strings.SplitN(want, ":", 6)
	if len(h) != 6 || len(w) != 6 {
		return false
	}
	for i := range w {
		if !Match(w[i], h[i]) {
			return false
		}
	}
	return true
}

func numeric(compare func(a, b float64) bool) func(have, want string) bool {
	return func(have, want string) bool {
		a, errA := strconv.ParseFloat(have, 64)
		b, errB := strconv.ParseFloat(want, 64)
		return errA == nil && errB == nil && compare(a, b)
	}
}

func date(compare func(a, b time.Time) bool) func(have, want string) bool {
	return func(have, want string) bool {
		a, errA := time.Parse(time.RFC3339, have)
		b, errB := time.Parse(time.RFC3339, want)
		return errA == nil && errB == nil && compare(a, b)
	}
}
