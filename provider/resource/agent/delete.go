package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// replacementKey is the key in the planned private state of the location of the installation whose creation is
// planned. Terraform replaces a resource, including a tainted one, with a deletion and a creation that share the
// private state of the plan. So the deletion can tell a replacement from a destroy, for which no creation is
// planned.
const replacementKey = "successor"

// location identifies an installation.
type location struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (m *model) location() location {
	return location{m.Namespace.ValueString(), m.Name.ValueString()}
}

// Delete removes the installation. In a replacement, it keeps everything that the new installation takes
// over.
func (r *agentResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	ctx = r.Session.Mask(ctx)
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	ctx, cancel := lifecycle.WithLimit(ctx, m.Timeouts.Delete, agentRemoval, &resp.Diagnostics)
	defer cancel()
	objects, err := m.inventory()
	if err != nil {
		resp.Diagnostics.Append(agentError(&m, err))
	}
	next := lifecycle.Recorded[location](ctx, req.Private, replacementKey, &resp.Diagnostics)
	// If the deletion fails, Terraform keeps the private state. The next one may be that of a destroy.
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, replacementKey, nil)...)
	cluster := lifecycle.Deleting(ctx, r.Session, req.Private, m.title(), &resp.Diagnostics)
	if cluster == nil {
		return
	}
	keeper := cluster.Installation()
	if next != nil {
		err = removeReplaced(ctx, &m, *next, objects, keeper, &resp.Diagnostics)
	} else {
		err = uninstall(ctx, &m, objects, keeper, &resp.Diagnostics)
	}
	if err != nil {
		resp.Diagnostics.Append(agentError(&m, err))
	}
}

// uninstall treats the nodes as on_destroy says, and then removes the installation. It removes the agent
// first, so that the agent buys nothing for provisioners that stay, and then the definitions. The
// ServiceAccount and the namespace go last: while they exist, a refresh knows that a destroy is not complete.
func uninstall(ctx context.Context, m *model, objects []*unstructured.Unstructured, keeper session.Installation, diags *diag.Diagnostics) error {
	held, err := keeper.Holdings(ctx)
	if err != nil {
		return err
	}
	leave := map[string]func(context.Context, *model, session.Installation, install.Holdings, *diag.Diagnostics){
		refuseNodes: refuse, drainNodes: drain, orphanNodes: orphan,
	}[m.onDestroy()]
	if leave(ctx, m, keeper, held, diags); diags.HasError() {
		return nil
	}
	definitions, others := split(objects, "CustomResourceDefinition")
	last, others := split(others, "ServiceAccount", "Namespace")
	_, err = keeper.Remove(ctx, others)
	if err == nil {
		err = keeper.RemoveLease(ctx, m.Namespace.ValueString())
	}
	if err == nil {
		err = release(ctx, m, keeper, diags)
	}
	if err == nil {
		err = removeDefinitions(ctx, m, definitions, keeper, diags)
	}
	if err != nil {
		return err
	}
	return remove(ctx, m, last, keeper, diags)
}

// remove removes objects of the installation. It adds a warning if the namespace is kept because of others. If the
// namespace is empty and only the cluster can end its deletion, it adds one too: when the nodes are gone, the pods of
// an API such as that of metrics-server may have no node to run on.
func remove(ctx context.Context, m *model, objects []*unstructured.Unstructured, keeper session.Installation, diags *diag.Diagnostics) error {
	kept, err := keeper.Remove(ctx, objects)
	if len(kept) > 0 {
		diags.AddWarning(fmt.Sprintf("namespace %s is kept: others may use it", m.Namespace.ValueString()),
			"If they do not, delete it yourself. It contains, or may contain:\n\n"+strings.Join(kept, "\n"))
	}
	if errors.Is(err, install.ErrTerminating) {
		summary, detail := lifecycle.Summarise(err.Error())
		diags.AddWarning(summary, "The destroy does not wait for it. An API has to answer again, or its APIService has to be deleted: `kubectl get apiservices` shows which are not available. "+
			"Until then, no agent can be installed in this namespace.\n\n"+detail)
		return nil
	}
	return err
}

