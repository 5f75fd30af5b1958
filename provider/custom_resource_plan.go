package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// unnamed stands for a name that is known only after apply, so that all else
// can be checked.
const unnamed = "known-after-apply"

// ValidateConfig applies the rules of the API to what is known, without a cluster.
func (r *customResource) ValidateConfig(_ context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	config := req.Config.Raw
	doc := r.encode(config, &resp.Diagnostics)
	if doc == nil {
		return
	}
	name := nameOf(config)
	if !attributesOf(config, nil)["name"].IsKnown() {
		name = unnamed
	}
	in := translator{r.kind.codec(), objectType(config), doc}
	for _, found := range r.kind.check(name, doc.Fields) {
		if d := in.translate(found); d != nil {
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
	planStaying(req, resp)
	created := claim(ctx, r.session, r.namings()[0], req, req.Plan.Raw, &resp.Diagnostics)
	doc := r.encode(req.Plan.Raw, &resp.Diagnostics)
	if doc == nil || len(doc.Unknown) > 0 {
		r.tellUnknown(req, resp, doc)
		return
	}
	resp.Plan.Raw = r.withComputed(resp.Plan.Raw, doc, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	r.lookAhead(ctx, req, resp, doc, created)
}
