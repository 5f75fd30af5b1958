// Package forecast turns files and a catalogue into the input of a decision, so
// that what the agent would do can be known without a cluster or a cloud.
package forecast

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/manifest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Source is what a forecast is made from.
type Source struct {
	Set       *manifest.Set
	Catalogue *offer.Catalogue
	Region    string
	Now       time.Time
	Settings  decide.Settings
}

// Input builds the decision's input. The warnings say what had to be assumed. A
// region that the catalogue does not know is an error.
func (s *Source) Input() (decide.Input, []string, error) {
	if _, err := s.Catalogue.Region(s.Region); err != nil {
		return decide.Input{}, nil, err
	}
	in := decide.Input{Now: s.Now, Snapshot: s.Set.Snapshot, Settings: s.Settings}
	provisioners, warnings := s.Set.Provisioners, s.Set.Warnings()
	if len(provisioners) == 0 {
		provisioners = []*api.Provisioner{{ObjectMeta: metav1.ObjectMeta{Name: "default"}}}
		warnings = append(warnings, `there is no Provisioner in the files: one named "default" with the defaults of the API is assumed`)
	}
	for _, p := range provisioners {
		configured, warning := s.provisioner(p)
		in.Provisioners = append(in.Provisioners, configured)
		if warning != "" {
			warnings = append(warnings, warning)
		}
	}
	return in, warnings, nil
}

// provisioner says what a Provisioner may buy. Invalid ones are blocked, as in a cluster.
func (s *Source) provisioner(p *api.Provisioner) (decide.Provisioner, string) {
	out := decide.Provisioner{Spec: p.Defaulted()}
	if errs := api.ValidateProvisioner(p); len(errs) > 0 {
		out.Blocked = "it is invalid: " + errs.ToAggregate().Error()
		return out, fmt.Sprintf("Provisioner %s is invalid and is left out; `packhorse-agent validate` says why", p.Name)
	}
	profile, warning, err := s.profile(p)
	if err != nil {
		out.Blocked = err.Error()
		return out, ""
	}
	settings := offer.Settings{Region: s.Region, Kubelet: out.Spec.Spec.KubeletConfiguration}
	if profile != nil {
		out.ProfileHash = profile.Hash()
		settings.Volumes = profile.BlockDeviceMappings
		if profile.AMIFamily != nil {
			settings.AMIFamily = *profile.AMIFamily
		}
	}
	out.Types = s.Catalogue.Types(settings)
	return out, warning
}

// profile finds the node profile of a Provisioner among the files; nil where
// the defaults hold.
func (s *Source) profile(p *api.Provisioner) (*api.NodeProfile, string, error) {
	if p.Spec.ProviderRef == nil {
		profile, err := p.InlineProfile()
		return profile, "", err
	}
	name := p.Spec.ProviderRef.Name
	i := slices.IndexFunc(s.Set.NodeTemplates, func(t *api.AWSNodeTemplate) bool { return t.Name == name })
	if i < 0 {
		return nil, fmt.Sprintf("Provisioner %s uses AWSNodeTemplate %s, which is not among the files: the defaults of a node profile are assumed", p.Name, name), nil
	}
	return &s.Set.NodeTemplates[i].Spec, "", nil
}