// release removes what makes Provisioners and nodes depend on an agent, which has ended. A warning names the
// nodes that are left: on_destroy may leave nodes, and the agent buys others until it ends.
func release(ctx context.Context, m *model, keeper session.Installation, diags *diag.Diagnostics) error {
	held, err := keeper.Holdings(ctx)
	if err != nil || len(held.Objects)+len(held.Nodes) == 0 {
		return err
	}
	nodes, err := keeper.Release(ctx)
	if err != nil {
		return err
	}
	staying, leaving := splitNodes(nodes)
	if len(staying) > 0 {
		late := ""
		if m.onDestroy() != orphanNodes {
			late = "The agent has made these nodes just before it ended. Terminate their instances, or install an agent again.\n\n"
		}
		diags.AddWarning(fmt.Sprintf("%s: %s will continue to run without an agent", m.title(), explain.Plural(len(staying), "node")), late+listNodes(staying))
	}
	if len(leaving) > 0 {
		diags.AddWarning(fmt.Sprintf("%s: %s will be deleted, but no machine will be terminated", m.title(), explain.Plural(len(leaving), "node")),
			"These nodes were being deleted, and no agent has finished that. Terminate their instances.\n\n"+listNodes(leaving))
	}
	return nil
}

// removeDefinitions deletes the definitions. If objects of theirs exist that others have declared, it
// deletes these too if keep_crds is false, and otherwise keeps the definitions.
func removeDefinitions(ctx context.Context, m *model, definitions []*unstructured.Unstructured, keeper session.Installation, diags *diag.Diagnostics) error {
	held, err := keeper.Holdings(ctx)
	if err != nil {
		return err
	}
	left := standing(held.Objects)
	if len(left) > 0 && !m.deletesObjects() {
		diags.AddWarning(fmt.Sprintf("%s: %s are kept, because others have declared them", m.title(), countKinds(left)),
			"Their definitions are kept too. They have no effect until an agent is installed again. "+
				"Delete them where they are declared. `keep_crds = false` would have deleted them too.\n\n"+listObjects(left))
		return nil
	}
	if m.KeepCRDs.ValueBool() {
		return nil
	}
	_, err = keeper.Remove(ctx, definitions)
	return err
}

// removeReplaced removes the Deployment, and the objects that the next installation will not declare again.
// Definitions, custom resources and nodes stay.
func removeReplaced(ctx context.Context, m *model, next location, objects []*unstructured.Unstructured, keeper session.Installation, diags *diag.Diagnostics) error {
	sameNamespace := next.Namespace == m.Namespace.ValueString()
	_, objects = split(objects, "CustomResourceDefinition")
	goes := slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		switch o.GetKind() {
		case "Deployment":
			return false
		case "Namespace":
			return sameNamespace
		}
		return next == m.location()
	})
	err := remove(ctx, m, goes, keeper, diags)
	if err == nil && !sameNamespace {
		err = keeper.RemoveLease(ctx, m.Namespace.ValueString())
	}
	return err
}

// split separates the objects of some kinds from the others.
func split(objects []*unstructured.Unstructured, kinds ...string) (chosen, others []*unstructured.Unstructured) {
	for _, o := range objects {
		if slices.Contains(kinds, o.GetKind()) {
			chosen = append(chosen, o)
		} else {
			others = append(others, o)
		}
	}
	return chosen, others
}

// refuse adds an error if there are nodes.
func refuse(_ context.Context, m *model, _ session.Installation, held install.Holdings, diags *diag.Diagnostics) {
	if nodes := held.Nodes; len(nodes) > 0 {
		diags.AddError(fmt.Sprintf("%s: the agent has %s, and on_destroy is %q", m.title(), explain.Plural(len(nodes), "node"), refuseNodes),
			"Nothing has been deleted. Remove the nodes first by destroying their provisioners, or set `on_destroy` to `drain` or `orphan` and apply.\n\n"+listNodes(nodes))
	}
}

