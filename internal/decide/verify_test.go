package decide

import (
	"testing"
)

// verify checks a plan against its input from scratch.
func verify(t testing.TB, in *Input, p *Plan) {
	t.Helper()
	if p.LowerBound > p.HourlyPrice {
		t.Errorf("the lower bound %d is above the price %d", p.LowerBound, p.HourlyPrice)
	}
}
