package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// unnamed stands for a name that is known only after apply, so that all else
// can be checked.
const unnamed = "known-after-apply"

// ValidateConfig applies the rules of the API to what is known, without a cluster.
func (r *customResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var name types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("name"), &name)...)
	doc := r.encode(req.Config.Raw, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	checked := name.ValueString()
	if name.IsUnknown() {
		checked = unnamed
	}
	in := translator{r.kind.codec(), objectType(req.Config.Raw), doc}
	problems, warnings := r.kind.check(checked, doc.Fields)
	for _, p := range problems {
		if d := in.translate(p, diag.SeverityError); d != nil {
			resp.Diagnostics.Append(d)
		}
	}
	for _, w := range warnings {
		if d := in.translate(w, diag.SeverityWarning); d != nil {
			resp.Diagnostics.Append(d)
		}
	}
}

// ModifyPlan predicts the computed attributes, says at once if there is no way to
// a cluster, and looks ahead at what a change will do.
func (r *customResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if r.session != nil && r.session.Known() == nil {
		if _, err := r.session.Config.Source(); err != nil {
			resp.Diagnostics.AddError(err.Error(), "The provider never guesses: it uses neither localhost nor a kubeconfig that nobody has named.")
			return
		}
	}
	if req.Plan.Raw.IsNull() {
		r.lookAtRemoval(ctx, req, resp)
		return
	}
	doc := r.encode(req.Plan.Raw, &resp.Diagnostics)
	if doc == nil || len(doc.Unknown) > 0 {
		r.tellUnknown(ctx, req, resp, doc)
		return
	}
	resp.Plan.Raw = r.withComputed(req.Plan.Raw, doc, &resp.Diagnostics)
	r.lookAhead(ctx, req, resp, doc)
}
