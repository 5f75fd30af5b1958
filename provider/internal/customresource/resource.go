package customresource

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

// Resource is a Terraform resource that manages one object in the cluster.
type Resource struct {
	lifecycle.Base
	kind Kind
}

// New returns the resource of a kind.
func New(k Kind) *Resource {
	return &Resource{lifecycle.Base{Suffix: k.TypeName(), What: "Name of the object in the cluster.", Shape: k.Schema}, k}
}

var _ lifecycle.Resource = &Resource{}

// Namings implements [lifecycle.Claimant].
func (r *Resource) Namings() []lifecycle.Naming {
	return []lifecycle.Naming{{Attribute: "name", Title: r.kind.Title()}}
}

// ImportState imports by name or identity.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	r.Base.ImportState(ctx, req, resp)
	resp.Diagnostics.Append(lifecycle.Record(ctx, resp.Private, lifecycle.ImportedKey, true)...)
}

// Create declares the object.
func (r *Resource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	ctx = r.Session.Mask(ctx)
	var m *wire.Model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	name := m.Name()
	ctx, cancel := lifecycle.WithLimit(ctx, lifecycle.Timeouts(ctx, req.Plan.GetAttribute, &resp.Diagnostics).Create, callLimit, &resp.Diagnostics)
	defer cancel()
	doc := r.encode(m, &resp.Diagnostics)
	cluster := lifecycle.Await(ctx, r.Session, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if err := r.create(ctx, cluster, r.objects(cluster, m), name, doc.Fields); err != nil {
		resp.Diagnostics.Append(lifecycle.ExplainError(err, r.kind.Title(), name))
		return
	}
	lifecycle.SetName(ctx, resp.Identity, name, &resp.Diagnostics)
	resp.Diagnostics.Append(lifecycle.RecordOf(cluster).Save(ctx, resp.Private)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, r.settled(ctx, r.withComputed(ctx, m, doc, &resp.Diagnostics)))...)
}

// Read refreshes the state from the live object.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	ctx = r.Session.Mask(ctx)
	var m *wire.Model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	name := m.Name()
	lifecycle.SetName(ctx, resp.Identity, name, &resp.Diagnostics)
	cluster, record := lifecycle.Refreshing(ctx, r.Session, req.Private, r.kind.Title()+" "+name, &resp.Diagnostics)
	if cluster == nil {
		return
	}
	imported := lifecycle.Recorded[bool](ctx, req.Private, lifecycle.ImportedKey, &resp.Diagnostics)
	if record.Elsewhere(cluster.UID()) {
		resp.Diagnostics.AddWarning(fmt.Sprintf("%s %s belongs to another cluster", r.kind.Title(), name),
			"The provider block now names another cluster than the one in which the object was created, so the object counts as deleted. "+
				"If you did not intend this, correct the provider block. The object itself has not been changed.")
		resp.State.RemoveResource(ctx)
		return
	}
	live, err := r.objects(cluster, m).Recall(ctx, name)
	if lifecycle.Gone(err) {
		resp.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		resp.Diagnostics.Append(lifecycle.ExplainError(err, r.kind.Title(), name))
		return
	}
	resp.Diagnostics.Append(lifecycle.RecordOf(cluster).Save(ctx, resp.Private)...)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, lifecycle.ImportedKey, nil)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, r.refresh(ctx, m, live, imported != nil, &resp.Diagnostics))...)
	r.reportDeletion(ctx, cluster, live, &resp.Diagnostics)
}

// Update declares the object again.
func (r *Resource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	ctx = r.Session.Mask(ctx)
	var state, m *wire.Model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	name := m.Name()
	ctx, cancel := lifecycle.WithLimit(ctx, lifecycle.Timeouts(ctx, req.Plan.GetAttribute, &resp.Diagnostics).Update, callLimit, &resp.Diagnostics)
	defer cancel()
	before := r.encode(state, &resp.Diagnostics)
	doc := r.encode(m, &resp.Diagnostics)
	cluster, _ := lifecycle.Reconnect(ctx, r.Session, req.Private, r.kind.Title()+" "+name, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	objects := r.objects(cluster, m)
	live, err := objects.Recall(ctx, name)
	if err == nil {
		err = deletion(ctx, cluster, live)
	}
	if err == nil || lifecycle.Gone(err) {
		err = objects.Update(ctx, name, before.Fields, doc.Fields)
	}
	if conflicts := lifecycle.ConflictsOf(err); lifecycle.InPlan(conflicts, before.Fields, r.specNow(ctx, state, live)) {
		err = cluster.Objects(r.kind.Object(), true).Update(ctx, name, before.Fields, doc.Fields)
	}
	if err != nil {
		resp.Diagnostics.Append(lifecycle.ExplainUpdate(err, r.kind.Title(), name, before.Fields)...)
		return
	}
	lifecycle.SetName(ctx, resp.Identity, name, &resp.Diagnostics)
	resp.Diagnostics.Append(lifecycle.RecordOf(cluster).Save(ctx, resp.Private)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, r.settled(ctx, r.withComputed(ctx, m, doc, &resp.Diagnostics)))...)
}

