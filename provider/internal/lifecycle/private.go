package lifecycle

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/types"
)

// clusterKey is where the private state holds the cluster that an object is in.
const clusterKey = "cluster"

// ClusterRecord tells clusters apart.
type ClusterRecord struct {
	// UID is that of the cluster, empty if it is yet to be seen.
	UID types.UID `json:"uid,omitempty"`
	// Moved says that a resource of another type has declared the object, in
	// the name of another field manager, and that this one has not changed it yet.
	Moved bool `json:"moved,omitempty"`
}

// PrivateState is the part of a resource's private state that is used here.
type PrivateState interface {
	SetKey(context.Context, string, []byte) diag.Diagnostics
	GetKey(context.Context, string) ([]byte, diag.Diagnostics)
}

// Save records the cluster in the private state.
func (r ClusterRecord) Save(ctx context.Context, private PrivateState) diag.Diagnostics {
	raw, err := json.Marshal(r)
	if err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("record the cluster: "+err.Error(), "")}
	}
	return private.SetKey(ctx, clusterKey, raw)
}

// LoadCluster returns what is recorded, nil for an object that has just been
// imported.
func LoadCluster(ctx context.Context, private PrivateState, diags *diag.Diagnostics) *ClusterRecord {
	raw, found := private.GetKey(ctx, clusterKey)
	diags.Append(found...)
	if len(raw) == 0 {
		return nil
	}
	var record ClusterRecord
	if err := json.Unmarshal(raw, &record); err != nil {
		diags.AddError("read which cluster the object is in: "+err.Error(), "")
	}
	return &record
}

// Elsewhere reports whether the object is in another cluster than that of the UID.
func (r *ClusterRecord) Elsewhere(uid types.UID) bool { return r != nil && r.UID != "" && r.UID != uid }

// HasMoved reports whether another resource's field manager still holds the object.
func (r *ClusterRecord) HasMoved() bool { return r != nil && r.Moved }

// DeclaredKey is where the private state holds that a resource was declared. One
// of which nothing is recorded has just been imported.
const DeclaredKey = "declared"

// IssuerKey is where the private state holds the issuerRecord. A role of which
// nothing is recorded has just been imported.
const IssuerKey = "issuer"
