package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

// customResource is a Terraform resource that is one object in the cluster.
type customResource struct {
	kind    kind
	session *session.Session
}

var (
	_ claimant                            = &customResource{}
	_ resource.ResourceWithConfigure      = &customResource{}
	_ resource.ResourceWithIdentity       = &customResource{}
	_ resource.ResourceWithImportState    = &customResource{}
	_ resource.ResourceWithModifyPlan     = &customResource{}
	_ resource.ResourceWithMoveState      = &customResource{}
	_ resource.ResourceWithUpgradeState   = &customResource{}
	_ resource.ResourceWithValidateConfig = &customResource{}
)

func (r *customResource) namings() []naming {
	return []naming{{attribute: "name", title: r.kind.title()}}
}

func (r *customResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + r.kind.typeName()
}

func (r *customResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = r.kind.schema(ctx)
}

func (r *customResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = nameIdentity("Name of the object in the cluster.")
}

func (r *customResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.session = sessionOf(req, resp)
}

func (r *customResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	resource.ImportStatePassthroughWithIdentity(ctx, path.Root("name"), path.Root("name"), req, resp)
}

// Create declares the object.
func (r *customResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	ctx = r.session.Mask(ctx)
	name := nameOf(req.Plan.Raw)
	ctx, cancel := limited(ctx, timeoutsOf(ctx, req.Plan.GetAttribute, &resp.Diagnostics).Create, callLimit, &resp.Diagnostics)
	defer cancel()
	doc := r.encode(req.Plan.Raw, &resp.Diagnostics)
	cluster := r.connect(ctx, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if err := r.create(ctx, cluster, r.objects(cluster, req.Plan.Raw), name, doc.Fields); err != nil {
		resp.Diagnostics.Append(explainError(err, r.kind.title(), name))
		return
	}
	setName(ctx, resp.Identity, name, &resp.Diagnostics)
	resp.Diagnostics.Append(clusterRecord{UID: cluster.UID()}.save(ctx, resp.Private)...)
	resp.State.Raw = r.settled(ctx, name, r.withComputed(req.Plan.Raw, doc, &resp.Diagnostics))
}

// Read refreshes the state from the live object.
func (r *customResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	ctx = r.session.Mask(ctx)
	name := nameOf(req.State.Raw)
	setName(ctx, resp.Identity, name, &resp.Diagnostics)
	if err := r.session.Known(); err != nil {
		resp.Diagnostics.Append(notRefreshed(r.kind.title()+" "+name, err))
		return
	}
	cluster, err := r.session.Cluster(ctx)
	if err != nil {
		tellOnce(r.session, noCluster, err, &resp.Diagnostics)
		return
	}
	record := loadCluster(ctx, req.Private, &resp.Diagnostics)
	if record.elsewhere(cluster.UID()) {
		resp.Diagnostics.AddWarning(fmt.Sprintf("%s %s belongs to another cluster", r.kind.title(), name),
			"The provider now reaches another cluster than the one in which the object was made, so that it counts as gone. "+
				"If that is not meant, correct the provider block; the object itself has not been touched.")
		resp.State.RemoveResource(ctx)
		return
	}
	live, err := r.objects(cluster, req.State.Raw).Recall(ctx, name)
	if gone(err) {
		resp.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		resp.Diagnostics.Append(explainError(err, r.kind.title(), name))
		return
	}
	resp.Diagnostics.Append(clusterRecord{UID: cluster.UID()}.save(ctx, resp.Private)...)
	resp.State.Raw = r.refresh(req.State.Raw, live, record == nil, &resp.Diagnostics)
	r.tellLeaving(ctx, cluster, live, &resp.Diagnostics)
}

// Update declares the object anew.
func (r *customResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	ctx = r.session.Mask(ctx)
	name := nameOf(req.Plan.Raw)
	ctx, cancel := limited(ctx, timeoutsOf(ctx, req.Plan.GetAttribute, &resp.Diagnostics).Update, callLimit, &resp.Diagnostics)
	defer cancel()
	before := r.encode(req.State.Raw, &resp.Diagnostics)
	doc := r.encode(req.Plan.Raw, &resp.Diagnostics)
	cluster := r.connect(ctx, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	objects := r.objects(cluster, req.Plan.Raw)
	live, err := objects.Recall(ctx, name)
	if err == nil {
		err = leaving(ctx, cluster, live)
	}
	if err == nil || gone(err) {
		err = objects.Update(ctx, name, before.Fields, doc.Fields)
	}
	if conflicts := conflictsOf(err); foreseen(conflicts, before.Fields, r.specNow(req.State.Raw, live)) {
		err = cluster.Forced(r.kind.object()).Update(ctx, name, before.Fields, doc.Fields)
	}
	if err != nil {
		resp.Diagnostics.Append(explainError(err, r.kind.title(), name))
		return
	}
	setName(ctx, resp.Identity, name, &resp.Diagnostics)
	resp.Diagnostics.Append(clusterRecord{UID: cluster.UID()}.save(ctx, resp.Private)...)
	resp.State.Raw = r.settled(ctx, name, r.withComputed(req.Plan.Raw, doc, &resp.Diagnostics))
}

// Delete removes the object and waits until it is gone.
func (r *customResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	ctx = r.session.Mask(ctx)
	name := nameOf(req.State.Raw)
	ctx, cancel := limited(ctx, timeoutsOf(ctx, req.State.GetAttribute, &resp.Diagnostics).Delete, r.kind.deleteLimit(), &resp.Diagnostics)
	defer cancel()
	cluster := r.connect(ctx, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	objects := cluster.Objects(r.kind.object())
	live, err := objects.Recall(ctx, name)
	if gone(err) {
		live, err = objects.Get(ctx, name) // a list may be older than the object
	}
	if gone(err) {
		return
	}
	if err == nil {
		err = r.kind.remove(ctx, removal{name, live.GetUID(), objects, cluster})
	}
	if err != nil {
		resp.Diagnostics.Append(explainError(err, r.kind.title(), name))
	}
}

func (r *customResource) connect(ctx context.Context, diags *diag.Diagnostics) session.Cluster {
	cluster, err := r.session.Cluster(ctx)
	if err != nil {
		diags.AddError(noCluster+": "+err.Error(), nothingChanged)
	}
	return cluster
}

// objectType is the type of a whole resource, which is always an object.
func objectType(v tftypes.Value) tftypes.Object { return v.Type().(tftypes.Object) }

func (r *customResource) encode(v tftypes.Value, diags *diag.Diagnostics) *wire.Document {
	doc, err := r.kind.codec().Encode(v)
	if err != nil {
		diags.AddError(r.kind.title()+": "+err.Error(), "")
		return nil
	}
	return doc
}

// refresh is the state that a live object gives.
func (r *customResource) refresh(prior tftypes.Value, live *unstructured.Unstructured, imported bool, diags *diag.Diagnostics) tftypes.Value {
	spec, _, err := unstructured.NestedMap(live.Object, "spec")
	if err == nil {
		var now tftypes.Value
		if now, err = r.kind.codec().Decode(spec, objectType(prior)); err == nil {
			if !imported {
				now = wire.Merge(prior, now)
			}
			now = withAttributes(now, attributesOf(prior, r.kind.codec().Local))
			now = withAttributes(now, map[string]tftypes.Value{deletionTimestamp: deletionOf(live)})
			var doc *wire.Document
			if doc, err = r.kind.codec().Encode(now); err == nil {
				var computed map[string]tftypes.Value
				if computed, err = r.kind.computed(objectType(now), doc.Fields); err == nil {
					return withAttributes(now, computed)
				}
			}
		}
	}
	// A warning, since it must not keep from destroying or correcting it.
	diags.AddWarning(fmt.Sprintf("%s %s: %s", r.kind.title(), live.GetName(), err),
		"The object in the cluster cannot be read as one of this kind. The state stays as it was recorded.")
	return prior
}

// specNow is the spec of a live object in the terms of the state, nil if it cannot be read.
func (r *customResource) specNow(state tftypes.Value, live *unstructured.Unstructured) map[string]any {
	var ignored diag.Diagnostics
	if live == nil {
		return nil
	}
	if doc := r.encode(r.refresh(state, live, false, &ignored), &ignored); doc != nil {
		return doc.Fields
	}
	return nil
}

func (r *customResource) withComputed(v tftypes.Value, doc *wire.Document, diags *diag.Diagnostics) tftypes.Value {
	if doc == nil {
		return v
	}
	computed, err := r.kind.computed(objectType(v), doc.Fields)
	if err != nil {
		diags.AddError(r.kind.title()+": "+err.Error(), "")
		return v
	}
	return withAttributes(v, computed)
}

// nameIdentity is the identity of what is known by its name alone.
func nameIdentity(description string) identityschema.Schema {
	return identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"name": identityschema.StringAttribute{RequiredForImport: true, Description: description},
	}}
}

// nameOf reads the attribute name of a resource, empty where it is not known.
func nameOf(v tftypes.Value) string { return textAt(v, "name") }

// textAt reads an attribute of a resource, empty where it is not known or not set.
func textAt(v tftypes.Value, attribute string) (text string) {
	if set := attributesOf(v, nil)[attribute]; set.IsKnown() {
		_ = set.As(&text) // which fails for other types only
	}
	return text
}
