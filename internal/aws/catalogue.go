package aws

import (
	"context"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/pricing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// ReadCatalogue reads once what the configuration's region sells, for those who
// have no cluster. On-demand prices that cannot be read are estimates.
func ReadCatalogue(ctx context.Context, cfg awssdk.Config) (*offer.Catalogue, error) {
	client := newEC2(cfg, func(o *ec2.Options) { o.Retryer = retry.NewStandard(boundRetries) })
	prices := newPriceList(pricing.NewFromConfig(cfg, pricingRegion(cfg)), cfg.Region)
	s := newStock(client, prices, cfg.Region, Options{Now: time.Now})
	s.readPrices(ctx)
	return s.get(ctx)
}

// Catalogue returns what the region sells.
func (c *Cloud) Catalogue(ctx context.Context) (*offer.Catalogue, error) { return c.stock.get(ctx) }

// ReadPrices waits for the first look at on-demand prices, which otherwise
// happens in the background. Prices that cannot be read stay estimates.
func (c *Cloud) ReadPrices(ctx context.Context) { c.stock.readPrices(ctx) }

func (s *stock) readPrices(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prices == nil || s.onDemand.busy || !s.onDemand.at.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, refreshDeadline)
	defer cancel()
	s.onDemand.tried = s.now()
	if value, err := s.prices.get(ctx); err == nil {
		s.onDemand.value, s.onDemand.at = value, s.now()
		s.catalogue = nil
	}
}
