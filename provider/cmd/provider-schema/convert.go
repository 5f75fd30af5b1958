package main

import (
	"encoding/json"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

func convertSchema(in *tfprotov6.Schema) schema {
	if in == nil {
		return schema{}
	}
	return schema{Version: in.Version, Block: convertBlock(in.Block)}
}

func convertBlock(in *tfprotov6.SchemaBlock) block {
	out := block{
		Attributes:      convertAttributes(in.Attributes),
		Description:     in.Description,
		DescriptionKind: kindName(in.DescriptionKind),
		Deprecated:      in.Deprecated,
	}
	for _, nested := range in.BlockTypes {
		if out.Blocks == nil {
			out.Blocks = map[string]nestedBlock{}
		}
		out.Blocks[nested.TypeName] = nestedBlock{
			Nesting: strings.ToLower(nested.Nesting.String()),
			Block:   convertBlock(nested.Block),
			Min:     nested.MinItems,
			Max:     nested.MaxItems,
		}
	}
	return out
}

func convertAttributes(in []*tfprotov6.SchemaAttribute) map[string]attribute {
	out := make(map[string]attribute, len(in))
	for _, a := range in {
		converted := attribute{
			Description:     a.Description,
			DescriptionKind: kindName(a.DescriptionKind),
			Deprecated:      a.Deprecated,
			Required:        a.Required,
			Optional:        a.Optional,
			Computed:        a.Computed,
			Sensitive:       a.Sensitive,
			WriteOnly:       a.WriteOnly,
		}
		if a.NestedType != nil {
			converted.Nested = &nestedType{
				Attributes: convertAttributes(a.NestedType.Attributes),
				Nesting:    strings.ToLower(a.NestedType.Nesting.String()),
			}
		} else {
			converted.Type = typeJSON(a.Type)
		}
		out[a.Name] = converted
	}
	return out
}

func convertIdentity(in *tfprotov6.ResourceIdentitySchema) identitySchema {
	out := identitySchema{Version: in.Version, Attributes: make(map[string]identityAttribute, len(in.IdentityAttributes))}
	for _, a := range in.IdentityAttributes {
		out.Attributes[a.Name] = identityAttribute{
			Type:              typeJSON(a.Type),
			Description:       a.Description,
			RequiredForImport: a.RequiredForImport,
			OptionalForImport: a.OptionalForImport,
		}
	}
	return out
}

func convertFunction(in *tfprotov6.Function) signature {
	out := signature{Description: in.Description, Summary: in.Summary, Returns: typeJSON(in.Return.Type)}
	for _, p := range in.Parameters {
		out.Parameters = append(out.Parameters, convertParameter(p))
	}
	if in.VariadicParameter != nil {
		variadic := convertParameter(in.VariadicParameter)
		out.Variadic = &variadic
	}
	return out
}

func convertParameter(in *tfprotov6.FunctionParameter) parameter {
	return parameter{Name: in.Name, Description: in.Description, Nullable: in.AllowNullValue, Type: typeJSON(in.Type)}
}

// typeJSON writes a type as Terraform does: "string", ["list", "string"],
// ["object", {…}].
func typeJSON(t tftypes.Type) json.RawMessage {
	raw, err := json.Marshal(typeTree(t))
	if err != nil {
		panic("a tree of strings that JSON cannot say: " + err.Error())
	}
	return raw
}

func typeTree(t tftypes.Type) any {
	switch t := t.(type) {
	case tftypes.List:
		return []any{"list", typeTree(t.ElementType)}
	case tftypes.Set:
		return []any{"set", typeTree(t.ElementType)}
	case tftypes.Map:
		return []any{"map", typeTree(t.ElementType)}
	case tftypes.Object:
		fields := make(map[string]any, len(t.AttributeTypes))
		for name, inner := range t.AttributeTypes {
			fields[name] = typeTree(inner)
		}
		return []any{"object", fields}
	}
	switch {
	case t.Is(tftypes.Bool):
		return "bool"
	case t.Is(tftypes.Number):
		return "number"
	case t.Is(tftypes.DynamicPseudoType):
		return "dynamic"
	}
	return "string"
}

func kindName(k tfprotov6.StringKind) string {
	if k == tfprotov6.StringKindMarkdown {
		return "markdown"
	}
	return "plain"
}
