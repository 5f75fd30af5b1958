// Package agent is the resource packhorse_agent.
package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// Default time limits.
const (
	// agentTimeout is for an installation or an upgrade: images are pulled, and two replicas
	// start one after the other.
	agentTimeout = 10 * time.Minute
	// agentRemoval is for a removal, during which nodes are drained.
	agentRemoval = 20 * time.Minute
)

// agentResource is the resource packhorse_agent.
type agentResource struct{ lifecycle.Base }

var (
	_ resource.ResourceWithConfigure      = &agentResource{}
	_ resource.ResourceWithIdentity       = &agentResource{}
	_ resource.ResourceWithImportState    = &agentResource{}
	_ resource.ResourceWithModifyPlan     = &agentResource{}
	_ resource.ResourceWithUpgradeState   = &agentResource{}
	_ resource.ResourceWithValidateConfig = &agentResource{}
)

// New returns the resource packhorse_agent.
func New() resource.Resource {
	return &agentResource{lifecycle.Base{Suffix: "_agent", Shape: resourceSchema}}
}

// IdentitySchema returns the schema of an identity that consists of a namespace and a name.
func (r *agentResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = agentIdentity()
}

// ImportState imports by NAMESPACE/NAME or identity.
func (r *agentResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	namespace, name, ok := strings.Cut(req.ID, "/")
	if req.ID == "" {
		var ns, n types.String
		resp.Diagnostics.Append(req.Identity.GetAttribute(ctx, path.Root("namespace"), &ns)...)
		resp.Diagnostics.Append(req.Identity.GetAttribute(ctx, path.Root("name"), &n)...)
		namespace, name, ok = ns.ValueString(), n.ValueString(), true
	}
	if !ok || namespace == "" || name == "" {
		resp.Diagnostics.AddError(fmt.Sprintf("import id %q: must be NAMESPACE/NAME", req.ID),
			fmt.Sprintf("Use the namespace and the name of the agent's Deployment, such as %s/%s.", install.DefaultNamespace, install.DefaultName))
		return
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("namespace"), namespace)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("name"), name)...)
	setAgentIdentity(ctx, resp.Identity, namespace, name, &resp.Diagnostics)
}

