package customresource

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
	"github.com/hashicorp/terraform-plugin-framework/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

// An object that is being deleted exists until its finalizers are removed. An update would be lost
// with it, so that a plan always replaces it.

// DeletionTimestamp is the name of the attribute that is set while the object is being deleted.
const DeletionTimestamp = "deletion_timestamp"

// DeletionAttribute returns the attribute deletion_timestamp.
func DeletionAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		Computed: true,
		MarkdownDescription: "When the deletion of the object was requested. Null unless it is being deleted. In that case a " +
			"plan replaces it: the apply waits until the object is gone and creates it again.",
	}
}

// deletionTimestampOf returns the value of the attribute for a live object.
func deletionTimestampOf(live *unstructured.Unstructured) types.String {
	if at := live.GetDeletionTimestamp(); at != nil {
		return types.StringValue(at.UTC().Format(time.RFC3339))
	}
	return types.StringNull()
}

// planStaying plans that the object is not being deleted. If it is, it must be replaced.
func planStaying(m, state *wire.Model, resp *resource.ModifyPlanResponse) *wire.Model {
	if state != nil && !state.Attribute(DeletionTimestamp).IsNull() {
		resp.RequiresReplace = append(resp.RequiresReplace, path.Root(DeletionTimestamp))
	}
	return m.Without(DeletionTimestamp)
}

// succeeded reports whether the object of the state was being deleted and is gone, so that the live object of
// its name is another one. With create_before_destroy, it is the replacement.
func succeeded(state *wire.Model, live *unstructured.Unstructured) bool {
	return !state.Attribute(DeletionTimestamp).IsNull() && live.GetDeletionTimestamp() == nil
}

// errDeleting means that an object is being deleted.
var errDeleting = errors.New("it is being deleted")

// deletion returns an errDeleting that says since when the object is being deleted and what blocks
// that. It returns nil if the object is not being deleted.
func deletion(ctx context.Context, cluster session.Cluster, live *unstructured.Unstructured) error {
	at := live.GetDeletionTimestamp()
	if at == nil {
		return nil
	}
	lines := []string{fmt.Sprintf("%s since %s", errDeleting, at.UTC().Format(time.RFC3339))}
	if held := live.GetFinalizers(); len(held) > 0 {
		lines = append(lines, "Its finalizers: "+strings.Join(held, ", ")+".")
	}
	switch nodes, err := cluster.Teardown().Nodes(ctx, live.GetName()); {
	case err != nil:
		lines = append(lines, "Its nodes could not be listed: "+err.Error()+".")
	case len(nodes) > 0:
		lines = append(lines, fmt.Sprintf("Its nodes, which the agent drains: %s.", strings.Join(nodes, ", ")))
	}
	return fmt.Errorf("%w%s", errDeleting, strings.TrimPrefix(strings.Join(lines, "\n"), errDeleting.Error()))
}

// reportDeletion warns if an object is being deleted.
func (r *Resource) reportDeletion(ctx context.Context, cluster session.Cluster, live *unstructured.Unstructured, diags *diag.Diagnostics) {
	if err := deletion(ctx, cluster, live); err != nil {
		summary, detail := lifecycle.Summarise(fmt.Sprintf("%s %s: %s", r.kind.Title(), live.GetName(), err))
		diags.AddWarning(summary, strings.TrimSpace(detail+"\nAn apply waits until it is deleted, for as long as `timeouts` allows."))
	}
}

// create declares a new object. If an object of the name is being deleted, it waits until that is
// gone.
func (r *Resource) create(ctx context.Context, cluster session.Cluster, objects session.Objects, name string, spec map[string]any) error {
	err := objects.Create(ctx, name, spec)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	live, unread := objects.Get(ctx, name)
	switch {
	case unread != nil && !lifecycle.Gone(unread):
		return errors.Join(err, unread)
	case unread == nil && live.GetDeletionTimestamp() == nil:
		return err
	}
	if err := r.kind.AwaitGone(ctx, Removal{Name: name, Objects: objects, Cluster: cluster}); err != nil {
		return fmt.Errorf("the existing object of this name is being deleted: %w", err)
	}
	return objects.Create(ctx, name, spec)
}
