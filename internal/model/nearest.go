package model

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// nearestOffering says which requirement leaves the pool without an offering, and
// what there is instead.
func nearestOffering(p *Pool, combined match.Requirements) match.Miss {
	if len(p.Types) == 0 {
		return match.Miss{Kind: match.Offering, Want: "any instance type"}
	}
	right := typesThat(p, combined)
	if len(right) == 0 {
		return typeMiss(p, combined)
	}
	for _, t := range right {
		for j := range t.Offerings {
			if o := &t.Offerings[j]; offeringAllows(combined, o) {
				return match.Miss{Kind: match.Unavailable, Want: t.Name + " in " + o.Zone + " (" + o.CapacityType + "): " + o.Unavailable}
			}
		}
	}
	return offeringMiss(right, combined)
}

// typesThat returns the types that the requirements allow.
func typesThat(p *Pool, r match.Requirements) []*offer.InstanceType {
	var out []*offer.InstanceType
	for i, allowed := range typesAllowed(r, p.Catalogue) {
		if allowed {
			out = append(out, &p.Types[i])
		}
	}
	return out
}

// typeMiss names the requirement on types without which there would be some, or
// the first that a type does not meet.
func typeMiss(p *Pool, combined match.Requirements) match.Miss {
	failed, only := make([]int, len(p.Types)), make([]int, len(p.Types)) // by type: how many it does not meet, and the last
	for i, q := range combined {
		for t, allowed := range typesAllowed(match.Requirements{q}, p.Catalogue) {
			if !allowed {
				failed[t], only[t] = failed[t]+1, i
			}
		}
	}
	for i, q := range combined {
		var values []string
		for t := range p.Types {
			if failed[t] == 1 && only[t] == i {
				values = append(values, p.Types[t].Labels[q.Key]...)
			}
		}
		if len(values) > 0 {
			m := match.Miss{Kind: match.TypeLabel, Key: q.Key, Want: q.Set.Brief(), Have: listed(values)}
			if asked, ok := q.Set.Values(); ok && len(asked) == 1 {
				m.Hint, _ = api.Suggest(asked[0], values)
			}
			return m
		}
	}
	missing := combined[slices.IndexFunc(combined, func(q match.Requirement) bool {
		return !typesAllowed(match.Requirements{q}, p.Catalogue)[0]
	})]
	return match.Miss{Kind: match.TypeLabel, Key: missing.Key, Want: missing.Set.Brief()}
}

// offeringMiss names the requirement on offerings without which there would be
// some, or all of them.
func offeringMiss(types []*offer.InstanceType, combined match.Requirements) match.Miss {
	var all []string
	for i, q := range combined {
		if !offer.DecidesLabel(q.Key) {
			continue
		}
		allows := offeringTest(slices.Delete(slices.Clone(combined), i, i+1))
		var values []string
		for _, t := range types {
			for j := range t.Offerings {
				if o := &t.Offerings[j]; allows(o) {
					value, _ := o.Label(q.Key)
					values = append(values, value)
				}
			}
		}
		text := q.Key + " " + q.Set.Brief()
		if len(values) > 0 {
			return match.Miss{Kind: match.Offering, Key: q.Key, Want: text, Have: listed(values)}
		}
		all = append(all, text)
	}
	return match.Miss{Kind: match.Offering, Want: strings.Join(all, " and ")}
}

// MaxListed is how many values of a label a reason lists.
const MaxListed = 6

// listed spells the values that a label has: all, the range of numbers, or
// nothing where they are too many.
func listed(values []string) string {
	values = slices.Compact(slices.Sorted(slices.Values(values)))
	if len(values) <= MaxListed {
		slices.SortStableFunc(values, func(a, b string) int {
			x, _ := strconv.Atoi(a) // words stay in their order
			y, _ := strconv.Atoi(b)
			return cmp.Compare(x, y)
		})
		return strings.Join(values, ", ")
	}
	numbers := make([]int, len(values))
	for i, v := range values {
		n, err := strconv.Atoi(v)
		if err != nil {
			return ""
		}
		numbers[i] = n
	}
	return fmt.Sprintf("%d to %d", slices.Min(numbers), slices.Max(numbers))
}
