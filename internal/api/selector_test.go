package api

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

// TestSelector holds that Kubernetes reads the selectors as what the requirements mean.
func TestSelector(t *testing.T) {
	for _, c := range []struct {
		operator    Operator
		values      []string
		want        string
		matches     string
		matchesNot  string
		withoutToo  bool // nodes without the label match
		onlyWithout bool
	}{
		{operator: OpIn, values: []string{"on-demand", "spot"}, want: "a.b/c in (on-demand,spot)", matches: "spot", matchesNot: "other"},
		{operator: OpIn, values: []string{""}, want: "a.b/c in ()", matches: "", matchesNot: "x"},
		{operator: OpNotIn, values: []string{"spot"}, want: "a.b/c notin (spot)", matches: "other", matchesNot: "spot", withoutToo: true},
		{operator: OpExists, want: "a.b/c", matches: "x"},
		{operator: OpDoesNotExist, want: "!a.b/c", matchesNot: "x", onlyWithout: true},
		{operator: OpGt, values: []string{"4"}, want: "a.b/c>4", matches: "5", matchesNot: "4"},
		{operator: OpLt, values: []string{"4"}, want: "a.b/c<4", matches: "3", matchesNot: "4"},
		{operator: OpGte, values: []string{"4"}, want: "a.b/c>3", matches: "4", matchesNot: "3"},
		{operator: OpGte, values: []string{"0"}, want: "a.b/c", matches: "0"},
		{operator: OpLte, values: []string{"4"}, want: "a.b/c<5", matches: "4", matchesNot: "5"},
	} {
		got := Requirement{Key: "a.b/c", Operator: c.operator, Values: c.values}.Selector()
		if got != c.want {
			t.Errorf("%s %q = %q, want %q", c.operator, c.values, got, c.want)
		}
		selector, err := labels.Parse(got)
		if err != nil {
			t.Errorf("%q: %v", got, err)
			continue
		}
		if !c.onlyWithout && !selector.Matches(labels.Set{"a.b/c": c.matches}) {
			t.Errorf("%q does not match %q", got, c.matches)
		}
		if c.matchesNot != "" && selector.Matches(labels.Set{"a.b/c": c.matchesNot}) {
			t.Errorf("%q matches %q", got, c.matchesNot)
		}
		if without := c.withoutToo || c.onlyWithout; selector.Matches(labels.Set{}) != without {
			t.Errorf("%q matches nodes without the label: %v, want %v", got, !without, without)
		}
	}
	for _, broken := range []Requirement{{Key: "a", Operator: OpGt}, {Key: "a", Operator: OpLte, Values: []string{"x"}}, {Key: "a"}} {
		if got := broken.Selector(); got == "" {
			t.Errorf("%v has no selector", broken)
		}
	}
}