// drain lets the agent drain the nodes. Provisioners that others have declared are deleted only if keep_crds
// is false. Otherwise, if they have nodes, drain adds an error, because these nodes need an agent. NodePools
// are never deleted, so that their nodes need an agent as well.
func drain(ctx context.Context, m *model, keeper session.Installation, held install.Holdings, diags *diag.Diagnostics) {
	staying := provisionerNames(standing(held.Objects))
	var leaving []string
	if m.deletesObjects() {
		staying, leaving = nil, staying
	}
	var needed, pooled []install.Node
	for _, n := range held.Nodes {
		switch {
		case n.NodePool && !n.Leaving:
			pooled = append(pooled, n)
		case !n.NodePool && slices.Contains(staying, n.Provisioner):
			needed = append(needed, n)
		}
	}
	if len(pooled) > 0 {
		diags.AddError(fmt.Sprintf("%s: NodePools have %s", m.title(), explain.Plural(len(pooled), "node")),
			"Nothing has been deleted. Without an agent, nothing would manage these nodes. Give them back to Karpenter with `packhorse-agent handback`, "+
				"delete their NodePools while the agent runs, or set `on_destroy = \"orphan\"`, which leaves the nodes and their machines running, and apply. "+
				"Then destroy again.\n\n"+listNodes(pooled))
	}
	if len(needed) > 0 {
		diags.AddError(fmt.Sprintf("%s: provisioners that this destroy does not delete have %s", m.title(), explain.Plural(len(needed), "node")),
			"Nothing has been deleted. Without an agent, nothing would manage these nodes. Delete their provisioners where they are declared "+
				"(those of the same configuration must depend on the agent), or apply one of these settings and destroy again: `keep_crds = false` deletes all "+
				"provisioners and node profiles, after the agent has drained their nodes; `on_destroy = \"orphan\"` leaves the nodes and their machines running.\n\n"+listNodes(needed))
	}
	if len(pooled)+len(needed) > 0 {
		return
	}
	err := keeper.Drain(ctx, leaving, func(remaining []string) {
		tflog.Info(ctx, "waited for nodes to drain", map[string]any{"remaining": len(remaining), "nodes": strings.Join(remaining, ",")})
	})
	switch {
	case errors.Is(err, install.ErrNoAgent):
		diags.AddError(m.title()+": "+err.Error(), "No agent has renewed its Lease in time. Nothing has been deleted. Find out why the agent does not run (kubectl describe pods and kubectl logs in its namespace), "+
			"or set `on_destroy = \"orphan\"`, "+forgetFirst+", apply, destroy again, and terminate the machines that are left yourself.\n\n"+listNodes(held.Nodes))
	case err != nil:
		diags.Append(agentError(m, err))
	default:
		checkDrained(ctx, m, keeper, diags)
	}
}

// checkDrained adds an error if there are nodes after a drain. It may take long, during which the agent buys machines
// for provisioners and NodePools that stay, and for provisioners that somebody has created again.
func checkDrained(ctx context.Context, m *model, keeper session.Installation, diags *diag.Diagnostics) {
	held, err := keeper.Holdings(ctx)
	if err != nil {
		diags.Append(agentError(m, err))
		return
	}
	if len(held.Nodes) > 0 {
		diags.AddError(fmt.Sprintf("%s: %s appeared while others were drained", m.title(), explain.Plural(len(held.Nodes), "node")),
			"The agent has not been removed. Without it, nothing would manage these nodes. If something creates provisioners again that this destroy deletes, such as Argo CD, "+
				"stop it first. Then destroy again.\n\n"+listNodes(held.Nodes))
	}
}

// orphan leaves the nodes. While an agent drains nodes, it adds an error: without their finalizer, the API server
// deletes these nodes at once, with the pods that are left. So it does if it may not scale back Deployments, which
// only the agent could do then.
func orphan(ctx context.Context, m *model, keeper session.Installation, held install.Holdings, diags *diag.Diagnostics) {
	if _, leaving := splitNodes(held.Nodes); len(leaving) > 0 {
		drains, err := keeper.AgentAlive(ctx, time.Now())
		if err != nil {
			diags.Append(agentError(m, err))
			return
		}
		if drains {
			diags.AddError(fmt.Sprintf("%s: the agent is draining %s", m.title(), explain.Plural(len(leaving), "node")),
				"Nothing has been deleted. Without the agent, these nodes would go at once: their pods would end without eviction, and their machines would continue to run. "+
					"Destroy again when the nodes are gone. `packhorse-agent top` says what holds them up.\n\n"+listNodes(leaving))
			return
		}
	}
	if err := keeper.MayScaleBack(ctx); err != nil {
		diags.Append(agentError(m, fmt.Errorf("the agent has not been removed: %w", err)))
	}
}

// splitNodes separates the nodes that are being deleted from the others.
func splitNodes(nodes []install.Node) (staying, leaving []install.Node) {
	for _, n := range nodes {
		if n.Leaving {
			leaving = append(leaving, n)
		} else {
			staying = append(staying, n)
		}
	}
	return staying, leaving
}
