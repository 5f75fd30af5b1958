package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// An object whose deletion somebody has asked for stays until its finalizers are gone.
// What is written to it meanwhile goes with it, so that it is replaced and never updated.

// deletionTimestamp is the attribute by which a plan says so.
const deletionTimestamp = "deletion_timestamp"

func deletionAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		Computed: true,
		MarkdownDescription: "When the deletion of the object was requested. Null unless it is being deleted. In that case a " +
			"plan replaces it: the apply waits until the object is gone and creates it again.",
	}
}

// deletionOf is the attribute of a live object.
func deletionOf(live *unstructured.Unstructured) tftypes.Value {
	if at := live.GetDeletionTimestamp(); at != nil {
		return tftypes.NewValue(tftypes.String, at.UTC().Format(time.RFC3339))
	}
	return tftypes.NewValue(tftypes.String, nil)
}

// planStaying plans an object that is not being deleted. One that is has to be replaced.
func planStaying(req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	resp.Plan.Raw = withAttributes(resp.Plan.Raw, map[string]tftypes.Value{deletionTimestamp: tftypes.NewValue(tftypes.String, nil)})
	if !req.State.Raw.IsNull() && !attributesOf(req.State.Raw, nil)[deletionTimestamp].IsNull() {
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root(deletionTimestamp))
	}
}

// errLeaving says that an object is being deleted.
var errLeaving = errors.New("it is being deleted")

// leaving says since when an object is being deleted and what holds it, nil for one
// that stays.
func leaving(ctx context.Context, cluster session.Cluster, live *unstructured.Unstructured) error {
	at := live.GetDeletionTimestamp()
	if at == nil {
		return nil
	}
	lines := []string{fmt.Sprintf("%s since %s", errLeaving, at.UTC().Format(time.RFC3339))}
	if held := live.GetFinalizers(); len(held) > 0 {
		lines = append(lines, "Its finalizers: "+strings.Join(held, ", ")+".")
	}
	switch nodes, err := cluster.Teardown().Nodes(ctx, live.GetName()); {
	case err != nil:
		lines = append(lines, "Its nodes could not be listed: "+err.Error()+".")
	case len(nodes) > 0:
		lines = append(lines, fmt.Sprintf("Its nodes, which the agent drains: %s.", strings.Join(nodes, ", ")))
	}
	return fmt.Errorf("%w%s", errLeaving, strings.TrimPrefix(strings.Join(lines, "\n"), errLeaving.Error()))
}

// tellLeaving warns that an object is on its way out.
func (r *customResource) tellLeaving(ctx context.Context, cluster session.Cluster, live *unstructured.Unstructured, diags *diag.Diagnostics) {
	if err := leaving(ctx, cluster, live); err != nil {
		summary, detail := summarise(fmt.Sprintf("%s %s: %s", r.kind.title(), live.GetName(), err))
		diags.AddWarning(summary, strings.TrimSpace(detail+"\nAn apply waits until it is gone, and fails if it is not in time; `timeouts` says how long."))
	}
}

// create declares a new object. Where one that is being deleted still has the name,
// it waits until that is gone.
func (r *customResource) create(ctx context.Context, cluster session.Cluster, objects session.Objects, name string, spec map[string]any) error {
	err := objects.Create(ctx, name, spec)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	live, unread := objects.Get(ctx, name)
	switch {
	case unread != nil && !gone(unread):
		return errors.Join(err, unread)
	case unread == nil && live.GetDeletionTimestamp() == nil:
		return err
	}
	if err := r.kind.awaitGone(ctx, removal{name: name, objects: objects, cluster: cluster}); err != nil {
		return fmt.Errorf("the one that has this name is being deleted: %w", err)
	}
	return objects.Create(ctx, name, spec)
}
