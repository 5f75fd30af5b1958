package main

import (
	"bytes"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/cloudtest"
)

func TestCatalogueCanBeReadAgain(t *testing.T) {
	account := cloudtest.Start(t)
	key, secret := account.AdminCredentials()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": *account.Config.BaseEndpoint, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "AWS_PROFILE": "", "AWS_SESSION_TOKEN": "",
	} {
		t.Setenv(name, value)
	}
	var out bytes.Buffer
	root := rootCommand()
	root.SetArgs([]string{"catalogue", "--region", "eu-west-1"})
	root.SetOut(&out)
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := offer.ReadCatalogue(&out)
	if err != nil {
		t.Fatal(err)
	}
	region, err := got.Region("eu-west-1")
	if err != nil {
		t.Fatal(err)
	}
	if sale := region.Sales["m5.large"]; got.Source != "EC2" || got.At.IsZero() || sale.OnDemand == 0 || sale.Estimate || len(sale.Spot) != 3 {
		t.Errorf("catalogue of %s at %s sells m5.large as %+v", got.Source, got.At, sale)
	}
}
