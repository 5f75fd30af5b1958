package stock

import (
	"fmt"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

func TestReadPrice(t *testing.T) {
	entry := `{"product":{"attributes":{"instanceType":"m5.large"}},"terms":{"OnDemand":{"A":{"priceDimensions":{"B":{"unit":"%s","pricePerUnit":{"%s":"%s"}}}}}}}`
	tests := map[string]struct {
		text string
		want offer.Price
	}{
		"dollars":  {fmt.Sprintf(entry, "Hrs", "USD", "0.1070000000"), 107_000},
		"yuan":     {fmt.Sprintf(entry, "Hrs", "CNY", "0.5"), 500_000},
		"per GB":   {fmt.Sprintf(entry, "GB", "USD", "0.1"), 0},
		"free":     {fmt.Sprintf(entry, "Hrs", "USD", "0"), 0},
		"no terms": {`{"product":{"attributes":{"instanceType":"m5.large"}}}`, 0},
		"nonsense": {`[`, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, got, ok := readPrice(tt.text)
			if got != tt.want || ok != (tt.want > 0) {
				t.Errorf("got %d, %t", got, ok)
			}
		})
	}
}

func TestEmbeddedPricesOfAnUnknownRegion(t *testing.T) {
	if got := embeddedPrices("mars-north-1")["m5.large"]; got != 96_000 {
		t.Errorf("price in a region without a table = %d, want that of us-east-1", got)
	}
}

// Spot prices say how much dearer a region is than that of the table, or that it has another currency.
func TestEstimatesFollowSpotPrices(t *testing.T) {
	s := &Stock{region: "cn-north-1"}
	s.hardware.value = inventory{zones: map[string][]string{}}
	for _, name := range []string{"m5.large", "m5.xlarge", "r5.large"} {
		s.hardware.value.hardware = append(s.hardware.value.hardware, offer.Hardware{Name: name})
		s.hardware.value.zones[name] = []string{"cn-north-1a"}
	}
	price := func(name string) offer.Price { return s.assemble().Regions["cn-north-1"].Sales[name].OnDemand }
	if got := price("m5.large"); got != 96_000 {
		t.Errorf("without spot prices: %d, want that of us-east-1", got)
	}
	s.spot.value = spotPrices{"m5.large": {"cn-north-1a": 480_000}, "r5.large": {"cn-north-1a": 330_000}, "x9.large": {"cn-north-1a": 9_000_000}}
	for name, want := range map[string]offer.Price{"m5.large": 480_000, "m5.xlarge": 960_000, "r5.large": 630_000} {
		if got := price(name); got != want {
			t.Errorf("%s: %d, want five times the price of us-east-1, %d", name, got, want)
		}
	}
	s.spot.value = spotPrices{"m5.large": {"cn-north-1a": 40_000}}
	if got := price("m5.large"); got != 96_000 {
		t.Errorf("with a low spot price: %d, want that of us-east-1", got)
	}
	s.onDemand.value = map[string]offer.Price{"m5.large": 70_000}
	if got := price("m5.large"); got != 70_000 {
		t.Errorf("with a published price: %d", got)
	}
}
