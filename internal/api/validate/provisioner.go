package validate

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/suggest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// ProvisionerErrors checks a Provisioner by every rule of the API. It does
// not need defaults to be added first.
func ProvisionerErrors(p *api.Provisioner) finding.List {
	spec := field.NewPath("spec")
	errs := validateName(p)
	errs = append(errs, validateLabels(p, spec.Child("labels"))...)
	errs = append(errs, validateAnnotations(p.Spec.Annotations, spec.Child("annotations"))...)
	errs = append(errs, validateTaints(&p.Spec, spec)...)
	errs = append(errs, validateRequirements(p, spec)...)
	errs = append(errs, validatePodOverrides(p.Spec.PodOverrides, spec.Child("podOverrides"))...)
	errs = append(errs, validateKubelet(p.Spec.KubeletConfiguration, spec.Child("kubeletConfiguration"))...)
	errs = append(errs, validateLimits(p.Spec.Limits, spec.Child("limits"))...)
	errs = append(errs, validateLifetime(&p.Spec, spec)...)
	errs = append(errs, within(p.Spec.Weight, 1, 100, spec.Child("weight"))...)
	errs = append(errs, validateProvider(p, spec)...)
	errs = append(errs, validateDisruption(p.Spec.Disruption, spec.Child("disruption"))...)
	if p.Spec.PodBinding != "" {
		binding := string(p.Spec.PodBinding)
		errs = append(errs, choice(&binding, []string{string(api.BindImmediate), string(api.BindScheduler)}, spec.Child("podBinding"))...)
	}
	return errs
}

// validateName checks that the name can be the value of LabelProvisioner.
func validateName(p *api.Provisioner) finding.List {
	path := field.NewPath("metadata", "name")
	if p.Name == "" {
		if p.GenerateName != "" {
			return nil
		}
		return finding.List{finding.Required(path, finding.Say("a Provisioner needs a name"), finding.Say("set it, such as default"))}
	}
	if errs := checkForm(path, p.Name, validation.IsDNS1123Subdomain); errs != nil {
		return errs
	}
	if len(p.Name) > validation.LabelValueMaxLength {
		return finding.List{finding.TooLong(path, validation.LabelValueMaxLength, suggest.Value(strings.TrimRight(p.Name[:validation.LabelValueMaxLength], "-.")))}
	}
	return nil
}

// validateAnnotations checks keys without regard to case, and the size of all together.
func validateAnnotations(annotations map[string]string, path *field.Path) finding.List {
	var errs finding.List
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		errs = append(errs, checkForm(path.Key(key), key, func(k string) []string { return validation.IsQualifiedName(strings.ToLower(k)) })...)
	}
	if apivalidation.ValidateAnnotationsSize(annotations) != nil {
		errs = append(errs, finding.TooLong(path, apivalidation.TotalAnnotationSizeLimitB, finding.None))
	}
	return errs
}

func validateLabels(p *api.Provisioner, path *field.Path) finding.List {
	var errs finding.List
	for _, key := range slices.Sorted(maps.Keys(p.Spec.Labels)) {
		at := path.Key(key)
		syntax := checkLabelKey(key, at)
		errs = append(errs, syntax...)
		if syntax == nil {
			errs = append(errs, checkLabelName(p, key, at)...)
		}
		errs = append(errs, checkLabelValue(p.Spec.Labels[key], at)...)
	}
	return errs
}

// checkLabelName refuses keys that users may not set, and misspelt well-known
// ones, which would be labels of the user's own that no machine has.
func checkLabelName(p *api.Provisioner, key string, path *field.Path) finding.List {
	if reason, restricted := p.RestrictedLabel(key); restricted {
		return finding.List{restrictedKey(path, key, reason)}
	}
	if meant, ok := suggest.Misspelt(key, api.KnownLabels()); ok {
		return finding.List{finding.Invalid(path, key, finding.Say("is not a well-known label, but resembles one"), finding.Say("did you mean %q?", api.NormalizeLabel(meant)))}
	}
	return nil
}

// restrictedKey reports a key that users may not set, with the known label that
// it resembles.
func restrictedKey(path *field.Path, key, reason string) finding.Finding {
	hint := finding.Say("remove it")
	if key != api.LabelProvisioner && key != api.LabelHostname {
		if near := didYouMean(key, api.WellKnownLabels()); !near.Empty() {
			hint = near
		} else if own := suggest.ShortForm(key); own != "" {
			hint = finding.Say("remove it, or use a key of your own, such as %q", own)
		}
	}
	return finding.Invalid(path, key, finding.Say("%s %s and cannot be set here", key, reason), hint)
}

func validatePodOverrides(keys []string, path *field.Path) finding.List {
	var errs finding.List
	for i, key := range keys {
		if !api.WellKnown(api.NormalizeLabel(key)) {
			errs = append(errs, finding.Invalid(path.Index(i), key, finding.Say("only well-known labels can be overridden by pods"), finding.Either(didYouMean(key, api.WellKnownLabels()), finding.Say("remove it"))))
		}
	}
	return errs
}

func validateLimits(limits *api.Limits, path *field.Path) finding.List {
	if limits == nil {
		return nil
	}
	return validateQuantities(limits.Resources, path.Child("resources"))
}

// validateQuantities refuses negative amounts.
func validateQuantities(amounts corev1.ResourceList, path *field.Path) finding.List {
	var errs finding.List
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		if q := amounts[name]; q.Sign() < 0 {
			errs = append(errs, negative(path.Key(string(name)), q.String()))
		}
	}
	return errs
}

func validateLifetime(spec *api.ProvisionerSpec, path *field.Path) finding.List {
	empty := path.Child("ttlSecondsAfterEmpty")
	errs := notNegative(spec.TTLSecondsAfterEmpty, empty)
	errs = append(errs, notNegative(spec.TTLSecondsUntilExpired, path.Child("ttlSecondsUntilExpired"))...)
	if spec.ConsolidationEnabled() && spec.TTLSecondsAfterEmpty != nil {
		errs = append(errs, finding.Forbidden(empty, finding.Say("cannot be combined with %s, which removes empty nodes too", finding.At(path.Child("consolidation", "enabled"))), finding.Say("remove one of the two")))
	}
	return errs
}

func validateProvider(p *api.Provisioner, path *field.Path) finding.List {
	var errs finding.List
	if p.Spec.Provider != nil {
		errs = append(errs, validateInline(p)...)
	}
	ref := p.Spec.ProviderRef
	if ref == nil {
		return errs
	}
	at := path.Child("providerRef")
	if p.Spec.Provider != nil {
		errs = append(errs, finding.Forbidden(at, finding.Say("cannot be combined with an inline provider"), finding.Say("keep one of the two")))
	}
	if ref.Name == "" {
		errs = append(errs, finding.Required(at.Child("name"), finding.Say("the name of the %s", api.NodeTemplateKind), finding.Say("set it, or remove %s", finding.In(path, "providerRef"))))
	}
	if ref.Kind != "" {
		errs = append(errs, choice(&ref.Kind, []string{api.NodeTemplateKind}, at.Child("kind"))...)
	}
	if ref.APIVersion != "" {
		served := []string{api.NodeTemplateGVK.GroupVersion().String()}
		errs = append(errs, choice(&ref.APIVersion, served, at.Child("apiVersion"))...)
	}
	return errs
}

func validateInline(p *api.Provisioner) finding.List {
	profile, _, errs := p.DecodeInline()
	if len(errs) > 0 {
		return errs
	}
	return nodeProfileErrors(profile, api.ProviderPath)
}
