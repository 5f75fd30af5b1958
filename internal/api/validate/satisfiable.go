package validate

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/labelset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// validateSatisfiable reports each key on which requirements, instanceTypes and
// labels together leave no possibility. The error stands at the last of them.
// The requirements themselves have been checked.
func validateSatisfiable(spec *api.ProvisionerSpec, path *field.Path) finding.List {
	left, origins := map[string]labelset.Set{}, map[string][]*field.Path{}
	spec.EachClaim(path, func(at *field.Path, r api.Requirement) {
		key := api.NormalizeLabel(r.Key)
		set, _ := labelset.New(r.Operator, r.Values)
		if before, ok := left[key]; ok {
			set = set.Intersect(before)
		}
		left[key], origins[key] = set, append(origins[key], at)
	})
	var errs finding.List
	for _, key := range slices.Sorted(maps.Keys(left)) {
		if left[key].Empty() {
			errs = append(errs, contradiction(key, origins[key]))
		}
	}
	return errs
}

func contradiction(key string, origins []*field.Path) finding.Finding {
	last := len(origins) - 1
	if last == 0 {
		return finding.Invalid(origins[last], key, finding.Say("no value can meet this requirement"), finding.Say("remove it, or change its values"))
	}
	text := finding.Say("no value can meet this and %s", finding.At(origins[0]))
	for _, origin := range origins[1:last] {
		text = finding.Say("%s, %s", text, finding.At(origin))
	}
	return finding.Invalid(origins[last], key, text, finding.Say("change one of them so that a value is left"))
}
