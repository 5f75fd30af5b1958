package cloud

import (
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// spotPriceAge is how long ago the present spot prices began to hold.
const spotPriceAge = 2 * time.Hour

func (c *Cloud) describeSpotPriceHistory(_ *call, in *ec2.DescribeSpotPriceHistoryInput) (*ec2.DescribeSpotPriceHistoryOutput, error) {
	since := c.now().Add(-spotPriceAge).Truncate(time.Hour)
	var history []types.SpotPrice
	for _, t := range c.catalogue.sorted {
		wanted := len(in.InstanceTypes) == 0 || slices.Contains(in.InstanceTypes, types.InstanceType(t.name))
		if !wanted || !t.supports(capacitySpot) {
			continue
		}
		history = append(history, spotPrices(t, since)...)
	}
	products := in.ProductDescriptions
	kept, err := selected(history, in.Filters, func(p types.SpotPrice) attributes {
		return attributes{
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
	part, next, err := page(kept, in.NextToken, in.MaxResults, 1000)
	if err != nil {
		return nil, err
	}
	return &ec2.DescribeSpotPriceHistoryOutput{SpotPriceHistory: part, NextToken: next}, nil
}

func spotPrices(t *instanceType, since time.Time) []types.SpotPrice {
	var prices []types.SpotPrice
	for _, zone := range t.zones {
		for _, product := range []types.RIProductDescription{types.RIProductDescriptionLinuxUnix, types.RIProductDescriptionWindows} {
			micros := t.priceMicros(zone, capacitySpot)
			if product == types.RIProductDescriptionWindows {
				micros += windowsSurcharge(t)
			}
			prices = append(prices, types.SpotPrice{
				AvailabilityZone:   &zone,
				InstanceType:       types.InstanceType(t.name),
				ProductDescription: product,
				SpotPrice:          aws.String(dollars(micros)),
				Timestamp:          &since,
			})
		}
	}
	return prices
}

// windowsSurcharge is the licence's part of an hour: 0.046 $ per vCPU.
func windowsSurcharge(t *instanceType) int64 { return int64(t.vcpus) * 46_000 }

// dollars writes micro-dollars with the six decimals that AWS uses.
func dollars(micros int64) string {
	return strconv.FormatFloat(float64(micros)/1e6, 'f', 6, 64)
}
