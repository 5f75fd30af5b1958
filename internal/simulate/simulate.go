// Package simulate turns files or a live cluster, and what is sold, into the input of
// a decision, so that what the agent would do can be known without running it.
package simulate

import (
	"context"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/manifest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Source is what is simulated: the objects of files, and what a region sells.
type Source struct {
	Set       *manifest.Set
	Catalogue *offer.Catalogue
	Region    string
	Nodes     offer.NodeOptions
	Now       time.Time
	Settings  decide.Settings
}

// Input builds the decision's input. The warnings say what had to be assumed. A
// region that the catalogue does not know is an error.
func (s *Source) Input() (decide.Input, []string, error) {
	if _, err := s.Catalogue.Region(s.Region); err != nil {
		return decide.Input{}, nil, err
	}
	survey, warnings := FromManifests(s.Set)
	whole := Cluster{Survey: survey, Market: Remember(CatalogueMarket{s.Catalogue, s.Region, s.Nodes}), Now: s.Now, Settings: s.Settings}
	return whole.Input(context.Background()), warnings, nil
}
