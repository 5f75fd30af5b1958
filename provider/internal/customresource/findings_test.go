package customresource

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
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
		found           api.Finding
		summary, detail string
	}{
		"an attribute":          {api.Finding{Path: "spec.weight", Text: "too heavy", Advice: "try 1"}, "weight: too heavy", "Try 1."},
		"a question":            {api.Finding{Path: "spec.weight", Text: "is odd", Advice: "did you mean 1?"}, "weight: is odd", "Did you mean 1?"},
		"names of other fields": {api.Finding{Path: "spec.weight", Text: "excludes maxPods of \"maxPods\" and spec.weight"}, `weight: excludes max_pods of "maxPods" and weight`, ""},
		"the name":              {api.Finding{Path: "metadata.name", Text: "too long"}, "name: too long", ""},
		"the whole object":      {api.Finding{Path: "spec", Text: "is empty"}, "is empty", ""},
		"what is not known yet": {api.Finding{Path: "spec.maxPods", Text: "too many"}, "", ""},
		"what has no path":      {api.Finding{Text: "cannot be read"}, "cannot be read", ""},
		"what is no attribute":  {api.Finding{Path: "spec.other", Text: "is odd"}, "is odd", ""},
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
