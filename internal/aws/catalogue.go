package aws

import (
	"context"
	"errors"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/stock"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// ReadCatalogue reads what the configuration's region sells. It needs no cluster.
// On-demand prices that cannot be read are estimates.
func ReadCatalogue(ctx context.Context, cfg awssdk.Config) (*offer.Catalogue, error) {
	s := stock.New(client.NewEC2(cfg, func(o *ec2.Options) { o.Retryer = retry.NewStandard(client.Retries) }), cfg, true, time.Now)
	s.ReadPrices(ctx)
	return all(ctx, s)
}

// Catalogue returns the instance types that the region sells, with prices and zones.
func (c *Cloud) Catalogue(ctx context.Context) (*offer.Catalogue, error) { return all(ctx, c.stock) }

// all returns a catalogue for people, who take what is not in it for what is not sold. If it lacks
// something, that is an error.
func all(ctx context.Context, s *stock.Stock) (*offer.Catalogue, error) {
	catalogue, err := s.Get(ctx)
	if err != nil {
		return nil, err
	}
	if _, fault := s.Fault(); fault != "" {
		return nil, errors.New(fault)
	}
	return catalogue, nil
}

// ReadPrices reads on-demand prices and waits for them, if they have not been read yet.
// Without it, they are read in the background. Prices that cannot be read stay estimates.
func (c *Cloud) ReadPrices(ctx context.Context) { c.stock.ReadPrices(ctx) }
