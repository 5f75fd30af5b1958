package catalogue

import (
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
)

// Spot prices are below the on-demand price, are the same whenever they are asked for, and move
// by at most the volatility.
func TestSpotPrices(t *testing.T) {
	typ := &Type{Name: "m5.large", OnDemandMicros: 107_000, spotSavings: 0.5}
	still := typ.spotMicros("eu-west-1a", time.Unix(0, 0), 0)
	if still <= 0 || still >= typ.OnDemandMicros {
		t.Errorf("a spot machine costs %d, on demand it costs %d", still, typ.OnDemandMicros)
	}
	moved := false
	for hour := range 48 {
		at := time.Unix(0, 0).Add(time.Duration(hour) * time.Hour)
		if got := typ.spotMicros("eu-west-1a", at, 0); got != still {
			t.Errorf("without volatility the price is %d after %d hours, want %d", got, hour, still)
		}
		const volatility = 0.2
		got := typ.spotMicros("eu-west-1a", at, volatility)
		if again := typ.spotMicros("eu-west-1a", at.Add(59*time.Minute), volatility); again != got {
			t.Errorf("the price is %d and %d in the same hour", got, again)
		}
		if low, high := float64(still)*(1-volatility)-100, float64(still)*(1+volatility)+100; float64(got) < low || float64(got) > high {
			t.Errorf("the price moved from %d to %d, more than %g", still, got, volatility)
		}
		moved = moved || got != still
	}
	if !moved {
		t.Error("with volatility the price stands still")
	}
}

// Prices that hold in a span of time begin before it, and are listed latest first.
func TestPriceChanges(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)
	a := account.New(account.Identity{Region: "eu-west-1", Now: func() time.Time { return now }})
	c, err := New(a, nil)
	if err != nil {
		t.Fatal(err)
	}
	a.Behaves.SpotVolatility = 0.1
	start := now.Add(-2 * time.Hour)
	moments, err := c.priceChanges(&start, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []time.Time{now.Truncate(time.Hour), now.Truncate(time.Hour).Add(-time.Hour), now.Truncate(time.Hour).Add(-2 * time.Hour)}
	if len(moments) != len(want) {
		t.Fatalf("changes at %v, want %v", moments, want)
	}
	for i := range want {
		if !moments[i].Equal(want[i]) {
			t.Errorf("change %d at %v, want %v", i, moments[i], want[i])
		}
	}
	end := start.Add(-time.Hour)
	if _, err := c.priceChanges(&start, &end); err == nil {
		t.Error("a span that ends before it starts is no error")
	}
}
