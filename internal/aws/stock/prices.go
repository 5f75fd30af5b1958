package stock

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/pricing/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// priceList reads the region's on-demand prices from the Pricing API.
type priceList struct {
	client *pricing.Client
	region string
}

// pricingRegions are the few regions that have a Pricing API, by how the names of regions begin for
// which it is the nearest. No partition has the prices of another, and GovCloud has no Pricing API.
var pricingRegions = []struct{ prefix, region string }{
	{"us-gov-", ""},
	{"cn-", "cn-northwest-1"},
	{"eusc-", "eusc-de-east-1"},
	{"eu-isoe-", "eu-isoe-west-1"},
	{"us-iso-", "us-iso-east-1"},
	{"us-isob-", "us-isob-east-1"},
	{"us-isof-", "us-isof-south-1"},
	{"ap-", "ap-south-1"},
	{"eu-", "eu-central-1"},
	{"", "us-east-1"},
}

// newPriceList returns the price list of the configuration's region, or nil if there is none.
func newPriceList(cfg awssdk.Config) *priceList {
	at := slices.IndexFunc(pricingRegions, func(p struct{ prefix, region string }) bool { return strings.HasPrefix(cfg.Region, p.prefix) })
	nearest := pricingRegions[at].region
	if nearest == "" {
		return nil
	}
	client := pricing.NewFromConfig(cfg, func(o *pricing.Options) { o.Region = nearest })
	return &priceList{client: client, region: cfg.Region}
}

// get returns the prices of Linux machines by instance type. The price list has bare metal
// under dedicated tenancy. It calls answered whenever a part of the list has come.
func (l *priceList) get(ctx context.Context, answered func()) (map[string]offer.Price, error) {
	out := map[string]offer.Price{}
	for _, filters := range [][]types.Filter{
		{term("tenancy", "Shared")},
		{term("tenancy", "Dedicated"), term("productFamily", "Compute Instance (bare metal)")},
	} {
		if err := l.read(ctx, filters, out, answered); err != nil {
			return nil, fmt.Errorf("get prices of %s: %w", l.region, err)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("get prices of %s: there are none", l.region)
	}
	return out, nil
}

func (l *priceList) read(ctx context.Context, filters []types.Filter, into map[string]offer.Price, answered func()) error {
	in := &pricing.GetProductsInput{
		ServiceCode:   awssdk.String("AmazonEC2"),
		FormatVersion: awssdk.String("aws_v1"),
		Filters: append(filters,
			term("regionCode", l.region),
			term("operatingSystem", "Linux"),
			term("preInstalledSw", "NA"),
			term("capacitystatus", "Used"),
			term("marketoption", "OnDemand"),
		),
	}
	return client.EachPage(ctx, pricing.NewGetProductsPaginator(l.client, in), func(page *pricing.GetProductsOutput) {
		answered()
		for _, text := range page.PriceList {
			if name, price, ok := readPrice(text); ok {
				into[name] = price
			}
		}
	})
}

func term(field, value string) types.Filter {
	return types.Filter{Type: types.FilterTypeTermMatch, Field: &field, Value: &value}
}

// priceDocument has the fields of a price list entry that are used.
type priceDocument struct {
	Product struct {
		Attributes struct {
			InstanceType string `json:"instanceType"`
		} `json:"attributes"`
	} `json:"product"`
	Terms struct {
		OnDemand map[string]struct {
			PriceDimensions map[string]struct {
				Unit         string            `json:"unit"`
				PricePerUnit map[string]string `json:"pricePerUnit"`
			} `json:"priceDimensions"`
		}
	} `json:"terms"`
}

// readPrice reads one entry: the highest price per hour, in the currency of the AWS
// partition. It is not ok if the entry has none above zero.
func readPrice(text string) (instanceType string, price offer.Price, ok bool) {
	var d priceDocument
	if err := json.Unmarshal([]byte(text), &d); err != nil || d.Product.Attributes.InstanceType == "" {
		return "", 0, false
	}
	for _, offered := range d.Terms.OnDemand {
		for _, dimension := range offered.PriceDimensions {
			if dimension.Unit != "" && !strings.EqualFold(dimension.Unit, "Hrs") {
				continue
			}
			for _, currency := range []string{"USD", "CNY", "EUR"} {
				if p, err := offer.ParsePrice(dimension.PricePerUnit[currency]); err == nil && p > 0 {
					price = max(price, p)
				}
			}
		}
	}
	return d.Product.Attributes.InstanceType, price, price > 0
}