// Delete removes the object and waits until it is gone.
func (r *Resource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	ctx = r.Session.Mask(ctx)
	var m *wire.Model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	name := m.Name()
	ctx, cancel := lifecycle.WithLimit(ctx, lifecycle.Timeouts(ctx, req.State.GetAttribute, &resp.Diagnostics).Delete, r.kind.DeleteLimit(), &resp.Diagnostics)
	defer cancel()
	cluster := lifecycle.Deleting(ctx, r.Session, req.Private, r.kind.Title()+" "+name, &resp.Diagnostics)
	if cluster == nil {
		return
	}
	objects := cluster.Objects(r.kind.Object(), false)
	live, err := objects.Recall(ctx, name)
	if lifecycle.Gone(err) {
		live, err = objects.Get(ctx, name) // it may have been created since the list was read
	}
	if lifecycle.Gone(err) || err == nil && succeeded(m, live) {
		return
	}
	if err == nil {
		err = r.kind.Remove(ctx, Removal{name, live.GetUID(), live.GetFinalizers(), objects, cluster})
	}
	if err != nil {
		resp.Diagnostics.Append(lifecycle.ExplainError(err, r.kind.Title(), name))
	}
}

func (r *Resource) encode(m *wire.Model, diags *diag.Diagnostics) *wire.Document {
	doc, err := r.kind.Codec().EncodeModel(m)
	if err != nil {
		diags.AddError(r.kind.Title()+": "+err.Error(), "")
		return nil
	}
	return doc
}

// refresh returns the state of a live object. If that cannot be decoded, the state stays as it is, with
// a warning, so that the object can still be destroyed or corrected.
func (r *Resource) refresh(ctx context.Context, state *wire.Model, live *unstructured.Unstructured, imported bool, diags *diag.Diagnostics) *wire.Model {
	now, err := r.read(ctx, state, live, imported)
	if err != nil {
		diags.AddWarning(fmt.Sprintf("%s %s: %s", r.kind.Title(), live.GetName(), err),
			"The object in the cluster cannot be decoded. The state stays as it was recorded.")
		return state
	}
	return now
}

// read returns the state of a live object. Fields that the state does not declare are
// left out, unless the object has just been imported.
func (r *Resource) read(ctx context.Context, state *wire.Model, live *unstructured.Unstructured, imported bool) (*wire.Model, error) {
	spec, _, err := unstructured.NestedMap(live.Object, "spec")
	if err != nil {
		return nil, err
	}
	now, err := r.kind.Codec().DecodeModel(spec, state, imported)
	if err != nil {
		return nil, err
	}
	now = now.With(ctx, map[string]attr.Value{DeletionTimestamp: deletionTimestampOf(live)})
	doc, err := r.kind.Codec().EncodeModel(now)
	if err != nil {
		return nil, err
	}
	computed, err := r.kind.Computed(doc.Fields)
	return now.With(ctx, computed), err
}

// specNow returns the fields of a live object that the state declares, spelt as there if they mean the same, or
// nil if they cannot be decoded.
func (r *Resource) specNow(ctx context.Context, state *wire.Model, live *unstructured.Unstructured) map[string]any {
	if live == nil {
		return nil
	}
	now, err := r.read(ctx, state, live, false)
	if err == nil {
		now, err = now.SpeltAs(ctx, state, r.kind.Schema(ctx))
	}
	if err != nil {
		return nil
	}
	doc, err := r.kind.Codec().EncodeModel(now)
	if err != nil {
		return nil
	}
	return doc.Fields
}

func (r *Resource) withComputed(ctx context.Context, m *wire.Model, doc *wire.Document, diags *diag.Diagnostics) *wire.Model {
	if doc == nil {
		return m
	}
	computed, err := r.kind.Computed(doc.Fields)
	if err != nil {
		diags.AddError(r.kind.Title()+": "+err.Error(), "")
		return m
	}
	return m.With(ctx, computed)
}
