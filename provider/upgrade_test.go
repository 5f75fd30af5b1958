package provider_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
)

// The states in testdata/states were written by the provider with the version of the
// schema that a file's name says: the last commit of each version applied one of each
// resource that it had. A file is added whenever the version grows, and none is changed.
//
// This provider reads all of them. Each attribute that it still has keeps its value, but
// for two that an older version wrote in a form that no longer holds: effective
// requirements, which a refresh writes again, and keep_crds = false, which a version
// wrote where nobody had asked for it.
func TestUpgradeState(t *testing.T) {
	server := configured(t)
	schemas := schemasOf(t, server)
	for version := range int64(lifecycle.SchemaVersion + 1) {
		path := fmt.Sprintf("testdata/states/%d.json", version)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("each version of the schema has a state that it wrote: %v", err)
		}
		var states map[string]map[string]any
		if err := json.Unmarshal(text, &states); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for resource, state := range states {
			t.Run(fmt.Sprintf("%s of version %d", resource, version), func(t *testing.T) {
				typ := schemas.ResourceSchemas[resource].ValueType().(tftypes.Object)
				got := upgrade(t, server, typ, resource, version, state)
				for name, want := range state {
					now := got[name]
					switch {
					case typ.AttributeTypes[name] == nil:
						t.Errorf("the attribute %s is gone", name)
					case name == "effective_requirements" || name == "keep_crds" && want == false:
						if version < lifecycle.SchemaVersion && now != nil {
							t.Errorf("%s = %v, want nothing until the refresh", name, now)
						}
					default:
						if diff := cmp.Diff(withoutNulls(want), now); diff != "" {
							t.Errorf("%s (-as it was written +as it is read):\n%s", name, diff)
						}
					}
				}
			})
		}
	}
}

// upgrade lets the provider read a state, and returns it as JSON has it.
func upgrade(t *testing.T, server tfprotov6.ProviderServer, typ tftypes.Type, resource string, version int64, state map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.UpgradeResourceState(t.Context(), &tfprotov6.UpgradeResourceStateRequest{
		TypeName: resource, Version: version, RawState: &tfprotov6.RawState{JSON: text},
	})
	if err != nil || len(resp.Diagnostics) > 0 {
		t.Fatalf("upgrade: %v %v", err, resp.Diagnostics)
	}
	value, err := resp.UpgradedState.Unmarshal(typ)
	if err != nil {
		t.Fatal(err)
	}
	return plainValue(t, value).(map[string]any)
}

// withoutNulls leaves out the members of objects that are null: new attributes are.
func withoutNulls(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, member := range value {
			if member != nil {
				out[name] = withoutNulls(member)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, element := range value {
			out = append(out, withoutNulls(element))
		}
		return out
	}
	return value
}

// plainValue returns a known value as the JSON of a state has it, without nulls.
func plainValue(t *testing.T, value tftypes.Value) any {
	t.Helper()
	if value.IsNull() {
		return nil
	}
	as := func(target any) {
		if err := value.As(target); err != nil {
			t.Fatal(err)
		}
	}
	switch typ := value.Type(); {
	case typ.Is(tftypes.String):
		var text string
		as(&text)
		return text
	case typ.Is(tftypes.Bool):
		var is bool
		as(&is)
		return is
	case typ.Is(tftypes.Number):
		var number big.Float
		as(&number)
		plain, _ := number.Float64()
		return plain
	case typ.Is(tftypes.Object{}) || typ.Is(tftypes.Map{}):
		var members map[string]tftypes.Value
		as(&members)
		out := map[string]any{}
		for name, member := range members {
			if !member.IsNull() {
				out[name] = plainValue(t, member)
			}
		}
		return out
	default:
		var elements []tftypes.Value
		as(&elements)
		out := []any{}
		for _, element := range elements {
			out = append(out, plainValue(t, element))
		}
		return out
	}
}
