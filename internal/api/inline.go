package api

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// inlineProvider is the inline node profile with the keys that manifests of
// early releases carry in it.
type inlineProvider struct {
	APIVersion  string `json:"apiVersion,omitempty"`
	Kind        string `json:"kind,omitempty"`
	NodeProfile `json:",inline"`
}

// ProviderPath is where a Provisioner holds its inline node profile.
var ProviderPath = field.NewPath("spec", "provider")

// InlineProfile decodes spec.provider. Without one it is the empty profile,
// which the defaults of the node profile complete. Callers look at
// spec.providerRef first. Unknown fields are ignored.
func (p *Provisioner) InlineProfile() (*NodeProfile, error) {
	profile, _, errs := p.DecodeInline()
	if len(errs) > 0 {
		return nil, errs
	}
	return profile, nil
}

// DecodeInline is InlineProfile, with the fields that nothing reads and all errors.
func (p *Provisioner) DecodeInline() (profile *NodeProfile, ignored, errs finding.List) {
	if p.Spec.Provider == nil || len(p.Spec.Provider.Raw) == 0 {
		return &NodeProfile{}, nil, nil
	}
	var tree any
	if err := json.Unmarshal(p.Spec.Provider.Raw, &tree); err != nil {
		return nil, nil, finding.List{finding.Invalid(ProviderPath, string(p.Spec.Provider.Raw), finding.Plain(err.Error()), finding.None)}
	}
	var inline inlineProvider
	ignored, errs = ours.Decode(tree, &inline, ProviderPath)
	return &inline.NodeProfile, ignored, errs
}
