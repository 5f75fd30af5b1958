package stock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

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
		"euros":    {fmt.Sprintf(entry, "Hrs", "EUR", "0.5"), 500_000},
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
	if got, own := embeddedPrices("mars-north-1"); got["m5.large"] != 96_000 || own {
		t.Errorf("price in a region without a table = %d, want that of us-east-1", got["m5.large"])
	}
}

// Prices come from the Pricing API of the region's partition. GovCloud has none, so that nothing is asked.
func TestPricingRegions(t *testing.T) {
	for region, want := range map[string]string{
		"us-west-2": "us-east-1", "sa-east-1": "us-east-1", "eu-west-1": "eu-central-1", "ap-east-1": "ap-south-1", "cn-north-1": "cn-northwest-1",
		"eusc-de-east-1": "eusc-de-east-1", "us-iso-west-1": "us-iso-east-1", "us-isob-east-1": "us-isob-east-1", "us-gov-west-1": "",
	} {
		got, list := "", newPriceList(awssdk.Config{Region: region})
		if list != nil {
			got = list.client.Options().Region
		}
		if got != want {
			t.Errorf("%s: the prices are those of the Pricing API in %q, want %q", region, got, want)
		}
	}
	s := New(nil, awssdk.Config{Region: "us-gov-west-1"}, true, time.Now)
	s.ReadPrices(t.Context())
	if got := s.Estimate(); got != "the AWS partition of us-gov-west-1 has no Pricing API" {
		t.Errorf("estimate: %s", got)
	}
}

// Spot prices say how much more a region costs than that of the table, or that it has another currency.
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

// In a region of the table, one type whose spot price is above its old price says nothing about the others.
func TestEstimatesInRegionsOfTheTable(t *testing.T) {
	table, own := embeddedPrices("us-east-1")
	spot := spotPrices{"m5.large": {"us-east-1a": 480_000, "us-east-1b": 500_000, "us-east-1c": 10_000}, "r5.large": {"us-east-1a": 10_000}, "x9.large": {"us-east-1a": 1}}
	got := estimates(table, own, spot)
	for name, want := range map[string]offer.Price{"m5.large": 500_000, "m5.xlarge": 192_000, "r5.large": 126_000, "x9.large": 0} {
		if got[name] != want {
			t.Errorf("%s: %d, want %d", name, got[name], want)
		}
	}
}

// A price list that is denied is not asked for every few seconds for ever.
func TestReadsThatKeepFailingBecomeRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Stock{now: time.Now}
		asked := 0
		denied := func(context.Context) (map[string]offer.Price, error) { asked++; return nil, errors.New("denied") }
		look := func(d time.Duration) int {
			asked = 0
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
				s.mu.Lock()
				refreshLocked(t.Context(), s, &s.onDemand, onDemandDue, denied)
				s.mu.Unlock()
			}
			synctest.Wait()
			return asked
		}
		if n := look(time.Minute); n != 3 {
			t.Errorf("%d reads in the first minute, want 3", n)
		}
		look(2 * time.Hour)
		if n := look(24 * time.Hour); n > 48 {
			t.Errorf("%d reads in a day", n)
		}
		refresh(t.Context(), s, &s.onDemand, func(context.Context) (map[string]offer.Price, error) { return nil, nil })
		time.Sleep(onDemandDue)
		if n := look(time.Minute); n != 3 {
			t.Errorf("%d reads in a minute after a success, want 3", n)
		}
	})
}

// answers is an HTTP client whose answers take their time.
type answers func(req *http.Request) *http.Response

func (a answers) Do(req *http.Request) (*http.Response, error) {
	if out := a(req); out != nil {
		return out, nil
	}
	return nil, req.Context().Err()
}

// A plan does not wait long for a Pricing API to which there is no route, but for a long list.
func TestReadPricesWaitsForAnswers(t *testing.T) {
	const page = `{"PriceList":["{\"product\":{\"attributes\":{\"instanceType\":\"m5.large\"}},\"terms\":{\"OnDemand\":{\"A\":{\"priceDimensions\":{\"B\":{\"pricePerUnit\":{\"USD\":\"0.2\"}}}}}}}"]%s}`
	pages := 0
	for name, tt := range map[string]struct {
		client answers
		took   time.Duration
		want   string // the estimate
	}{
		"no route": {func(req *http.Request) *http.Response { <-req.Context().Done(); return nil }, firstAnswer,
			"get prices of eu-west-1: the Pricing API did not answer within 5s"},
		"a long list": {func(*http.Request) *http.Response {
			time.Sleep(4 * time.Second)
			next := ""
			if pages++; pages < 10 {
				next = fmt.Sprintf(`,"NextToken":"%d"`, pages)
			}
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(fmt.Sprintf(page, next)))}
		}, 11 * 4 * time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(nil, awssdk.Config{Region: "eu-west-1", HTTPClient: tt.client, Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "")}, true, time.Now)
				began := time.Now()
				s.ReadPrices(t.Context())
				if took := time.Since(began); took != tt.took {
					t.Errorf("it took %s, want %s", took, tt.took)
				}
				if got := s.Estimate(); got != tt.want {
					t.Errorf("estimate: %q, want %q", got, tt.want)
				}
			})
		})
	}
}
