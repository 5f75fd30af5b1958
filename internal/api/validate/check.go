package validate

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// Provisioner checks a Provisioner by every rule of the API: what it breaks, and what is
// accepted and yet doubtful. One that stands for an object of another kind is checked only for
// what of that object is not supported, and for its labels, requirements and limits: its other
// fields are not the user's.
func Provisioner(p *api.Provisioner) finding.List {
	if p.Source != nil {
		return append(unsupportedIn(p.Source), ownFields(p.Source, warnProvisioner(p))...)
	}
	return append(ProvisionerErrors(p), warnProvisioner(p)...)
}

// NodeTemplate checks a node profile as Provisioner does a Provisioner.
func NodeTemplate(t *api.AWSNodeTemplate) finding.List {
	spec := field.NewPath("spec")
	if t.Source != nil {
		return append(unsupportedIn(t.Source), warnUserData(&t.Spec, spec)...)
	}
	return append(nodeTemplateErrors(t), warnProfile(&t.Spec, spec)...)
}

// unsupportedIn are errors about the object that the source is.
func unsupportedIn(s *api.Origin) finding.List {
	var out finding.List
	for _, u := range s.Unsupported {
		out = append(out, finding.Finding{Severity: finding.Error, Path: u.Path, Text: finding.Plain(u.Text)})
	}
	return out
}

// ownFields keeps the findings that are about labels, requirements and limits of the object, at its own
// fields.
func ownFields(s *api.Origin, found finding.List) finding.List {
	var out finding.List
	for _, f := range found {
		written := slices.ContainsFunc([]string{"spec.labels[", "spec.requirements[", "spec.limits.resources["}, func(path string) bool { return strings.HasPrefix(f.Path, path) })
		if own := f.Moved(s.PathOf); written && own.Path != f.Path {
			out = append(out, own)
		}
	}
	return out
}
