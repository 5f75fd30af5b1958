// Package lifecycle contains what all resources need: identities, private state, time limits, upgrades of
// states, claims of names that can exist only once, and diagnostics.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
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
	return connected(ctx, s.Cluster, diags)
}

// Await is Connect for an object that is to be created, perhaps right after its cluster.
func Await(ctx context.Context, s *session.Session, diags *diag.Diagnostics) session.Cluster {
	return connected(ctx, s.AwaitCluster, diags)
}

func connected(ctx context.Context, find func(context.Context) (session.Cluster, error), diags *diag.Diagnostics) session.Cluster {
	cluster, err := find(ctx)
	if err != nil {
		diags.AddError(NoCluster+": "+err.Error(), noAccess(err))
	}
	return cluster
}

// Refreshing returns the cluster for the refresh of an object, and the object's record. The cluster is nil if the state
// must stay as it is: with a warning if the cluster is not known yet or does not exist, and otherwise with an error. During
// a destroy, the provider block may not name the EKS cluster of the record any more, as Deleting says; that is a warning, too.
func Refreshing(ctx context.Context, s *session.Session, private PrivateState, title string, diags *diag.Diagnostics) (session.Cluster, *ClusterRecord) {
	record := loadCluster(ctx, private, diags)
	cluster, err := s.Cluster(ctx)
	switch {
	case err == nil:
		return cluster, record
	case errors.Is(err, session.ErrUnknown), errors.Is(err, session.ErrNoCluster) && record.clusterName() != "":
		diags.Append(NotRefreshed(title, err))
	case errors.Is(err, session.ErrMissingCluster):
		warning := NotRefreshed(title, err)
		diags.AddWarning(warning.Summary(), strings.TrimSpace(warning.Detail()+" "+record.misplaced(ctx, s)))
	default:
		ReportOnce(s, NoCluster, err, diags)
	}
	return nil, record
}

// Deleting is Reconnect for an object that is to be deleted. It returns nil if there is nothing to do: after an error, or
// if the cluster does not exist. Then the object counts as deleted, with a warning that tells how to find machines, which
// outlive a cluster. If the cluster may exist in another region or account, that is an error: otherwise Terraform would
// forget what still runs. The provider block need not name the cluster: during a destroy, a reference to one that is gone
// has no value.
func Deleting(ctx context.Context, s *session.Session, private PrivateState, title string, diags *diag.Diagnostics) session.Cluster {
	_, err := s.Cluster(ctx)
	if session.Unnamed(err) {
		named := s.Naming(loadCluster(ctx, private, diags).clusterName())
		if _, found := named.Cluster(ctx); !errors.Is(found, session.ErrMissingCluster) {
			diags.AddError(title+" cannot be deleted: "+err.Error(), NothingChanged+" Write `cluster_name` as text in the provider block, and destroy again. "+
				"If the cluster is gone, or to remove the object from the state without deleting it, use `terraform state rm`.")
			return nil
		}
		s = named
		_, err = s.Cluster(ctx)
	}
	if !errors.Is(err, session.ErrMissingCluster) {
		cluster, _ := Reconnect(ctx, s, private, title, diags)
		if diags.HasError() {
			return nil
		}
		return cluster
	}
	if misplaced := loadCluster(ctx, private, diags).misplaced(ctx, s); misplaced != "" {
		diags.AddError(title+" may still exist: "+err.Error(), misplaced+" "+NothingChanged+" Correct the region, the credentials or `cluster_name` of the provider block. "+
			"If the cluster is gone, or to remove the object from the state without deleting it, use `terraform state rm`.")
		return nil
	}
	diags.AddWarning(title+" counts as deleted with its cluster", fmt.Sprintf("The provider could not delete it: %s. "+
		"Machines that the agent has bought may still run: list them with `aws ec2 describe-instances --filters Name=tag:%s,Values=%s`, and terminate those that you do not need.",
		err, api.TagManagedBy, s.Config.ClusterName))
	return nil
}

// Reconnect is Connect for an object that the state has, and also returns its record. If the provider block now
// names another cluster, Reconnect adds an error: what has the same name there is not this object.
func Reconnect(ctx context.Context, s *session.Session, private PrivateState, title string, diags *diag.Diagnostics) (session.Cluster, *ClusterRecord) {
	cluster := Connect(ctx, s, diags)
	record := loadCluster(ctx, private, diags)
	if !diags.HasError() && record.Elsewhere(cluster.UID()) {
		diags.AddError(title+" belongs to another cluster", "The provider block now names another cluster than the one in which it was created. "+NothingChanged+
			" Correct the provider block, or plan again with a refresh.")
	}
	return cluster, record
}

// Unnamed stands for a name that is known only after apply, so that everything else can be checked.
const Unnamed = "known-after-apply"
