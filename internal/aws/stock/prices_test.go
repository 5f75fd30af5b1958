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
