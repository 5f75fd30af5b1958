// Package lifecycle contains what all resources need: identities, private state, time limits, upgrades of
// states, claims of names that can exist only once, and diagnostics.
package lifecycle

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// SharedSession returns the session from the data that the provider passes to its resources. It is nil
// while Terraform only validates the configuration.
func SharedSession(data any, diags *diag.Diagnostics) *session.Session {
	if data == nil {
		return nil
	}
	shared, ok := data.(*session.Session)
	if !ok {
		diags.AddError(fmt.Sprintf("the provider has passed a %T instead of its session", data), Bug)
	}
	return shared
}

// Connect returns the cluster. If it cannot be reached, Connect adds an error and returns nil.
func Connect(ctx context.Context, s *session.Session, diags *diag.Diagnostics) session.Cluster {
	cluster, err := s.Cluster(ctx)
	if err != nil {
		diags.AddError(NoCluster+": "+err.Error(), noAccess(err))
	}
	return cluster
}

// Reconnect is Connect for an object that the state has, and also returns its record. If the provider block now
// names another cluster, Reconnect adds an error: what has the same name there is not this object.
func Reconnect(ctx context.Context, s *session.Session, private PrivateState, title string, diags *diag.Diagnostics) (session.Cluster, *ClusterRecord) {
	cluster := Connect(ctx, s, diags)
	record := LoadCluster(ctx, private, diags)
	if !diags.HasError() && record.Elsewhere(cluster.UID()) {
		diags.AddError(title+" belongs to another cluster", "The provider block now names another cluster than the one in which it was created. "+NothingChanged+
			" Correct the provider block, or plan again with a refresh.")
	}
	return cluster, record
}

// Unnamed stands for a name that is known only after apply, so that everything else can be checked.
const Unnamed = "known-after-apply"
