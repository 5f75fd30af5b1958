// Package data contains the provider's data sources, each in its own file.
package data

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// reader is embedded in all data sources.
type reader struct {
	session *session.Session
	suffix  string // of the data source's type, such as "_nodes"
}

var _ datasource.DataSourceWithConfigure = &clusterData{}

func (r *reader) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + r.suffix
}

func (r *reader) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	r.session = lifecycle.SharedSession(req.ProviderData, &resp.Diagnostics)
}

// noCatalogue is the advice if the catalogue cannot be read.
const noCatalogue = "Instance types come from AWS, from the provider block's `catalogue_file`, or from the embedded table."

// advice returns the detail of an error. Without a cluster yet, it is how to have the data source read later.
func advice(err error, otherwise string) string {
	if errors.Is(err, session.ErrUnknown) || errors.Is(err, session.ErrMissingCluster) {
		return "Terraform reads data sources during the plan. If the same apply creates the cluster, let the data source depend on it, such as with `depends_on = [module.eks]`, and Terraform reads it during the apply."
	}
	return otherwise
}

// Constructors of attributes.

func optionalText(description string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description}
}

func computedText(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

func computedNumber(description string) schema.Int64Attribute {
	return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
}

func computedPrice(description string) schema.Float64Attribute {
	return schema.Float64Attribute{Computed: true, MarkdownDescription: description}
}

func computedFlag(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Computed: true, MarkdownDescription: description}
}

func computedTexts(description string) schema.ListAttribute {
	return schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
}

func computedMap(description string) schema.MapAttribute {
	return schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
}

func computedObjects(description string, inner map[string]schema.Attribute) schema.ListNestedAttribute {
	return schema.ListNestedAttribute{Computed: true, MarkdownDescription: description, NestedObject: schema.NestedAttributeObject{Attributes: inner}}
}
