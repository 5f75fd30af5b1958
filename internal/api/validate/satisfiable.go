package validate

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// constraint is the conjunction of all requirements on one key.
type constraint struct {
	allowed   map[string]struct{} // nil means any value
	excluded  map[string]struct{}
	low, high int64 // inclusive bounds; only meaningful if bounded
	bounded   bool
	exists    bool // the label must be there
	absent    bool // the label must not be there
	origins   []*field.Path
}

// validateSatisfiable reports each key on which requirements, instanceTypes and
// labels together leave no possibility. The error stands at the last of them.
func validateSatisfiable(spec *api.ProvisionerSpec, path *field.Path) finding.List {
	constraints := map[string]*constraint{}
	add := func(r api.Requirement, at *field.Path) {
		key := api.NormalizeLabel(r.Key)
		if constraints[key] == nil {
			constraints[key] = &constraint{excluded: map[string]struct{}{}, high: math.MaxInt64}
		}
		constraints[key].add(r, at)
	}
	for i, r := range spec.Requirements {
		add(r, path.Child("requirements").Index(i))
	}
	if len(spec.InstanceTypes) > 0 {
		add(api.Requirement{Key: api.LabelInstanceType, Operator: api.OpIn, Values: spec.InstanceTypes}, path.Child("instanceTypes"))
	}
	for _, key := range slices.Sorted(maps.Keys(spec.Labels)) {
		add(api.Requirement{Key: key, Operator: api.OpIn, Values: []string{spec.Labels[key]}}, path.Child("labels").Key(key))
	}
	var errs finding.List
	for _, key := range slices.Sorted(maps.Keys(constraints)) {
		if c := constraints[key]; !c.satisfiable() {
			errs = append(errs, c.contradiction(key))
		}
	}
	return errs
}

func (c *constraint) add(r api.Requirement, at *field.Path) {
	c.origins = append(c.origins, at)
	switch r.Operator {
	case api.OpIn:
		c.exists = true
		c.intersect(r.Values)
	case api.OpNotIn:
		for _, v := range r.Values {
			c.excluded[v] = struct{}{}
		}
	case api.OpExists:
		c.exists = true
	case api.OpDoesNotExist:
		c.absent = true
	case api.OpGt, api.OpGte, api.OpLt, api.OpLte:
		c.exists = true
		c.bound(r.Operator, r.Values[0])
	}
}

func (c *constraint) intersect(values []string) {
	both := map[string]struct{}{}
	for _, v := range values {
		if _, ok := c.allowed[v]; ok || c.allowed == nil {
			both[v] = struct{}{}
		}
	}
	c.allowed = both
}

// bound narrows the interval. The value has been checked.
func (c *constraint) bound(operator api.Operator, value string) {
	n, _ := api.ParseBound(value)
	c.bounded = true
	switch operator {
	case api.OpGt:
		if n == math.MaxInt64 {
			c.high = -1 // nothing is greater
			return
		}
		c.low = max(c.low, n+1)
	case api.OpGte:
		c.low = max(c.low, n)
	case api.OpLt:
		c.high = min(c.high, n-1)
	case api.OpLte:
		c.high = min(c.high, n)
	}
}

func (c *constraint) satisfiable() bool {
	if c.absent {
		return !c.exists
	}
	if c.allowed != nil {
		for v := range c.allowed {
			if c.admits(v) {
				return true
			}
		}
		return false
	}
	return !c.bounded || c.intervalLeavesValue()
}

func (c *constraint) admits(value string) bool {
	if _, out := c.excluded[value]; out {
		return false
	}
	if !c.bounded {
		return true
	}
	n, ok := api.ParseBound(value)
	return ok && n >= c.low && n <= c.high
}

// intervalLeavesValue looks for a number in the interval that is not excluded.
// One more candidate than there are exclusions is enough.
func (c *constraint) intervalLeavesValue() bool {
	for n, tried := c.low, 0; n <= c.high && tried <= len(c.excluded); n, tried = n+1, tried+1 {
		if c.admits(strconv.FormatInt(n, 10)) {
			return true
		}
		if n == math.MaxInt64 {
			return false
		}
	}
	return false
}

func (c *constraint) contradiction(key string) finding.Finding {
	last := len(c.origins) - 1
	if last == 0 {
		return finding.Invalid(c.origins[last], key, finding.Say("no value can meet this requirement"), finding.Say("remove it, or change its values"))
	}
	text := finding.Say("no value can meet this and %s", finding.At(c.origins[0]))
	for _, origin := range c.origins[1:last] {
		text = finding.Say("%s, %s", text, finding.At(origin))
	}
	return finding.Invalid(c.origins[last], key, text, finding.Say("change one of them so that a value is left"))
}
