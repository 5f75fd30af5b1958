package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// NewProvisionerList lists the provisioners of the cluster.
func NewProvisionerList() list.ListResource {
	return &customList{customResource{kind: provisioner{}}}
}

// NewNodeProfileList lists the node profiles of the cluster.
func NewNodeProfileList() list.ListResource {
	return &customList{customResource{kind: nodeProfile{}}}
}

// customList lists the objects of one kind for `terraform query`.
type customList struct{ of customResource }

var _ list.ListResourceWithConfigure = &customList{}

func (l *customList) Metadata(ctx context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	l.of.Metadata(ctx, req, resp)
}

func (l *customList) Configure(ctx context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	l.of.Configure(ctx, req, resp)
}

func (l *customList) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest, resp *list.ListResourceSchemaResponse) {
	resp.Schema = schema.Schema{MarkdownDescription: "Lists the " + l.of.kind.title() + "s of the cluster, sorted by name."}
}

func (l *customList) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	ctx = l.of.session.Mask(ctx)
	var diags diag.Diagnostics
	cluster := l.of.connect(ctx, &diags)
	if diags.HasError() {
		stream.Results = list.ListResultsStreamDiagnostics(diags)
		return
	}
	found, err := cluster.Objects(l.of.kind.object()).List(ctx)
	if err != nil {
		diags.AddError(fmt.Sprintf("list every %s: %s", l.of.kind.title(), err), "")
		stream.Results = list.ListResultsStreamDiagnostics(diags)
		return
	}
	stream.Results = func(push func(list.ListResult) bool) {
		for i, live := range found {
			if req.Limit > 0 && int64(i) >= req.Limit || !push(l.result(ctx, req, live)) {
				return
			}
		}
	}
}

// result is one object, with its whole state if that is asked for.
func (l *customList) result(ctx context.Context, req list.ListRequest, live *unstructured.Unstructured) list.ListResult {
	out := req.NewListResult(ctx)
	out.DisplayName = live.GetName()
	setName(ctx, out.Identity, live.GetName(), &out.Diagnostics)
	if !req.IncludeResource {
		return out
	}
	blank := blankWith(objectType(out.Resource.Raw), live.GetName())
	out.Resource.Raw = l.of.refresh(blank, live, true, &out.Diagnostics)
	return out
}

// blankWith is an object of nulls but for its name.
func blankWith(typ tftypes.Object, name string) tftypes.Value {
	attributes := make(map[string]tftypes.Value, len(typ.AttributeTypes))
	for attribute, t := range typ.AttributeTypes {
		attributes[attribute] = tftypes.NewValue(t, nil)
	}
	attributes["name"] = tftypes.NewValue(tftypes.String, name)
	return tftypes.NewValue(typ, attributes)
}
