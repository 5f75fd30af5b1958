package labelset

import (
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// FuzzSets holds that an intersection has what both sets have, and that a set which is
// not empty has the value that is picked of it.
func FuzzSets(f *testing.F) {
	f.Add(uint8(0), "a,b", uint8(1), "a", "b")
	f.Add(uint8(4), "3", uint8(5), "5", "4")
	f.Add(uint8(4), "9223372036854775807", uint8(5), "-9223372036854775808", "0")
	f.Add(uint8(6), "9223372036854775806", uint8(1), "9223372036854775807,9223372036854775806", "x")
	operators := []api.Operator{api.OpIn, api.OpNotIn, api.OpExists, api.OpDoesNotExist, api.OpGt, api.OpLt, api.OpGte, api.OpLte}
	f.Fuzz(func(t *testing.T, opA uint8, valuesA string, opB uint8, valuesB, probe string) {
		a, err := New(operators[int(opA)%len(operators)], strings.Split(valuesA, ","))
		if err != nil {
			return
		}
		b, err := New(operators[int(opB)%len(operators)], strings.Split(valuesB, ","))
		if err != nil {
			return
		}
		both := a.Intersect(b)
		for _, value := range append(strings.Split(valuesA+","+valuesB, ","), probe) {
			if both.Has(value) != (a.Has(value) && b.Has(value)) {
				t.Errorf("%s and %s are %s: has %q: %t", a, b, both, value, both.Has(value))
			}
		}
		if both.HasMissing() != (a.HasMissing() && b.HasMissing()) {
			t.Errorf("%s and %s are %s", a, b, both)
		}
		for _, s := range []Set{a, b, both} {
			value, ok := s.Pick()
			if ok && !s.Has(value) || !ok && !s.Empty() && !s.HasMissing() {
				t.Errorf("%q is picked of %s: %t", value, s, ok)
			}
		}
	})
}
