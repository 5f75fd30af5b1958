package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// write writes the provider's schema under the given name.
func write(ctx context.Context, w io.Writer, name string, server tfprotov6.ProviderServer) error {
	schemas, err := server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return fmt.Errorf("read the schema of %s: %w", name, err)
	}
	identities, err := server.GetResourceIdentitySchemas(ctx, &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		return fmt.Errorf("read the identity schemas of %s: %w", name, err)
	}
	for _, d := range append(schemas.Diagnostics, identities.Diagnostics...) {
		return fmt.Errorf("read the schema of %s: %s: %s", name, d.Summary, d.Detail)
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(tfjson.ProviderSchemas{FormatVersion: "1.0", Schemas: map[string]*tfjson.ProviderSchema{name: {
		ConfigSchema:             convertSchema(schemas.Provider),
		ResourceSchemas:          each(schemas.ResourceSchemas, convertSchema),
		DataSourceSchemas:        each(schemas.DataSourceSchemas, convertSchema),
		ResourceIdentitySchemas:  each(identities.IdentitySchemas, convertIdentity),
		EphemeralResourceSchemas: each(schemas.EphemeralResourceSchemas, convertSchema),
		ListResourceSchemas:      each(schemas.ListResourceSchemas, convertSchema),
		Functions:                each(schemas.Functions, convertFunction),
	}}})
}

func each[In, Out any](in map[string]In, convert func(In) Out) map[string]Out {
	out := make(map[string]Out, len(in))
	for name, value := range in {
		out[name] = convert(value)
	}
	return out
}

func convertSchema(in *tfprotov6.Schema) *tfjson.Schema {
	return &tfjson.Schema{Version: uint64(in.Version), Block: convertBlock(in.Block)}
}

func convertBlock(in *tfprotov6.SchemaBlock) *tfjson.SchemaBlock {
	out := &tfjson.SchemaBlock{
		Attributes: convertAttributes(in.Attributes), NestedBlocks: map[string]*tfjson.SchemaBlockType{},
		Description: in.Description, DescriptionKind: kindOf(in.DescriptionKind), Deprecated: in.Deprecated,
	}
	for _, nested := range in.BlockTypes {
		out.NestedBlocks[nested.TypeName] = &tfjson.SchemaBlockType{
			NestingMode: tfjson.SchemaNestingMode(strings.ToLower(nested.Nesting.String())), Block: convertBlock(nested.Block),
			MinItems: uint64(nested.MinItems), MaxItems: uint64(nested.MaxItems),
		}
	}
	return out
}

func convertAttributes(in []*tfprotov6.SchemaAttribute) map[string]*tfjson.SchemaAttribute {
	out := make(map[string]*tfjson.SchemaAttribute, len(in))
	for _, a := range in {
		converted := &tfjson.SchemaAttribute{
			Description: a.Description, DescriptionKind: kindOf(a.DescriptionKind), Deprecated: a.Deprecated,
			Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive, WriteOnly: a.WriteOnly,
		}
		if a.NestedType != nil {
			converted.AttributeNestedType = &tfjson.SchemaNestedAttributeType{
				Attributes: convertAttributes(a.NestedType.Attributes), NestingMode: tfjson.SchemaNestingMode(strings.ToLower(a.NestedType.Nesting.String())),
			}
		} else {
			converted.AttributeType = typeOf(a.Type)
		}
		out[a.Name] = converted
	}
	return out
}

func convertIdentity(in *tfprotov6.ResourceIdentitySchema) *tfjson.IdentitySchema {
	out := &tfjson.IdentitySchema{Version: uint64(in.Version), Attributes: map[string]*tfjson.IdentityAttribute{}}
	for _, a := range in.IdentityAttributes {
		out.Attributes[a.Name] = &tfjson.IdentityAttribute{
			IdentityType: typeOf(a.Type), Description: a.Description, RequiredForImport: a.RequiredForImport, OptionalForImport: a.OptionalForImport,
		}
	}
	return out
}

func convertFunction(in *tfprotov6.Function) *tfjson.FunctionSignature {
	out := &tfjson.FunctionSignature{Description: in.Description, Summary: in.Summary, ReturnType: typeOf(in.Return.Type)}
	for _, p := range in.Parameters {
		out.Parameters = append(out.Parameters, convertParameter(p))
	}
	if in.VariadicParameter != nil {
		out.VariadicParameter = convertParameter(in.VariadicParameter)
	}
	return out
}

func convertParameter(in *tfprotov6.FunctionParameter) *tfjson.FunctionParameter {
	return &tfjson.FunctionParameter{Name: in.Name, Description: in.Description, IsNullable: in.AllowNullValue, Type: typeOf(in.Type)}
}

// typeOf converts a type through its JSON, which is the same for both libraries.
func typeOf(t tftypes.Type) cty.Type {
	raw, err := json.Marshal(t)
	if err != nil {
		panic("encode a type: " + err.Error())
	}
	out, err := ctyjson.UnmarshalType(raw)
	if err != nil {
		panic("decode the type " + string(raw) + ": " + err.Error())
	}
	return out
}

func kindOf(k tfprotov6.StringKind) tfjson.SchemaDescriptionKind {
	return tfjson.SchemaDescriptionKind(strings.ToLower(k.String()))
}
