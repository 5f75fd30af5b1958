package api

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// operators lists the operators of a Requirement.
var operators = []string{
	string(OpIn), string(OpNotIn), string(OpExists), string(OpDoesNotExist),
	string(OpGt), string(OpLt), string(OpGte), string(OpLte),
}

// capacityTypes lists the values of LabelCapacityType that a Provisioner may have. One that
// stands for a NodePool may have servedTypes.
var (
	capacityTypes = []string{CapacitySpot, CapacityOnDemand}
	servedTypes   = append(slices.Clone(capacityTypes), CapacityReserved)
)

func capacityTypesOf(p *Provisioner) []string {
	if p.Source != nil {
		return servedTypes
	}
	return capacityTypes
}

func validateRequirements(p *Provisioner, path *field.Path) finding.List {
	spec, allowed := &p.Spec, capacityTypesOf(p)
	var errs finding.List
	for i := range spec.Requirements {
		errs = append(errs, validateRequirement(&spec.Requirements[i], allowed, path.Child("requirements").Index(i))...)
	}
	for i, value := range spec.InstanceTypes {
		at := path.Child("instanceTypes").Index(i)
		if value == "" {
			errs = append(errs, finding.Required(at, finding.Say("the name of an instance type"), finding.Say("set it, such as m7g.large, or remove the entry")))
			continue
		}
		errs = append(errs, checkLabelValue(value, at)...)
	}
	if value, ok := spec.Labels[LabelCapacityType]; ok {
		errs = append(errs, choice(&value, allowed, path.Child("labels").Key(LabelCapacityType))...)
	}
	if len(errs) > 0 {
		return errs // what does not read as a requirement contradicts nothing
	}
	return validateSatisfiable(spec, path)
}

func validateRequirement(r *Requirement, capacityTypes []string, path *field.Path) finding.List {
	errs := validateRequirementKey(r.Key, path.Child("key"))
	values := path.Child("values")
	switch r.Operator {
	case "":
		errs = append(errs, finding.Required(path.Child("operator"), finding.Say("one of %q", operators), finding.Say("did you mean %q?", likelyOperator(r.Values))))
	case OpIn:
		if len(r.Values) == 0 {
			errs = append(errs, finding.Required(values, finding.Say("In needs at least one value"), finding.Say("to allow any value use Exists")))
		}
		errs = append(errs, validateRequirementValues(r, capacityTypes, values)...)
	case OpNotIn:
		errs = append(errs, validateRequirementValues(r, capacityTypes, values)...)
	case OpExists, OpDoesNotExist:
		if len(r.Values) > 0 {
			errs = append(errs, finding.Invalid(values, r.Values, finding.Say("%s takes no values", r.Operator), finding.Say("remove them, or use In or NotIn")))
		}
	case OpGt, OpLt, OpGte, OpLte:
		errs = append(errs, validateBound(r, values)...)
	default:
		errs = append(errs, unsupported(path.Child("operator"), string(r.Operator), operators))
	}
	return append(errs, validateMinValues(r, path.Child("minValues"))...)
}

// validateMinValues checks how many values are demanded. One value needs no demand.
func validateMinValues(r *Requirement, path *field.Path) finding.List {
	if r.MinValues == nil {
		return nil
	}
	switch count := *r.MinValues; {
	case count < 1 || count > MaxMinValues:
		return finding.List{finding.Invalid(path, count, finding.Say("must be from 1 to %d", MaxMinValues), nearestValue(strconv.Itoa(int(min(max(count, 1), MaxMinValues)))))}
	case r.Operator == OpIn && int(count) > len(r.Values):
		return finding.List{finding.Invalid(path, count, finding.Say("is more than the %d values that may be had", len(r.Values)), finding.Say("add values, or lower it"))}
	}
	return nil
}

func validateRequirementKey(key string, path *field.Path) finding.List {
	if key == "" {
		return finding.List{finding.Required(path, finding.Say("the key of a label"), finding.Say("set it, such as %s, or remove the requirement", LabelCapacityType))}
	}
	if errs := checkLabelKey(key, path); errs != nil {
		return errs
	}
	return checkLabelName(key, path)
}

func validateRequirementValues(r *Requirement, capacityTypes []string, path *field.Path) finding.List {
	var errs finding.List
	for i, value := range r.Values {
		at := path.Index(i)
		if syntax := checkLabelValue(value, at); syntax != nil {
			errs = append(errs, syntax...)
		} else if r.Operator == OpIn && NormalizeLabel(r.Key) == LabelCapacityType && !slipsIn(value, r.Values, capacityTypes) {
			errs = append(errs, choice(&value, capacityTypes, at)...)
		}
	}
	return errs
}

// slipsIn reports whether a value is but another spelling of an allowed one, and
// stands beside one that is right. Karpenter took no notice of it, so that manifests
// with it are in use.
func slipsIn(value string, values, allowed []string) bool {
	meant, ok := Suggest(value, allowed)
	certain := ok && (fold(meant) == fold(value) || synonyms[strings.ToLower(value)] == meant)
	return certain && slices.ContainsFunc(values, func(v string) bool { return slices.Contains(allowed, v) })
}

// validateBound checks the value of Gt, Lt, Gte and Lte.
func validateBound(r *Requirement, path *field.Path) finding.List {
	if len(r.Values) != 1 {
		return finding.List{finding.Invalid(path, r.Values, finding.Say("%s takes exactly one value", r.Operator), adviseBound(r))}
	}
	if _, ok := parseBound(r.Values[0]); !ok {
		return finding.List{finding.Invalid(path.Index(0), r.Values[0], finding.Say("%s takes a whole number that is not negative", r.Operator), adviseBound(r))}
	}
	return nil
}

// adviseBound names the number that was probably meant: of several the one that
// implies the others.
func adviseBound(r *Requirement) finding.Message {
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
	if r.Operator == OpLt || r.Operator == OpLte {
		strictest = slices.Min(bounds)
	}
	return nearestValue(strconv.FormatFloat(strictest, 'f', -1, 64))
}

// likelyOperator is the one that was probably meant where there is none.
func likelyOperator(values []string) Operator {
	if len(values) == 0 {
		return OpExists
	}
	return OpIn
}

// parseBound reads a non-negative integer in plain decimal digits.
func parseBound(value string) (int64, bool) {
	n, err := strconv.ParseInt(value, 10, 64)
	return n, err == nil && !slices.Contains([]byte(value), '+') && n >= 0
}
