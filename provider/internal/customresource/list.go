package customresource

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

// objectList lists the objects of one kind for `terraform query`.
type objectList struct{ *Resource }

// NewList returns the list resource of a kind.
func NewList(k Kind) list.ListResource { return &objectList{New(k)} }

var _ list.ListResourceWithConfigure = &objectList{}

func (l *objectList) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest, resp *list.ListResourceSchemaResponse) {
	resp.Schema = schema.Schema{MarkdownDescription: "Lists the " + l.kind.Title() + "s of the cluster, sorted by name."}
}

func (l *objectList) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	ctx = l.Session.Mask(ctx)
	var diags diag.Diagnostics
	cluster := lifecycle.Connect(ctx, l.Session, &diags)
	if diags.HasError() {
		stream.Results = list.ListResultsStreamDiagnostics(diags)
		return
	}
	found, err := cluster.Objects(l.kind.Object(), false).List(ctx)
	if err != nil {
		diags.AddError(fmt.Sprintf("list every %s: %s", l.kind.Title(), err), "")
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

// result returns one object, with its whole state if the request asks for that.
func (l *objectList) result(ctx context.Context, req list.ListRequest, live *unstructured.Unstructured) list.ListResult {
	out := req.NewListResult(ctx)
	out.DisplayName = live.GetName()
	lifecycle.SetName(ctx, out.Identity, live.GetName(), &out.Diagnostics)
	if !req.IncludeResource {
		return out
	}
	blank := wire.NewModel(wire.TypeOf(ctx, out.Resource.Schema), live.GetName())
	out.Diagnostics.Append(out.Resource.Set(ctx, l.refresh(ctx, blank, live, true, &out.Diagnostics))...)
	return out
}
