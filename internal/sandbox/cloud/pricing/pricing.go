// Package pricing is a model of the Price List service.
package pricing

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/pricing/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/catalogue"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/wire"
)

// Pricing is the service with the prices of instance types.
type Pricing struct {
	*account.Account
	types  *catalogue.Catalogue
	prices priceLists
}

// New returns the service.
func New(a *account.Account, types *catalogue.Catalogue) *Pricing {
	return &Pricing{Account: a, types: types}
}

// Codes that the price list uses for every on-demand price per hour.
const (
	onDemandTerm   = "JRTCKXETXF"
	hourlyRateCode = "6YS6EN2CT7"
)

// Service returns the calls that it answers.
func (c *Pricing) Service() *account.Service {
	s := &account.Service{
		Target:     "AWSPriceListService",
		Name:       "pricing",
		Protocol:   account.JSONProtocol{Names: wire.PascalNames, ContentType: "application/x-amz-json-1.1"},
		Words:      account.JSONDialect(),
		Operations: map[string]account.Operation{},
	}
	account.AddOnAnything(s, c, (*Pricing).getProducts)
	return s
}

// product is one line of the price list.
type product struct {
	attributes map[string]string
	micros     int64
	sku        string
}

// priceLists keeps the list, which does not change while the cloud runs.
type priceLists struct{ ec2 []product }

// products returns the on-demand prices of all types in the region, for each
// operating system.
func (c *Pricing) products() []product {
	if c.prices.ec2 != nil {
		return c.prices.ec2
	}
	for _, t := range c.types.Sorted {
		for _, system := range []string{"Linux", "Windows"} {
			micros := t.OnDemandMicros
			if system == "Windows" {
				micros += catalogue.WindowsSurcharge(t)
			}
			c.prices.ec2 = append(c.prices.ec2, product{
				attributes: c.productAttributes(t, system), micros: micros,
				sku: strings.ToUpper(strings.TrimPrefix(account.FixedID("p", t.Name+system+c.Region), "p-0")),
			})
		}
	}
	return c.prices.ec2
}

func (c *Pricing) productAttributes(t *catalogue.Type, system string) map[string]string {
	currentGeneration, operation := "No", "RunInstances"
	if t.CurrentGeneration {
		currentGeneration = "Yes"
	}
	if system == "Windows" {
		operation = "RunInstances:0002"
	}
	return map[string]string{
		"productFamily": "Compute Instance", "servicecode": "AmazonEC2", "servicename": "Amazon Elastic Compute Cloud", "location": locationOf(c.Region), "locationType": "AWS Region",
		"regionCode": c.Region, "instanceType": t.Name, "currentGeneration": currentGeneration, "vcpu": strconv.Itoa(int(t.VCPUs)),
		"memory": strconv.FormatFloat(float64(t.MemoryMiB)/1024, 'f', -1, 64) + " GiB", "tenancy": "Shared", "operatingSystem": system,
		"licenseModel": "No License required", "preInstalledSw": "NA", "capacitystatus": "Used", "marketoption": "OnDemand",
		"operation": operation, "usagetype": "BoxUsage:" + t.Name,
	}
}

// locationOf returns the price list's name of a region.
func locationOf(region string) string {
	names := map[string]string{
		"us-east-1": "US East (N. Virginia)", "us-east-2": "US East (Ohio)", "us-west-1": "US West (N. California)", "us-west-2": "US West (Oregon)",
		"eu-west-1": "EU (Ireland)", "eu-west-2": "EU (London)", "eu-central-1": "EU (Frankfurt)",
	}
	if name, ok := names[region]; ok {
		return name
	}
	return region
}

func (c *Pricing) getProducts(_ *account.Caller, in *pricing.GetProductsInput) (*pricing.GetProductsOutput, error) {
	if account.Deref(in.ServiceCode) == "" {
		return nil, account.Fail("InvalidParameterException", "ServiceCode is required")
	}
	if *in.ServiceCode != "AmazonEC2" {
		return nil, account.Fail("NotFoundException", "No products of service %s", *in.ServiceCode)
	}
	var kept []product
	for _, p := range c.products() {
		ok, err := p.matches(in.Filters)
		if err != nil {
			return nil, err
		}
		if ok {
			kept = append(kept, p)
		}
	}
	part, next, err := account.Page(kept, in.NextToken, in.MaxResults, 100)
	if err != nil {
		return nil, account.Fail("InvalidNextTokenException", "The pagination token is invalid.")
	}
	out := &pricing.GetProductsOutput{FormatVersion: aws.String("aws_v1"), NextToken: next, PriceList: []string{}}
	for _, p := range part {
		text, err := p.priceList(c.Now().UTC().Format("2006-01-02T15:04:05Z"))
		if err != nil {
			return nil, err
		}
		out.PriceList = append(out.PriceList, text)
	}
	return out, nil
}

// matches tells whether all filters hold; a field that products do not have
// matches nothing.
func (p product) matches(filters []types.Filter) (bool, error) {
	for _, f := range filters {
		value, known := p.attributes[account.Deref(f.Field)]
		ok, err := fieldMatches(f, value)
		if err != nil {
			return false, err
		}
		if !known || !ok {
			return false, nil
		}
	}
	return true, nil
}

func fieldMatches(f types.Filter, value string) (bool, error) {
	wanted := account.Deref(f.Value)
	switch f.Type {
	case types.FilterTypeTermMatch, types.FilterTypeEquals:
		return strings.EqualFold(value, wanted), nil
	case types.FilterTypeContains:
		return strings.Contains(value, wanted), nil
	case types.FilterTypeAnyOf, types.FilterTypeNoneOf:
		listed := false
		for one := range strings.SplitSeq(wanted, ",") {
			listed = listed || strings.EqualFold(value, one)
		}
		return listed == (f.Type == types.FilterTypeAnyOf), nil
	}
	return false, account.Fail("InvalidParameterException", "Filter type %s is not valid", f.Type)
}

// priceList writes the product as the service does.
func (p product) priceList(published string) (string, error) {
	offer := p.sku + "." + onDemandTerm
	rate := offer + "." + hourlyRateCode
	text, err := json.Marshal(map[string]any{
		"product":     map[string]any{"productFamily": "Compute Instance", "sku": p.sku, "attributes": p.attributes},
		"serviceCode": "AmazonEC2", "version": strings.NewReplacer("-", "", ":", "", "T", "", "Z", "").Replace(published), "publicationDate": published,
		"terms": map[string]any{"OnDemand": map[string]any{offer: map[string]any{
			"sku": p.sku, "offerTermCode": onDemandTerm, "effectiveDate": published, "termAttributes": map[string]string{},
			"priceDimensions": map[string]any{rate: map[string]any{
				"rateCode": rate, "unit": "Hrs", "beginRange": "0", "endRange": "Inf", "appliesTo": []string{},
				"description":  fmt.Sprintf("$%s per On Demand %s %s Instance Hour", catalogue.Dollars(p.micros), p.attributes["operatingSystem"], p.attributes["instanceType"]),
				"pricePerUnit": map[string]string{"USD": strconv.FormatFloat(float64(p.micros)/1e6, 'f', 10, 64)},
			}},
		}}},
	})
	if err != nil {
		return "", fmt.Errorf("write price of %s: %w", p.attributes["instanceType"], err)
	}
	return string(text), nil
}
