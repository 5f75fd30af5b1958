package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// reader is what all data sources have in common.
type reader struct {
	session *session.Session
	suffix  string // of the data source's type, such as "_nodes"
}

var _ datasource.DataSourceWithConfigure = &clusterData{}

func (r *reader) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + r.suffix
}

func (r *reader) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	r.session = sharedSession(req.ProviderData, &resp.Diagnostics)
}

// The attribute forms of data sources. All but those named asked are computed.

func asked(description string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description}
}

func found(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

func foundNumber(description string) schema.Int64Attribute {
	return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
}

func foundPrice(description string) schema.Float64Attribute {
	return schema.Float64Attribute{Computed: true, MarkdownDescription: description}
}

func foundFlag(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Computed: true, MarkdownDescription: description}
}

func foundTexts(description string) schema.ListAttribute {
	return schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
}

func foundMap(description string) schema.MapAttribute {
	return schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
}

func foundObjects(description string, inner map[string]schema.Attribute) schema.ListNestedAttribute {
	return schema.ListNestedAttribute{Computed: true, MarkdownDescription: description, NestedObject: schema.NestedAttributeObject{Attributes: inner}}
}

func textOrNull(s string) types.String {
	if s == "" {
		return types.StringNull()
	}
	return types.StringValue(s)
}

func textList(values []string) types.List {
	out := make([]attr.Value, len(values))
	for i, v := range values {
		out[i] = types.StringValue(v)
	}
	return types.ListValueMust(types.StringType, out)
}

func textsByKey(values map[string]string) types.Map {
	out := make(map[string]attr.Value, len(values))
	for key, v := range values {
		out[key] = types.StringValue(v)
	}
	return types.MapValueMust(types.StringType, out)
}
