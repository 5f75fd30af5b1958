package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// formatVersion is that of Terraform's output.
const formatVersion = "1.0"

// document is what Terraform prints.
type document struct {
	FormatVersion string                    `json:"format_version"`
	Schemas       map[string]providerSchema `json:"provider_schemas"`
}

type providerSchema struct {
	Provider    schema                    `json:"provider"`
	Resources   map[string]schema         `json:"resource_schemas,omitempty"`
	DataSources map[string]schema         `json:"data_source_schemas,omitempty"`
	Identities  map[string]identitySchema `json:"resource_identity_schemas,omitempty"`
	Ephemerals  map[string]schema         `json:"ephemeral_resource_schemas,omitempty"`
	Lists       map[string]schema         `json:"list_resource_schemas,omitempty"`
	Functions   map[string]signature      `json:"functions,omitempty"`
}

type schema struct {
	Version int64 `json:"version"`
	Block   block `json:"block"`
}

type block struct {
	Attributes      map[string]attribute   `json:"attributes,omitempty"`
	Blocks          map[string]nestedBlock `json:"block_types,omitempty"`
	Description     string                 `json:"description,omitempty"`
	DescriptionKind string                 `json:"description_kind,omitempty"`
	Deprecated      bool                   `json:"deprecated,omitempty"`
}

type nestedBlock struct {
	Nesting string `json:"nesting_mode"`
	Block   block  `json:"block"`
	Min     int64  `json:"min_items,omitempty"`
	Max     int64  `json:"max_items,omitempty"`
}

type attribute struct {
	Type            json.RawMessage `json:"type,omitempty"`
	Nested          *nestedType     `json:"nested_type,omitempty"`
	Description     string          `json:"description,omitempty"`
	DescriptionKind string          `json:"description_kind,omitempty"`
	Deprecated      bool            `json:"deprecated,omitempty"`
	Required        bool            `json:"required,omitempty"`
	Optional        bool            `json:"optional,omitempty"`
	Computed        bool            `json:"computed,omitempty"`
	Sensitive       bool            `json:"sensitive,omitempty"`
	WriteOnly       bool            `json:"write_only,omitempty"`
}

type nestedType struct {
	Attributes map[string]attribute `json:"attributes,omitempty"`
	Nesting    string               `json:"nesting_mode"`
}

// signature is a function's.
type signature struct {
	Description string          `json:"description,omitempty"`
	Summary     string          `json:"summary,omitempty"`
	Returns     json.RawMessage `json:"return_type"`
	Parameters  []parameter     `json:"parameters,omitempty"`
	Variadic    *parameter      `json:"variadic_parameter,omitempty"`
}

type parameter struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Nullable    bool            `json:"is_nullable,omitempty"`
	Type        json.RawMessage `json:"type"`
}

type identitySchema struct {
	Version    int64                        `json:"version"`
	Attributes map[string]identityAttribute `json:"attributes"`
}

type identityAttribute struct {
	Type              json.RawMessage `json:"type"`
	Description       string          `json:"description,omitempty"`
	RequiredForImport bool            `json:"required_for_import,omitempty"`
	OptionalForImport bool            `json:"optional_for_import,omitempty"`
}

// write writes the schema of the provider under the given name.
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
	return out.Encode(document{formatVersion, map[string]providerSchema{name: {
		Provider:    convertSchema(schemas.Provider),
		Resources:   each(schemas.ResourceSchemas, convertSchema),
		DataSources: each(schemas.DataSourceSchemas, convertSchema),
		Identities:  each(identities.IdentitySchemas, convertIdentity),
		Ephemerals:  each(schemas.EphemeralResourceSchemas, convertSchema),
		Lists:       each(schemas.ListResourceSchemas, convertSchema),
		Functions:   each(schemas.Functions, convertFunction),
	}}})
}

func each[In, Out any](in map[string]In, convert func(In) Out) map[string]Out {
	out := make(map[string]Out, len(in))
	for name, value := range in {
		out[name] = convert(value)
	}
	return out
}
