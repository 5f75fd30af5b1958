package provider

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/customresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/resource/nodeprofile"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/resource/provisioner"
)

func schemas(t *testing.T) *tfprotov6.GetProviderSchemaResponse {
	t.Helper()
	got, err := providerserver.NewProtocol6(New("test", nil)())().GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil || len(got.Diagnostics) > 0 {
		t.Fatalf("schema: %v %v", err, got.Diagnostics)
	}
	return got
}

func TestEveryAttributeIsDescribed(t *testing.T) {
	got := schemas(t)
	check := func(resource string, attributes []*tfprotov6.SchemaAttribute) {
		var walk func(string, []*tfprotov6.SchemaAttribute)
		walk = func(at string, attributes []*tfprotov6.SchemaAttribute) {
			for _, a := range attributes {
				if a.Description == "" || !strings.HasSuffix(a.Description, ".") {
					t.Errorf("%s.%s is not described in a sentence: %q", at, a.Name, a.Description)
				}
				if a.NestedType != nil {
					walk(at+"."+a.Name, a.NestedType.Attributes)
				}
			}
		}
		walk(resource, attributes)
	}
	check("provider", got.Provider.Block.Attributes)
	for name, schema := range got.ResourceSchemas {
		check(name, schema.Block.Attributes)
	}
}

// fieldsOf lists the JSON paths of all leaves of a type.
func fieldsOf(t reflect.Type, at string) []string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[runtime.RawExtension]() {
		t = reflect.TypeFor[api.NodeProfile]()
	}
	ours := t.PkgPath() == reflect.TypeFor[api.Provisioner]().PkgPath()
	leaf := !ours && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
	switch {
	case t.Kind() == reflect.Slice:
		return fieldsOf(t.Elem(), at)
	case t.Kind() != reflect.Struct || leaf:
		return []string{at}
	}
	var out []string
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "timeAdded" || name == "-" {
			continue // Kubernetes sets it, or only the agent does
		}
		out = append(out, fieldsOf(field.Type, at+"."+name)...)
	}
	return out
}

// attributesIn lists the JSON paths of all leaves of a schema.
func attributesIn(codec wire.Codec, typ tftypes.Type, at string) []string {
	switch typ := typ.(type) {
	case tftypes.List:
		return attributesIn(codec, typ.ElementType, at)
	case tftypes.Object:
		var out []string
		for name, inner := range typ.AttributeTypes {
			if at == "" && slices.Contains(codec.Local, name) {
				continue
			}
			out = append(out, attributesIn(codec, inner, at+"."+strings.Join(codec.Field(name), "."))...)
		}
		return out
	}
	return []string{at}
}

func TestSchemaCoversTheAPI(t *testing.T) {
	ctx := t.Context()
	tests := map[string]struct {
		kind customresource.Kind
		spec reflect.Type
	}{
		"provisioner":  {provisioner.Kind{}, reflect.TypeFor[api.ProvisionerSpec]()},
		"node profile": {nodeprofile.Kind{}, reflect.TypeFor[api.NodeProfile]()},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			want := fieldsOf(tt.spec, "")
			got := attributesIn(tt.kind.Codec(), tt.kind.Schema(ctx).Type().TerraformType(ctx), "")
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("JSON fields (-of the API +of the schema):\n%s", diff)
			}
		})
	}
}
