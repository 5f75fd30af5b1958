package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/simulate"
)

// Stock is what can be bought, and where that is known from.
type Stock struct {
	Market    simulate.Market
	Catalogue *offer.Catalogue
	Region    string
	// Live means that AWS was asked: the market has only zones with subnets and architectures
	// with images.
	Live bool
	// Note says why AWS was not asked. It is empty if AWS was asked, or if the user has chosen a
	// file.
	Note string
}

// Age says where the catalogue comes from and how old it is.
func (s *Stock) Age(now time.Time) string {
	if s.Catalogue.At.IsZero() {
		return fmt.Sprintf("%s catalogue of unknown age", s.Catalogue.Source)
	}
	return fmt.Sprintf("%s catalogue, %s old", s.Catalogue.Source, now.Sub(s.Catalogue.At).Round(time.Minute))
}

// MarketFor returns the market for an agent of these options. That of a catalogue itself has the default options, so that
// what a plan shows of it is still right when the plan is applied, with which the agent may come.
func (s *Stock) MarketFor(nodes offer.NodeOptions) simulate.Market {
	if s.Live {
		return s.Market // which was read for the agent
	}
	return simulate.Remember(simulate.CatalogueMarket{Catalogue: s.Catalogue, Region: s.Region, Nodes: nodes})
}

// ErrNoRegion means that no region is configured.
var ErrNoRegion = errors.New("no region: set `region` in the provider block or AWS_REGION in the environment")

// Stock returns what can be bought: from the file that the provider block names, or else from AWS, or else,
// with a note, from the embedded table. It is read once.
func (s *Session) Stock(ctx context.Context) (*Stock, error) {
	if err := s.Config.known(stockAttributes); err != nil {
		return nil, err
	}
	s.stockOnce.Do(func() { s.stock, s.stockErr = s.readStock(ctx) })
	return s.stock, s.stockErr
}

func (s *Session) readStock(ctx context.Context) (*Stock, error) {
	region := cmp.Or(s.Config.AWS.Region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	if region == "" {
		region = s.Region(ctx) // that of a profile
	}
	if s.Config.CatalogueFile != "" {
		catalogue, err := offer.OpenCatalogue(s.Config.CatalogueFile)
		if err != nil {
			return nil, fmt.Errorf("`catalogue_file`: %w", err)
		}
		return offline(catalogue, region, "")
	}
	if s.Config.ClusterName == "" {
		return offline(offer.Embedded(), region, "AWS was not asked, because the provider block has no `cluster_name`")
	}
	nodes, _ := s.NodeOptions(ctx) // without the cluster, AWS still knows more than the embedded table
	live, err := s.platform.Stock(ctx, nodes)
	if err == nil {
		return live, nil
	}
	return offline(offer.Embedded(), region, fmt.Sprintf("AWS was not asked: %s", err))
}

func offline(catalogue *offer.Catalogue, region, note string) (*Stock, error) {
	_, err := catalogue.Region(region)
	if region == "" {
		err = ErrNoRegion
	}
	if err != nil && note != "" {
		err = fmt.Errorf("%s; %w", note, err)
	}
	if err != nil {
		return nil, err
	}
	market := simulate.Remember(simulate.CatalogueMarket{Catalogue: catalogue, Region: region})
	return &Stock{Market: market, Catalogue: catalogue, Region: region, Note: note}, nil
}
