package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// Delete does with the nodes what on_destroy says, and then takes the
// installation away, the agent first and the definitions last.
func (r *agentResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	ctx = r.session.Mask(ctx)
	var m agentModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	ctx, cancel := limited(ctx, m.Timeouts.Delete, agentRemoval, &resp.Diagnostics)
	defer cancel()
	objects := r.objects(ctx, &m, &resp.Diagnostics)
	cluster := r.connect(ctx, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	keeper := cluster.Installation()
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "CustomResourceDefinition" && m.KeepCRDs.ValueBool()
	})
	leave := map[string]func(context.Context, *agentModel, session.Installation, *diag.Diagnostics){
		refuseNodes: refuse, drainNodes: drain, orphanNodes: orphan,
	}[m.OnDestroy.ValueString()]
	if leave(ctx, &m, keeper, &resp.Diagnostics); resp.Diagnostics.HasError() {
		return
	}
	kept, err := keeper.Remove(ctx, objects)
	if err == nil {
		err = keeper.RemoveLease(ctx, m.Namespace.ValueString())
	}
	if err != nil {
		resp.Diagnostics.Append(agentError(&m, err))
		return
	}
	if len(kept) > 0 {
		resp.Diagnostics.AddWarning(fmt.Sprintf("namespace %s is kept: others have %d objects in it", m.Namespace.ValueString(), len(kept)), strings.Join(kept, "\n"))
	}
}

// refuse ends a destroy while there are nodes.
func refuse(ctx context.Context, m *agentModel, keeper session.Installation, diags *diag.Diagnostics) {
	nodes, err := keeper.Nodes(ctx)
	switch {
	case err != nil:
		diags.Append(agentError(m, err))
	case len(nodes) > 0:
		diags.AddError(fmt.Sprintf("%s: there are %d nodes, and on_destroy is %q", m.title(), len(nodes), refuseNodes),
			"Nothing has been deleted. Remove the nodes first by destroying their provisioners, or set `on_destroy` to `drain` or `orphan` and apply.\n\n"+listNodes(nodes))
	}
}

// drain lets the agent remove the nodes.
func drain(ctx context.Context, m *agentModel, keeper session.Installation, diags *diag.Diagnostics) {
	err := keeper.Drain(ctx, func(remaining []string) {
		tflog.Info(ctx, "waited for nodes to drain", map[string]any{"remaining": len(remaining), "nodes": strings.Join(remaining, ",")})
	})
	switch {
	case errors.Is(err, session.ErrNoAgent):
		detail := "No agent has renewed its Lease in time. Nothing has been deleted: see why it is down (kubectl describe pods and logs in its namespace), " +
			"or set `on_destroy = \"orphan\"` and apply, to give the nodes up and terminate their machines yourself."
		if nodes, listErr := keeper.Nodes(ctx); listErr == nil {
			detail += "\n\n" + listNodes(nodes)
		}
		diags.AddError(m.title()+": "+err.Error(), detail)
	case err != nil:
		diags.Append(agentError(m, err))
	}
}

// orphan ends the agent and lets go of the nodes.
func orphan(ctx context.Context, m *agentModel, keeper session.Installation, diags *diag.Diagnostics) {
	var deployment unstructured.Unstructured
	deployment.SetAPIVersion("apps/v1")
	deployment.SetKind("Deployment")
	deployment.SetNamespace(m.Namespace.ValueString())
	deployment.SetName(m.Name.ValueString())
	_, err := keeper.Remove(ctx, []*unstructured.Unstructured{&deployment})
	if err != nil {
		diags.Append(agentError(m, err))
		return
	}
	nodes, err := keeper.Release(ctx)
	if err != nil {
		diags.Append(agentError(m, err))
		return
	}
	if len(nodes) > 0 {
		diags.AddWarning(fmt.Sprintf("%s: %d nodes and their machines go on running, and nobody looks after them", m.title(), len(nodes)), listNodes(nodes))
	}
}