// Create installs the agent and waits until it leads.
func (r *agentResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	ctx = r.Session.Mask(ctx)
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	ctx, cancel := lifecycle.WithLimit(ctx, m.Timeouts.Create, agentTimeout, &resp.Diagnostics)
	defer cancel()
	objects := r.objects(ctx, &m, &resp.Diagnostics)
	cluster := lifecycle.Await(ctx, r.Session, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	live, err := cluster.Installation().Read(ctx, objects)
	if err == nil && has(live, "Deployment") {
		exists := lifecycle.ExistsAlready(m.title(), m.id())
		resp.Diagnostics.AddError(exists.Summary(), exists.Detail()+"\n\n"+destroyFirst)
		return
	}
	if err == nil {
		checkNamespace(live, &resp.Diagnostics)
		err = checkAlone(ctx, cluster.Installation(), &m, &resp.Diagnostics)
	}
	if err == nil {
		err = cluster.Installation().Check(ctx, objects, r.forces(&m))
	}
	if err != nil {
		resp.Diagnostics.Append(agentError(&m, err))
	}
	if resp.Diagnostics.HasError() {
		return
	}
	// From here on, objects may exist, so that the state must be written even after an error.
	setAgentIdentity(ctx, resp.Identity, m.Namespace.ValueString(), m.Name.ValueString(), &resp.Diagnostics)
	resp.Diagnostics.Append(lifecycle.RecordOf(cluster).Save(ctx, resp.Private)...)
	if err := cluster.Installation().Apply(ctx, objects, r.forces(&m)); err != nil {
		m.report(install.Status{})
		resp.Diagnostics.Append(agentError(&m, err))
	} else {
		r.await(ctx, &m, cluster.Installation(), &resp.Diagnostics)
	}
	if resp.Diagnostics.HasError() {
		resp.Diagnostics.AddWarning(m.title()+" is only partly installed", "Terraform marks it as tainted. The next apply completes the installation: "+
			"it creates the Deployment again, and keeps definitions, provisioners, node profiles and nodes.")
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// Update declares the installation again, and waits until the new replicas are available. If only
// attributes of the state change, it waits for nothing.
func (r *agentResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	ctx = r.Session.Mask(ctx)
	var before, m model
	resp.Diagnostics.Append(req.State.Get(ctx, &before)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	ctx, cancel := lifecycle.WithLimit(ctx, m.Timeouts.Update, agentTimeout, &resp.Diagnostics)
	defer cancel()
	recorded := before.Revision
	old, err := before.inventory()
	if err != nil {
		resp.Diagnostics.Append(agentError(&m, err))
	}
	objects := r.objects(ctx, &m, &resp.Diagnostics)
	cluster, record := lifecycle.Reconnect(ctx, r.Session, req.Private, m.title(), &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	setAgentIdentity(ctx, resp.Identity, m.Namespace.ValueString(), m.Name.ValueString(), &resp.Diagnostics)
	keeper := cluster.Installation()
	if m.Revision.Equal(recorded) && !record.HasMoved() {
		err := r.status(ctx, &m, keeper, &resp.Diagnostics)
		if err != nil {
			resp.Diagnostics.Append(agentError(&m, err))
			return
		}
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		return
	}
	if err := checkTurnedOn(ctx, keeper, without(objects, old), r.forces(&m), &resp.Diagnostics); err != nil {
		resp.Diagnostics.Append(agentError(&m, err))
	}
	if resp.Diagnostics.HasError() {
		return
	}
	// Fields that others have changed belong to them now. The plan has shown these changes, so
	// that a conflict would say nothing new.
	err = keeper.Apply(ctx, objects, true)
	if err == nil {
		was, is := before.settings(r.Session.Config.Version), m.settings(r.Session.Config.Version)
		err = keeper.Withdraw(ctx, was.Deployment(), is.Deployment())
	}
	if err == nil {
		_, err = keeper.Remove(ctx, dropped(old, objects))
	}
	if err != nil {
		resp.Diagnostics.Append(agentError(&m, err))
		return
	}
	resp.Diagnostics.Append(lifecycle.RecordOf(cluster).Save(ctx, resp.Private)...)
	r.await(ctx, &m, keeper, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// forces reports whether an installation takes over fields of others: if the resource says so, or else the provider
// block.
func (r *agentResource) forces(m *model) bool {
	if m.ForceConflicts.IsNull() || m.ForceConflicts.IsUnknown() {
		return r.Session.Config.ForceConflicts
	}
	return m.ForceConflicts.ValueBool()
}

// dropped returns the objects that are not declared any more, except the namespace and the definitions,
// which somebody else may manage now.
func dropped(before, now []*unstructured.Unstructured) (out []*unstructured.Unstructured) {
	_, out = split(without(before, now), "Namespace", "CustomResourceDefinition")
	return out
}

// without returns the objects that are not among the others.
func without(objects, others []*unstructured.Unstructured) (out []*unstructured.Unstructured) {
	found := pick(objects, others)
	for i, object := range objects {
		if found[i] == nil {
			out = append(out, object)
		}
	}
	return out
}

// objects returns the objects that the model declares, and sets its revision.
func (r *agentResource) objects(ctx context.Context, m *model, diags *diag.Diagnostics) []*unstructured.Unstructured {
	r.inherit(ctx, m)
	settings := m.settings(r.Session.Config.Version)
	diags.Append(settingsDiagnostics(&settings)...)
	if diags.HasError() {
		return nil
	}
	objects, err := settings.Objects()
	if err == nil {
		var revision string
		revision, err = install.Revision(objects)
		m.Revision = types.StringValue(revision)
	}
	if err != nil {
		diags.Append(agentError(m, err))
	}
	tflog.Debug(ctx, "rendered the agent's installation", map[string]any{"objects": len(objects)})
	return objects
}

// await waits until the agent is available, and sets the attributes that are known only then.
func (r *agentResource) await(ctx context.Context, m *model, keeper session.Installation, diags *diag.Diagnostics) {
	status, err := keeper.Await(ctx, m.Namespace.ValueString(), m.Name.ValueString(), func(missing string) {
		tflog.Info(ctx, "waited for the agent", map[string]any{"agent": m.title(), "missing": missing})
	})
	m.report(status)
	if err != nil {
		diags.Append(agentError(m, err))
	}
}

func agentError(m *model, err error) diag.Diagnostic {
	if len(lifecycle.ConflictsOf(err)) == 0 {
		return lifecycle.ExplainError(err, "agent", m.id())
	}
	summary, fields := lifecycle.Summarise(fmt.Sprintf("%s: %s", m.title(), err))
	return diag.NewErrorDiagnostic(summary, "Helm, kubectl or another configuration has declared an object of the installation, as the names of the field managers show. "+
		"You can leave definitions to it with `install_crds = false`, the namespace with `create_namespace = false`, and the NetworkPolicy with "+
		"`network_policy = false`. Or set `force_conflicts = true` "+
		"to take the fields over, and remove the object where it was declared. Or import the whole installation if it has installed the agent.\n\n"+
		lifecycle.ImportBlock(m.id())+"\n\n"+fields)
}

func setAgentIdentity(ctx context.Context, identity *tfsdk.ResourceIdentity, namespace, name string, diags *diag.Diagnostics) {
	if identity != nil {
		diags.Append(identity.SetAttribute(ctx, path.Root("namespace"), namespace)...)
		diags.Append(identity.SetAttribute(ctx, path.Root("name"), name)...)
	}
}
