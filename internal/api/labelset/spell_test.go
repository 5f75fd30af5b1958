package labelset

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// TestSpellMeansTheSame draws conjunctions and reads back what they are spelt as.
func TestSpellMeansTheSame(t *testing.T) {
	operators := []api.Operator{api.OpIn, api.OpNotIn, api.OpExists, api.OpDoesNotExist, api.OpGt, api.OpLt, api.OpGte, api.OpLte}
	rapid.Check(t, func(t *rapid.T) {
		set := Set{complement: true, absent: true}
		for range rapid.IntRange(1, 3).Draw(t, "requirements") {
			op := rapid.SampledFrom(operators).Draw(t, "operator")
			values := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"0", "1", "2", "3", "9"}), 1, 3, rapid.ID).Draw(t, "values")
			if op == api.OpGt || op == api.OpLt || op == api.OpGte || op == api.OpLte {
				values = values[:1]
			}
			next, err := New(op, values)
			if err != nil {
				t.Fatal(err)
			}
			set = set.Intersect(next)
		}
		if set.Empty() {
			if spelt := set.Spell("k"); spelt != nil {
				t.Fatalf("an empty set is spelt as %v", spelt)
			}
			return
		}
		again := Set{complement: true, absent: true}
		for _, r := range set.Spell("k") {
			next, err := New(r.Operator, r.Values)
			if err != nil {
				t.Fatal(err)
			}
			again = again.Intersect(next)
		}
		for n := range 12 {
			if value := strconv.Itoa(n); set.Has(value) != again.Has(value) {
				t.Fatalf("%s: %q, spelt as %v: %q", set, value, set.Spell("k"), again)
			}
		}
		if set.HasMissing() != again.HasMissing() || set.Has("x") != again.Has("x") {
			t.Fatalf("%s is spelt as %v", set, set.Spell("k"))
		}
	})
}
