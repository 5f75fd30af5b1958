package customresource

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
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
		found           finding.Finding
		summary, detail string
	}{
		"an attribute":          {finding.Finding{Path: "spec.weight", Text: finding.Say("too heavy"), Advice: finding.Say("try 1")}, "weight: too heavy", "Try 1."},
		"a question":            {finding.Finding{Path: "spec.weight", Text: finding.Say("is odd"), Advice: finding.Say("did you mean 1?")}, "weight: is odd", "Did you mean 1?"},
		"names of other fields": {finding.Finding{Path: "spec.weight", Text: finding.Say("excludes %s of %q and %s, but not %s", finding.Field{Path: "spec.maxPods", Name: "maxPods"}, "maxPods", finding.Field{Path: "spec.weight"}, finding.Field{Path: "spec.other"})}, `weight: excludes max_pods of "maxPods" and weight, but not spec.other`, ""},
		"the name":              {finding.Finding{Path: "metadata.name", Text: finding.Say("too long")}, "name: too long", ""},
		"the whole object":      {finding.Finding{Path: "spec", Text: finding.Say("is empty")}, "is empty", ""},
		"what is not known yet": {finding.Finding{Path: "spec.maxPods", Text: finding.Say("too many")}, "", ""},
		"what has no path":      {finding.Finding{Text: finding.Say("cannot be read")}, "cannot be read", ""},
		"what is no attribute":  {finding.Finding{Path: "spec.other", Text: finding.Say("is odd")}, "is odd", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := in.translate(tt.found)
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
