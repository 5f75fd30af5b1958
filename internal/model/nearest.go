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

// typeMiss names the requirement on types without which there would be some, or one that
// no type meets, or else several that no type meets together.
func typeMiss(p *Pool, combined match.Requirements) match.Miss {
	allowed := make([][]bool, len(combined))                             // by requirement and type
	failed, only := make([]int, len(p.Types)), make([]int, len(p.Types)) // by type: how many it does not meet, and the last
	for i, q := range combined {
		allowed[i] = typesAllowed(match.Requirements{q}, p.Catalogue)
		for t := range p.Types {
			if !allowed[i][t] {
				failed[t], only[t] = failed[t]+1, i
			}
		}
	}
	for i, q := range combined {
		if m, ok := labelMiss(p, q, func(t int) bool { return failed[t] == 1 && only[t] == i }); ok {
			return m
		}
	}
	for i, q := range combined {
		if !slices.Contains(allowed[i], true) {
			m, _ := labelMiss(p, q, func(int) bool { return true })
			return m
		}
	}
	return jointMiss(combined, allowed)
}

// labelMiss names a requirement and the values of its label that some types have. It reports whether there are any.
func labelMiss(p *Pool, q match.Requirement, of func(t int) bool) (match.Miss, bool) {
	var values []string
	for t := range p.Types {
		if of(t) {
			values = append(values, p.Types[t].Labels[q.Key]...)
		}
	}
	m := match.Miss{Kind: match.TypeLabel, Key: q.Key, Want: q.Set.Brief(), Have: listed(values)}
	if asked, ok := q.Set.Values(); ok && len(asked) == 1 {
		m.Hint, _ = api.Suggest(asked[0], values)
	}
	return m, len(values) > 0
}

// jointMiss names requirements of which a type meets each but no type meets all. Without any one of them there would be one.
func jointMiss(combined match.Requirements, allowed [][]bool) match.Miss {
	var needed []int
	for i := range combined {
		if slices.Contains(allowed[i], false) {
			needed = append(needed, i)
		}
	}
	for _, i := range slices.Clone(needed) {
		without := slices.DeleteFunc(slices.Clone(needed), func(j int) bool { return j == i })
		if !anyAllowed(allowed, without) {
			needed = without
		}
	}
	var rest []string
	for _, i := range needed[1:] {
		rest = append(rest, combined[i].Key+" "+combined[i].Set.Brief())
	}
	first := combined[needed[0]]
	return match.Miss{Kind: match.TypeLabel, Key: first.Key, Want: first.Set.Brief() + " together with " + strings.Join(rest, " and ")}
}

// anyAllowed reports whether there is a type that meets all of these requirements.
func anyAllowed(allowed [][]bool, requirements []int) bool {
	for t := range allowed[0] {
		if !slices.ContainsFunc(requirements, func(i int) bool { return !allowed[i][t] }) {
			return true
		}
	}
	return false
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
