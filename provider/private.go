package provider

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/types"
)

// clusterKey is where the private state holds the cluster that an object is in.
const clusterKey = "cluster"

// clusterRecord tells clusters apart.
type clusterRecord struct {
	// UID is that of the cluster, empty if it is yet to be seen.
	UID types.UID `json:"uid,omitempty"`
	// Moved says that a resource of another type has declared the object, in
	// the name of another field manager, and that this one has not changed it yet.
	Moved bool `json:"moved,omitempty"`
}

// privateState is the part of a resource's private state that is used here.
type privateState interface {
	SetKey(context.Context, string, []byte) diag.Diagnostics
	GetKey(context.Context, string) ([]byte, diag.Diagnostics)
}

func (r clusterRecord) save(ctx context.Context, private privateState) diag.Diagnostics {
	raw, err := json.Marshal(r)
	if err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("record the cluster: "+err.Error(), "")}
	}
	return private.SetKey(ctx, clusterKey, raw)
}

// loadCluster returns what is recorded, nil for an object that has just been
// imported.
func loadCluster(ctx context.Context, private privateState, diags *diag.Diagnostics) *clusterRecord {
	raw, found := private.GetKey(ctx, clusterKey)
	diags.Append(found...)
	if len(raw) == 0 {
		return nil
	}
	var record clusterRecord
	if err := json.Unmarshal(raw, &record); err != nil {
		diags.AddError("read which cluster the object is in: "+err.Error(), "")
	}
	return &record
}

// elsewhere reports whether the object is in another cluster than that of the UID.
func (r *clusterRecord) elsewhere(uid types.UID) bool { return r != nil && r.UID != "" && r.UID != uid }

// moved reports whether another resource's field manager still holds the object.
func (r *clusterRecord) moved() bool { return r != nil && r.Moved }

// setName sets the identity of what is known by its name. Terraform before 1.12
// has no identities and then there is nothing to set.
func setName(ctx context.Context, identity *tfsdk.ResourceIdentity, name string, diags *diag.Diagnostics) {
	if identity != nil {
		diags.Append(identity.SetAttribute(ctx, path.Root("name"), name)...)
	}
}

// withAttributes returns the object with some of its attributes replaced.
func withAttributes(v tftypes.Value, replaced map[string]tftypes.Value) tftypes.Value {
	if len(replaced) == 0 {
		return v
	}
	all := attributesOf(v, nil)
	maps.Copy(all, replaced)
	return tftypes.NewValue(v.Type(), all)
}

// attributesOf returns the named attributes of a known object, all if none is named.
func attributesOf(v tftypes.Value, names []string) map[string]tftypes.Value {
	var all map[string]tftypes.Value
	if err := v.As(&all); err != nil {
		panic("a resource that is no object: " + err.Error())
	}
	if names == nil {
		return all
	}
	out := make(map[string]tftypes.Value, len(names))
	for _, name := range names {
		if value, ok := all[name]; ok {
			out[name] = value
		}
	}
	return out
}
