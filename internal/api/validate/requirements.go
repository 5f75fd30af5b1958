package validate

import (
	"math"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/suggest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// operators lists the operators of a Requirement.
var operators = []string{
	string(api.OpIn), string(api.OpNotIn), string(api.OpExists), string(api.OpDoesNotExist),
	string(api.OpGt), string(api.OpLt), string(api.OpGte), string(api.OpLte),
}

// capacityTypes lists the values of LabelCapacityType that a Provisioner may have. One that
// stands for a NodePool may have servedTypes.
var (
	capacityTypes = []string{api.CapacitySpot, api.CapacityOnDemand}
	servedTypes   = append(slices.Clone(capacityTypes), api.CapacityReserved)
)

func capacityTypesOf(p *api.Provisioner) []string {
	if p.Source != nil {
		return servedTypes
	}
	return capacityTypes
}

func validateRequirements(p *api.Provisioner, path *field.Path) finding.List {
	spec, allowed := &p.Spec, capacityTypesOf(p)
	var errs finding.List
	for i := range spec.Requirements {
		errs = append(errs, validateRequirement(p, &spec.Requirements[i], path.Child("requirements").Index(i))...)
	}
	for i, value := range spec.InstanceTypes {
		at := path.Child("instanceTypes").Index(i)
		if value == "" {
			errs = append(errs, finding.Required(at, finding.Say("the name of an instance type"), finding.Say("set it, such as m7g.large, or remove the entry")))
			continue
		}
		errs = append(errs, checkLabelValue(value, at)...)
	}
	if value, ok := spec.Labels[api.LabelCapacityType]; ok {
		errs = append(errs, choice(&value, allowed, path.Child("labels").Key(api.LabelCapacityType))...)
	}
	if len(errs) > 0 {
		return errs // what does not read as a requirement contradicts nothing
	}
	return validateSatisfiable(spec, path)
}

func validateRequirement(p *api.Provisioner, r *api.Requirement, path *field.Path) finding.List {
	errs := validateRequirementKey(p, r.Key, path.Child("key"))
	values, capacityTypes := path.Child("values"), capacityTypesOf(p)
	switch r.Operator {
	case "":
		errs = append(errs, finding.Required(path.Child("operator"), finding.Say("one of %q", operators), finding.Say("did you mean %q?", likelyOperator(r.Values))))
	case api.OpIn:
		if len(r.Values) == 0 {
			errs = append(errs, finding.Required(values, finding.Say("In needs at least one value"), finding.Say("to allow any value use Exists")))
		}
		errs = append(errs, validateRequirementValues(r, capacityTypes, values)...)
	case api.OpNotIn:
		errs = append(errs, validateRequirementValues(r, capacityTypes, values)...)
	case api.OpExists, api.OpDoesNotExist:
		if len(r.Values) > 0 {
			errs = append(errs, finding.Invalid(values, r.Values, finding.Say("%s takes no values", r.Operator), finding.Say("remove them, or use In or NotIn")))
		}
	case api.OpGt, api.OpLt, api.OpGte, api.OpLte:
		errs = append(errs, validateBound(r, values)...)
	default:
		errs = append(errs, unsupported(path.Child("operator"), string(r.Operator), operators))
	}
	return append(errs, validateMinValues(r, path.Child("minValues"))...)
}

// validateMinValues checks how many values are demanded. One value needs no demand.
func validateMinValues(r *api.Requirement, path *field.Path) finding.List {
	if r.MinValues == nil {
		return nil
	}
	switch count := *r.MinValues; {
	case count < 1 || count > api.MaxMinValues:
		return finding.List{finding.Invalid(path, count, finding.Say("must be from 1 to %d", api.MaxMinValues), suggest.Value(strconv.Itoa(int(min(max(count, 1), api.MaxMinValues)))))}
	case r.Operator == api.OpIn && int(count) > len(r.Values):
		return finding.List{finding.Invalid(path, count, finding.Say("is more than the %d values that may be had", len(r.Values)), finding.Say("add values, or lower it"))}
	}
	return nil
}

func validateRequirementKey(p *api.Provisioner, key string, path *field.Path) finding.List {
	if key == "" {
		return finding.List{finding.Required(path, finding.Say("the key of a label"), finding.Say("set it, such as %s, or remove the requirement", api.LabelCapacityType))}
	}
	if errs := checkLabelKey(key, path); errs != nil {
		return errs
	}
	return checkLabelName(p, key, path)
}

func validateRequirementValues(r *api.Requirement, capacityTypes []string, path *field.Path) finding.List {
	var errs finding.List
	for i, value := range r.Values {
		at := path.Index(i)
		if syntax := checkLabelValue(value, at); syntax != nil {
			errs = append(errs, syntax...)
		} else if r.Operator == api.OpIn && api.NormalizeLabel(r.Key) == api.LabelCapacityType && !slipsIn(value, r.Values, capacityTypes) {
			errs = append(errs, choice(&value, capacityTypes, at)...)
		}
	}
	return errs
}

// slipsIn reports whether a value is but another spelling of an allowed one, and
// stands beside one that is right. Karpenter took no notice of it, so that manifests
// with it are in use.
func slipsIn(value string, values, allowed []string) bool {
	meant, ok := api.Suggest(value, allowed)
	certain := ok && suggest.Certain(value, meant)
	return certain && slices.ContainsFunc(values, func(v string) bool { return slices.Contains(allowed, v) })
}

// validateBound checks the value of Gt, Lt, Gte and Lte.
func validateBound(r *api.Requirement, path *field.Path) finding.List {
	if len(r.Values) != 1 {
		return finding.List{finding.Invalid(path, r.Values, finding.Say("%s takes exactly one value", r.Operator), adviseBound(r))}
	}
	if _, ok := api.ParseBound(r.Values[0]); !ok {
		return finding.List{finding.Invalid(path.Index(0), r.Values[0], finding.Say("%s takes a whole number that is not negative", r.Operator), adviseBound(r))}
	}
	return nil
}

// adviseBound names the number that was probably meant: of several the one that
// implies the others.
func adviseBound(r *api.Requirement) finding.Message {
	var bounds []float64
	for _, value := range r.Values {
		if n, err := strconv.ParseFloat(value, 64); err == nil && math.Abs(n) < math.MaxInt32 {
			bounds = append(bounds, max(0, math.Trunc(n)))
		}
	}
	if len(bounds) == 0 || len(bounds) < len(r.Values) {
		return finding.Say(`give one in digits, such as "4"`)
	}
	strictest := slices.Max(bounds)
	if r.Operator == api.OpLt || r.Operator == api.OpLte {
		strictest = slices.Min(bounds)
	}
	return suggest.Value(strconv.FormatFloat(strictest, 'f', -1, 64))
}

// likelyOperator is the one that was probably meant where there is none.
func likelyOperator(values []string) api.Operator {
	if len(values) == 0 {
		return api.OpExists
	}
	return api.OpIn
}
