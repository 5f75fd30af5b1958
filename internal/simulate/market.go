package simulate

import (
	"context"

	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Market answers what a Provisioner, with its defaults added, may buy with a
// node profile; nil is the default profile.
type Market interface {
	Market(ctx context.Context, p *api.Provisioner, profile *api.NodeProfile) (offer.Market, error)
}

// CatalogueMarket is the market of a region in a catalogue: all zones have
// subnets, and all architectures have images.
type CatalogueMarket struct {
	Catalogue *offer.Catalogue
	Region    string
	Nodes     offer.NodeOptions
}

// Market returns every instance type that the region sells. A region that the
// catalogue does not know is an error.
func (m CatalogueMarket) Market(_ context.Context, p *api.Provisioner, profile *api.NodeProfile) (offer.Market, error) {
	if _, err := m.Catalogue.Region(m.Region); err != nil {
		return offer.Market{}, err
	}
	if profile == nil {
		profile = &api.NodeProfile{}
	}
	types := m.Catalogue.Types(offer.Settings{
		Region: m.Region, Kubelet: p.Spec.KubeletConfiguration, AMIFamily: ptr.Deref(profile.AMIFamily, ""),
		Volumes: profile.BlockDeviceMappings, InstanceStoreRAID: profile.JoinsLocalDisks(), NodeOptions: m.Nodes,
	})
	return offer.Market{ProfileHash: profile.Hash(), Types: types, Index: offer.NewIndex(types)}, nil
}
