package customresource

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

// ValidateConfig applies the rules of the API to what is known. It needs no cluster.
func (r *Resource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var m *wire.Model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	doc := r.encode(m, &resp.Diagnostics)
	if doc == nil {
		return
	}
	name := m.Name()
	if !m.Attribute("name").IsKnown() {
		name = lifecycle.Unnamed
	}
	in := translator{r.kind.Codec(), m.Type(), doc}
	for _, found := range r.kind.Check(name, doc.Fields) {
		if d := in.translate(found); d != nil {
			resp.Diagnostics.Append(d)
		}
	}
}

// ModifyPlan predicts the computed attributes and checks the effect of a change. For a new object, it is an error if no
// cluster is configured. For a destroy it is not, before which Terraform also plans as if objects stayed: the cluster may be
// gone, and with it what the provider block referred to.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if r.Session != nil && r.Session.Known() == nil && req.State.Raw.IsNull() {
		if _, err := r.Session.Config.Source(); err != nil {
			resp.Diagnostics.AddError(err.Error(), "The provider does not guess: it uses neither localhost nor a kubeconfig that you have not named.")
			return
		}
	}
	// There is no plan for a destroy, and no state for a creation.
	var state, m *wire.Model
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	}
	if req.Plan.Raw.IsNull() {
		r.checkRemoval(ctx, state, nil, &resp.Diagnostics)
		return
	}
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if state != nil && state.Name() != m.Name() {
		r.checkRemoval(ctx, state, m, &resp.Diagnostics)
	}
	m = planStaying(m, state, resp)
	created := lifecycle.Claim(ctx, r.Session, r.Namings()[0], req, m.Name(), &resp.Diagnostics)
	doc := r.encode(m, &resp.Diagnostics)
	if doc != nil && len(doc.Unknown) == 0 {
		m = r.withComputed(ctx, m, doc, &resp.Diagnostics)
		if !resp.Diagnostics.HasError() {
			m = r.checkChange(ctx, change{state, m, doc, created}, &resp.Diagnostics)
		}
	} else {
		r.reportUnknown(m, &resp.Diagnostics, doc)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, m)...)
}
