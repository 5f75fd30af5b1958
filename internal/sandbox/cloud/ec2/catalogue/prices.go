package catalogue

import (
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/resource"
)

// spotHistory is how far back spot prices are listed.
const spotHistory = 90 * 24 * time.Hour

func (c *Catalogue) describeSpotPriceHistory(_ *account.Caller, in *ec2.DescribeSpotPriceHistoryInput) (*ec2.DescribeSpotPriceHistoryOutput, error) {
	moments, err := c.priceChanges(in.StartTime, in.EndTime)
	if err != nil {
		return nil, err
	}
	var history []types.SpotPrice
	for _, t := range c.Sorted {
		wanted := len(in.InstanceTypes) == 0 || slices.Contains(in.InstanceTypes, types.InstanceType(t.Name))
		if !wanted || !t.Supports(Spot) {
			continue
		}
		for _, since := range moments {
			history = append(history, c.spotPrices(t, since)...)
		}
	}
	products := in.ProductDescriptions
	kept, err := resource.Selected(history, in.Filters, func(p types.SpotPrice) resource.Attributes {
		return resource.Attributes{
			"availability-zone":   {*p.AvailabilityZone},
			"instance-type":       {string(p.InstanceType)},
			"product-description": {string(p.ProductDescription)},
			"spot-price":          {*p.SpotPrice},
			"timestamp":           {p.Timestamp.Format(time.RFC3339)},
		}
	})
	if err != nil {
		return nil, err
	}
	kept = slices.DeleteFunc(kept, func(p types.SpotPrice) bool {
		return (in.AvailabilityZone != nil && *in.AvailabilityZone != *p.AvailabilityZone) ||
			(len(products) > 0 && !slices.Contains(products, string(p.ProductDescription)))
	})
	part, next, err := account.Page(kept, in.NextToken, in.MaxResults, 1000)
	return &ec2.DescribeSpotPriceHistoryOutput{SpotPriceHistory: part, NextToken: next}, err
}

// priceChanges returns when the prices that hold between two times began to hold,
// the latest first: every full hour if prices move, else two hours ago. Without
// times it is about now.
func (c *Catalogue) priceChanges(start, end *time.Time) ([]time.Time, error) {
	now := c.Now()
	from, to := now, now
	if end != nil && end.Before(now) {
		to = *end
	}
	if start != nil {
		from = *start
	}
	if from.After(to) && end != nil {
		return nil, account.Fail("InvalidParameterValue", "The start time %s is after the end time.", from.Format(time.RFC3339))
	}
	if c.Behaves.SpotVolatility <= 0 {
		return []time.Time{now.Add(-2 * time.Hour).Truncate(time.Hour)}, nil
	}
	if earliest := now.Add(-spotHistory); from.Before(earliest) {
		from = earliest
	}
	var moments []time.Time
	for at := to.Truncate(time.Hour); ; at = at.Add(-time.Hour) {
		moments = append(moments, at)
		if !at.After(from) { // the one before holds at the start
			return moments, nil
		}
	}
}

func (c *Catalogue) spotPrices(t *Type, since time.Time) []types.SpotPrice {
	var prices []types.SpotPrice
	for _, zone := range t.Zones {
		for _, product := range []types.RIProductDescription{types.RIProductDescriptionLinuxUnix, types.RIProductDescriptionWindows} {
			micros := t.spotMicros(zone, since, c.Behaves.SpotVolatility)
			if product == types.RIProductDescriptionWindows {
				micros += WindowsSurcharge(t)
			}
			prices = append(prices, types.SpotPrice{
				AvailabilityZone:   &zone,
				InstanceType:       types.InstanceType(t.Name),
				ProductDescription: product,
				SpotPrice:          aws.String(Dollars(micros)),
				Timestamp:          &since,
			})
		}
	}
	return prices
}

// WindowsSurcharge is the licence's part of an hour: 0.046 $ per vCPU.
func WindowsSurcharge(t *Type) int64 { return int64(t.VCPUs) * 46_000 }

// Dollars writes micro-dollars with the six decimals that AWS uses.
func Dollars(micros int64) string {
	return strconv.FormatFloat(float64(micros)/1e6, 'f', 6, 64)
}
