package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// server answers only for schemas.
type server struct {
	tfprotov6.ProviderServer
	schemas    *tfprotov6.GetProviderSchemaResponse
	identities *tfprotov6.GetResourceIdentitySchemasResponse
}

func (s server) GetProviderSchema(context.Context, *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	return s.schemas, nil
}

func (s server) GetResourceIdentitySchemas(context.Context, *tfprotov6.GetResourceIdentitySchemasRequest) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return s.identities, nil
}

func example() server {
	text := &tfprotov6.SchemaAttribute{Name: "text", Type: tftypes.String, Required: true, Description: "A *text*.", DescriptionKind: tfprotov6.StringKindMarkdown}
	many := &tfprotov6.SchemaAttribute{Name: "many", Optional: true, NestedType: &tfprotov6.SchemaObject{
		Nesting: tfprotov6.SchemaObjectNestingModeList, Attributes: []*tfprotov6.SchemaAttribute{{Name: "on", Type: tftypes.Bool, Computed: true}},
	}}
	object := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"n": tftypes.Number}}
	deep := &tfprotov6.SchemaAttribute{Name: "deep", Type: tftypes.Map{ElementType: tftypes.Set{ElementType: object}}, Sensitive: true}
	return server{
		schemas: &tfprotov6.GetProviderSchemaResponse{
			Provider: &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{}},
			ResourceSchemas: map[string]*tfprotov6.Schema{"a_b": {Version: 2, Block: &tfprotov6.SchemaBlock{
				Attributes: []*tfprotov6.SchemaAttribute{text, many, deep},
				BlockTypes: []*tfprotov6.SchemaNestedBlock{{
					TypeName: "timeouts", Nesting: tfprotov6.SchemaNestedBlockNestingModeSingle, Block: &tfprotov6.SchemaBlock{},
				}},
			}}},
			EphemeralResourceSchemas: map[string]*tfprotov6.Schema{"a_token": {Block: &tfprotov6.SchemaBlock{}}},
			ListResourceSchemas:      map[string]*tfprotov6.Schema{"a_b": {Block: &tfprotov6.SchemaBlock{}}},
			Functions: map[string]*tfprotov6.Function{"join": {
				Summary: "Joins", Description: "Joins texts.", Return: &tfprotov6.FunctionReturn{Type: tftypes.String},
				Parameters:        []*tfprotov6.FunctionParameter{{Name: "by", Type: tftypes.String, AllowNullValue: true}},
				VariadicParameter: &tfprotov6.FunctionParameter{Name: "texts", Type: tftypes.String},
			}},
		},
		identities: &tfprotov6.GetResourceIdentitySchemasResponse{IdentitySchemas: map[string]*tfprotov6.ResourceIdentitySchema{
			"a_b": {IdentityAttributes: []*tfprotov6.ResourceIdentitySchemaAttribute{{Name: "name", Type: tftypes.String, RequiredForImport: true}}},
		}},
	}
}

func TestWrite(t *testing.T) {
	var out bytes.Buffer
	if err := write(t.Context(), &out, "a", example()); err != nil {
		t.Fatal(err)
	}
	want := `{"format_version": "1.0", "provider_schemas": {"a": {
	  "provider": {"version": 0, "block": {"description_kind": "plain"}},
	  "resource_schemas": {"a_b": {"version": 2, "block": {
	    "attributes": {
	      "text": {"type": "string", "description": "A *text*.", "description_kind": "markdown", "required": true},
	      "many": {"nested_type": {"nesting_mode": "list", "attributes": {"on": {"type": "bool", "description_kind": "plain", "computed": true}}},
	        "description_kind": "plain", "optional": true},
	      "deep": {"type": ["map", ["set", ["object", {"n": "number"}]]], "description_kind": "plain", "sensitive": true}
	    },
	    "block_types": {"timeouts": {"nesting_mode": "single", "block": {"description_kind": "plain"}}},
	    "description_kind": "plain"
	  }}},
	  "resource_identity_schemas": {"a_b": {"version": 0, "attributes": {"name": {"type": "string", "required_for_import": true}}}},
	  "ephemeral_resource_schemas": {"a_token": {"version": 0, "block": {"description_kind": "plain"}}},
	  "list_resource_schemas": {"a_b": {"version": 0, "block": {"description_kind": "plain"}}},
	  "functions": {"join": {"summary": "Joins", "description": "Joins texts.", "return_type": "string",
	    "parameters": [{"name": "by", "type": "string", "is_nullable": true}], "variadic_parameter": {"name": "texts", "type": "string"}}}
	}}}`
	var got, expected any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &expected); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(expected, got); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

func TestWriteReportsDiagnostics(t *testing.T) {
	broken := example()
	broken.schemas.Diagnostics = []*tfprotov6.Diagnostic{{Summary: "no schema", Detail: "it is broken"}}
	err := write(t.Context(), &bytes.Buffer{}, "a", broken)
	if err == nil || !strings.Contains(err.Error(), "no schema: it is broken") {
		t.Errorf("error = %v, want the diagnostic", err)
	}
}
