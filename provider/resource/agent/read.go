package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// drifted is the revision of an installation that differs from its declaration.
const drifted = "drifted"

// Read refreshes the state from the live objects. It reads all settings from them, so that an installation
// can be imported however it was installed.
func (r *agentResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	ctx = r.Session.Mask(ctx)
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	setAgentIdentity(ctx, resp.Identity, m.Namespace.ValueString(), m.Name.ValueString(), &resp.Diagnostics)
	cluster, record := lifecycle.Refreshing(ctx, r.Session, req.Private, m.title(), &resp.Diagnostics)
	if cluster == nil || resp.Diagnostics.HasError() {
		return
	}
	if record.Elsewhere(cluster.UID()) {
		resp.Diagnostics.AddWarning(m.title()+" belongs to another cluster", "The provider block now names another cluster than the one in which the agent was installed, "+
			"so the agent counts as deleted. If you did not intend this, correct the provider block. The installation has not been changed.")
		resp.State.RemoveResource(ctx)
		return
	}
	gone, err := r.refresh(ctx, &m, cluster.Installation(), &resp.Diagnostics)
	if err != nil {
		resp.Diagnostics.Append(agentError(&m, err))
		return
	}
	if gone {
		resp.State.RemoveResource(ctx)
		return
	}
	// The fields of an imported installation belong to another field manager.
	seen := lifecycle.RecordOf(cluster)
	seen.Moved = record == nil || record.HasMoved()
	resp.Diagnostics.Append(seen.Save(ctx, resp.Private)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// refresh reads the installation. It counts as gone if it has neither a Deployment nor a ServiceAccount, and
// the namespace that it has made is gone too, with which a destroy ends.
func (r *agentResource) refresh(ctx context.Context, m *model, keeper session.Installation, diags *diag.Diagnostics) (gone bool, err error) {
	version := r.Session.Config.Version
	all := install.Settings{Namespace: m.Namespace.ValueString(), Name: m.Name.ValueString()}.Defaulted(version)
	declared, err := all.Objects()
	if err != nil {
		return false, err
	}
	live, err := keeper.Read(ctx, declared)
	if err != nil {
		return false, err
	}
	if !has(live, "Deployment") && !has(live, "ServiceAccount") && !m.hasNamespace(live) {
		return true, nil
	}
	switch found, err := install.Parse(live); { // fails if the Deployment is missing, which counts as drift
	case err == nil:
		if off(m.CreateNamespace) {
			found.OmitNamespace = true
		}
		if m.imported() {
			found.RoleARN = cmp.Or(found.RoleARN, install.AnnotatedRole(live))
		}
		m.refresh(found, version)
	case m.imported(): // what others have made does not belong to it
		m.CreateNamespace, m.NetworkPolicy = types.BoolValue(!found.OmitNamespace), types.BoolValue(!found.OmitNetworkPolicy)
	}
	m.complete()
	settings := m.settings(version)
	if declared, err = settings.Objects(); err != nil {
		return false, err
	}
	if m.Revision, err = revisionOf(m, declared, live, diags); err != nil {
		return false, err
	}
	if has(live, "Deployment") {
		return false, r.status(ctx, m, keeper, diags)
	}
	m.report(install.Status{})
	return false, nil
}

// hasNamespace reports whether the namespace is there that the installation has made. Before an import is
// complete, it is not known who has made it.
func (m *model) hasNamespace(live []*unstructured.Unstructured) bool {
	return m.CreateNamespace.ValueBool() && slices.ContainsFunc(live, func(o *unstructured.Unstructured) bool {
		return o != nil && o.GetKind() == "Namespace" && install.Owns(o)
	})
}

func has(objects []*unstructured.Unstructured, kind string) bool {
	return slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool { return o != nil && o.GetKind() == kind })
}

func revisionOf(m *model, declared, live []*unstructured.Unstructured, diags *diag.Diagnostics) (types.String, error) {
	if differences := install.Differences(declared, pick(declared, live)); len(differences) > 0 {
		diags.AddWarning(fmt.Sprintf("%s: the cluster differs from the declaration in %s", m.title(), explain.Plural(len(differences), "place")),
			strings.Join(differences, "\n")+"\n\nThe next apply reverts these differences.")
		return types.StringValue(drifted), nil
	}
	revision, err := install.Revision(declared)
	return types.StringValue(revision), err
}

// status sets the attributes about the status of the agent, and warns if it is not ready.
func (r *agentResource) status(ctx context.Context, m *model, keeper session.Installation, diags *diag.Diagnostics) error {
	status, err := keeper.Status(ctx, m.Namespace.ValueString(), m.Name.ValueString(), time.Now())
	if err != nil {
		return err
	}
	m.report(status)
	if status.Waiting != "" {
		diags.AddWarning(m.title()+" is not ready: "+status.Waiting, strings.Join(status.Troubles, "\n"))
	}
	return nil
}
