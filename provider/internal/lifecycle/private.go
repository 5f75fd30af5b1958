package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// clusterKey is the key of the ClusterRecord in private state.
const clusterKey = "cluster"

// ClusterRecord says in which cluster an object is.
type ClusterRecord struct {
	// UID is that of the cluster. It is empty until the cluster has been reached.
	UID types.UID `json:"uid,omitempty"`
	// ARN is that of the EKS cluster. It is empty if the provider block has named none.
	ARN string `json:"arn,omitempty"`
	// Moved means that another field manager has declared the object, and this resource has not
	// applied it yet.
	Moved bool `json:"moved,omitempty"`
}

// PrivateState is the part of a resource's private state that is used here.
type PrivateState interface {
	SetKey(context.Context, string, []byte) diag.Diagnostics
	GetKey(context.Context, string) ([]byte, diag.Diagnostics)
}

// Record sets a key of private state to the JSON of a value.
func Record(ctx context.Context, private PrivateState, key string, value any) diag.Diagnostics {
	raw, err := json.Marshal(value)
	if err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic(fmt.Sprintf("record %q in private state: %s", key, err), "")}
	}
	return private.SetKey(ctx, key, raw)
}

// Recorded returns the value that was recorded under a key of private state, or nil if there is none.
func Recorded[T any](ctx context.Context, private PrivateState, key string, diags *diag.Diagnostics) *T {
	raw, found := private.GetKey(ctx, key)
	diags.Append(found...)
	if len(raw) == 0 {
		return nil
	}
	var value T
	if err := json.Unmarshal(raw, &value); err != nil {
		diags.AddError(fmt.Sprintf("read %q in private state: %s", key, err), NothingChanged)
	}
	return &value
}

// RecordOf returns the record of an object in the cluster.
func RecordOf(cluster session.Cluster) ClusterRecord {
	return ClusterRecord{UID: cluster.UID(), ARN: cluster.ARN()}
}

// Save records the cluster in the private state.
func (r ClusterRecord) Save(ctx context.Context, private PrivateState) diag.Diagnostics {
	return Record(ctx, private, clusterKey, r)
}

// loadCluster returns the record, or nil for an object that has just been imported, or whose deletion has failed
// while it was tainted.
func loadCluster(ctx context.Context, private PrivateState, diags *diag.Diagnostics) *ClusterRecord {
	return Recorded[ClusterRecord](ctx, private, clusterKey, diags)
}

// Elsewhere reports whether the object is in another cluster than that of the UID.
func (r *ClusterRecord) Elsewhere(uid types.UID) bool { return r != nil && r.UID != "" && r.UID != uid }

// clusterName returns the name of the EKS cluster, or an empty string if none is recorded.
func (r *ClusterRecord) clusterName() string {
	if r == nil {
		return ""
	}
	return asset.NameIn(r.ARN)
}

// misplaced says why it is not certain that the provider block names the EKS cluster of the object. It returns an
// empty string if it is.
func (r *ClusterRecord) misplaced(ctx context.Context, s *session.Session) string {
	if r == nil || r.ARN == "" {
		return "The state does not tell in which region and account its cluster is."
	}
	switch named, err := s.ClusterARN(ctx); {
	case err != nil:
		return fmt.Sprintf("Its cluster is %s, and the account of the provider block is not known: %s.", r.ARN, err)
	case named != r.ARN:
		return fmt.Sprintf("Its cluster is %s, but the provider block names %s.", r.ARN, named)
	}
	return ""
}

// HasMoved reports whether the fields still belong to another field manager.
func (r *ClusterRecord) HasMoved() bool { return r != nil && r.Moved }

// Keys of private state that are set once a resource has been declared or read. IssuerKey has the issuerRecord of a
// packhorse_irsa_role. ProfilesKey is set once a packhorse_node_role has left an instance profile, and has the names of
// all that it has left. ImportedKey is set from the import of a custom resource until it has been read, with all of its
// fields. The state does not tell that, because a node profile need not declare more than its name.
const (
	DeclaredKey = "declared"
	IssuerKey   = "issuer"
	ProfilesKey = "profiles"
	ImportedKey = "imported"
)
