package api

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// CheckProvisioner checks a Provisioner by every rule of the API: what it breaks,
// and what is accepted and yet doubtful. One that stands for an object of another kind
// is judged by what of that object is not supported, and by its requirements and limits:
// its other fields are not the user's.
func CheckProvisioner(p *Provisioner) finding.List {
	if p.Source != nil {
		return append(p.Source.findings(), p.Source.own(warnProvisioner(p))...)
	}
	return append(ValidateProvisioner(p), warnProvisioner(p)...)
}

// CheckNodeTemplate checks a node profile as CheckProvisioner does a Provisioner.
func CheckNodeTemplate(t *AWSNodeTemplate) finding.List {
	if t.Source != nil {
		return t.Source.findings()
	}
	return append(ValidateNodeTemplate(t), warnTags(t.Spec.Tags, field.NewPath("spec", "tags"))...)
}
