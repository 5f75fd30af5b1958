package provider

import (
	"errors"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

func TestTranslate(t *testing.T) {
	typ := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"weight": tftypes.Number, "max_pods": tftypes.Number}}
	codec := wire.Codec{}
	doc, err := codec.Encode(tftypes.NewValue(typ, map[string]tftypes.Value{
		"weight": tftypes.NewValue(tftypes.Number, 1), "max_pods": tftypes.NewValue(tftypes.Number, tftypes.UnknownValue),
	}))
	if err != nil {
		t.Fatal(err)
	}
	in := translator{codec, typ, doc}
	tests := map[string]struct {
		found           finding
		summary, detail string
	}{
		"an attribute":           {finding{path: "spec.weight", text: "too heavy; try 1"}, "weight: too heavy", "Try 1."},
		"advice of its own":      {finding{"spec.weight", "is odd", "Correct it."}, "weight: is odd", "Correct it."},
		"names of other fields":  {finding{path: "spec.weight", text: "excludes maxPods of \"maxPods\" and spec.weight"}, `weight: excludes max_pods of "maxPods" and weight`, ""},
		"the name":               {finding{path: "metadata.name", text: "too long"}, "name: too long", ""},
		"the whole object":       {finding{path: "spec", text: "is empty"}, "is empty", ""},
		"what is not known yet":  {finding{path: "spec.maxPods", text: "too many"}, "", ""},
		"what has no path":       {finding{path: "", text: "cannot be read"}, "cannot be read", ""},
		"what is no attribute":   {finding{path: "spec.other", text: "is odd"}, "is odd", ""},
		"a path in some message": {splitFindings([]string{"spec.weight: 3: out of range"})[0], "weight: 3: out of range", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := in.translate(tt.found, diag.SeverityError)
			if tt.summary == "" {
				if got != nil {
					t.Fatalf("diagnostic = %v, want none", got)
				}
				return
			}
			if got.Summary() != tt.summary || got.Detail() != tt.detail {
				t.Errorf("diagnostic = %q, %q, want %q, %q", got.Summary(), got.Detail(), tt.summary, tt.detail)
			}
		})
	}
}

func TestSplitErrors(t *testing.T) {
	got := splitErrors(errors.Join(errors.New("spec.weight: not a number"), errors.New("spec.a: b")))
	if len(got) != 2 || got[0] != (finding{"spec.weight", "not a number", correct}) || got[1] != (finding{"spec.a", "b", correct}) {
		t.Errorf("findings = %v", got)
	}
	if got := splitErrors(errors.New("kind: not ours")); len(got) != 1 || got[0].path != "kind" {
		t.Errorf("findings of a single error = %v", got)
	}
}
