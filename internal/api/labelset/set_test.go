package labelset

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

func set(t testing.TB, op api.Operator, values ...string) Set {
	t.Helper()
	s, err := New(op, values)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSet(t *testing.T) {
	in, notIn := set(t, api.OpIn, "a", "b"), set(t, api.OpNotIn, "a")
	for name, c := range map[string]struct {
		set     Set
		text    string
		has     string
		lacks   string
		missing bool
		pick    string
	}{
		"In":                     {in, "In [a, b]", "a", "c", false, "a"},
		"NotIn":                  {notIn, "NotIn [a]", "b", "a", true, "any-0"},
		"Exists":                 {Any(), "Exists", "x", "", false, "any-0"},
		"DoesNotExist":           {Missing(), "DoesNotExist", "", "a", true, ""},
		"Gt":                     {set(t, api.OpGt, "4"), "Gte 5", "5", "4", false, "5"},
		"Gte":                    {set(t, api.OpGte, "4"), "Gte 4", "4", "3", false, "4"},
		"Lt":                     {set(t, api.OpLt, "4"), "Lte 3", "3", "4", false, "0"},
		"Lte":                    {set(t, api.OpLte, "4"), "Lte 4", "4", "5", false, "0"},
		"Gt is for integers":     {set(t, api.OpGt, "4"), "Gte 5", "10", "ten", false, "5"},
		"In and NotIn":           {in.Intersect(notIn), "In [b]", "b", "a", false, "b"},
		"NotIn and NotIn":        {notIn.Intersect(set(t, api.OpNotIn, "b")), "NotIn [a, b]", "c", "b", true, "any-0"},
		"NotIn and DoesNotExist": {notIn.Intersect(Missing()), "DoesNotExist", "", "b", true, ""},
		"an interval":            {set(t, api.OpGt, "1").Intersect(set(t, api.OpLt, "4")), "from 2 to 3", "2", "4", false, "2"},
		"a hole in an interval":  {set(t, api.OpGt, "1").Intersect(set(t, api.OpNotIn, "2")), "Gte 2, NotIn [2]", "3", "2", false, "3"},
		"an empty interval":      {set(t, api.OpGt, "4").Intersect(set(t, api.OpLt, "5")), "no value", "", "4", false, ""},
		"an excluded interval":   {set(t, api.OpGt, "4").Intersect(set(t, api.OpLt, "6")).Intersect(set(t, api.OpNotIn, "5")), "no value", "", "5", false, ""},
		"Gt the largest number":  {set(t, api.OpGt, "9223372036854775807"), "no value", "", "5", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.set.String(); got != c.text {
				t.Errorf("String: got %s, want %s", got, c.text)
			}
			if c.has != "" && !c.set.Has(c.has) {
				t.Errorf("%s is not in the set", c.has)
			}
			if c.set.Has(c.lacks) && c.lacks != "" {
				t.Errorf("%s is in the set", c.lacks)
			}
			if c.set.HasMissing() != c.missing {
				t.Errorf("missing: got %v", c.set.HasMissing())
			}
			if got, ok := c.set.Pick(); got != c.pick || ok != (c.pick != "") {
				t.Errorf("Pick: got %q, want %q", got, c.pick)
			}
			if want := c.pick == "" && !c.missing; c.set.Empty() != want {
				t.Errorf("Empty: got %v", c.set.Empty())
			}
		})
	}
}

func TestSetErrors(t *testing.T) {
	for want, c := range map[string]struct {
		op     api.Operator
		values []string
	}{
		`operator "Near" is not known`:            {"Near", nil},
		`operator Gt takes one value, not 2`:      {api.OpGt, []string{"1", "2"}},
		`operator Lt takes an integer, not "two"`: {api.OpLt, []string{"two"}},
	} {
		if _, err := New(c.op, c.values); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func drawSet(r *rapid.T, label string) Set {
	op := rapid.SampledFrom([]api.Operator{api.OpIn, api.OpNotIn, api.OpExists, api.OpDoesNotExist, api.OpGt, api.OpLt, api.OpGte, api.OpLte}).Draw(r, label)
	value := rapid.Map(rapid.IntRange(0, 6), strconv.Itoa)
	var values []string
	switch op {
	case api.OpIn, api.OpNotIn:
		values = rapid.SliceOfN(rapid.OneOf(value, rapid.SampledFrom([]string{"a", "b"})), 0, 4).Draw(r, label+" values")
	case api.OpGt, api.OpLt, api.OpGte, api.OpLte:
		values = []string{value.Draw(r, label+" bound")}
	}
	s, err := New(op, values)
	if err != nil {
		r.Fatal(err)
	}
	return s
}

func TestIntersectionIsConjunction(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		a, b := drawSet(r, "a"), drawSet(r, "b")
		both := a.Intersect(b).Intersect(drawSet(r, "c"))
		ab := a.Intersect(b)
		for _, v := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "a", "b", "c"} {
			if ab.Has(v) != (a.Has(v) && b.Has(v)) {
				r.Fatalf("%s: %v and %v is %v", v, a, b, ab)
			}
		}
		if ab.HasMissing() != (a.HasMissing() && b.HasMissing()) {
			r.Fatalf("missing: %v and %v is %v", a, b, ab)
		}
		if ab.String() != b.Intersect(a).String() {
			r.Fatalf("not commutative: %v, %v", ab, b.Intersect(a))
		}
		if v, ok := both.Pick(); ok && !both.Has(v) || both.Empty() && (ok || both.HasMissing()) || !both.Empty() && !ok && !both.HasMissing() {
			r.Fatalf("picked %q of %v, empty: %v", v, both, both.Empty())
		}
	})
}
