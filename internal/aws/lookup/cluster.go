package lookup

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/eksauth"
)

// How long the answer of EKS about the cluster is used. The Kubernetes version may change
// while the agent runs.
const (
	clusterDue      = 15 * time.Minute
	clusterOutdated = 24 * time.Hour
	// reachPatience is how long a start waits for EKS if it can do without it.
	reachPatience = 5 * time.Second
)

// Cluster describes the cluster that machines join.
type Cluster struct {
	// Accept, if set, returns an error unless the cluster is the one that is meant.
	Accept         func(context.Context, *asset.Cluster) error
	eks            eksauth.Describer
	name, endpoint string
	memo           *client.Memo[*asset.Cluster]
}

// NewCluster returns what asks EKS for the cluster of the name. An endpoint takes the place of
// the one that EKS reports.
func NewCluster(sdk eksauth.Describer, name, endpoint string, now func() time.Time) *Cluster {
	return &Cluster{eks: sdk, name: name, endpoint: endpoint, memo: client.NewMemo[*asset.Cluster](now, clusterDue, clusterOutdated)}
}

// Get describes the cluster.
func (c *Cluster) Get(ctx context.Context) (*asset.Cluster, error) {
	return c.memo.Get(ctx, "", func(ctx context.Context) (*asset.Cluster, error) {
		ctx, cancel := context.WithTimeout(ctx, client.CallTimeout)
		defer cancel()
		found, err := eksauth.Find(ctx, c.eks, c.name)
		if err != nil {
			return nil, err
		}
		if c.Accept != nil {
			if err := c.Accept(ctx, found); err != nil {
				return nil, err
			}
		}
		found.Endpoint = cmp.Or(c.endpoint, found.Endpoint)
		return found, nil
	})
}

// Reach asks EKS for the cluster for the first time. If unreached is set, it gets a failure that may
// pass, which is no error then.
func (c *Cluster) Reach(ctx context.Context, unreached func(error)) error {
	if unreached != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, reachPatience)
		defer cancel()
	}
	_, err := c.Get(ctx)
	if unreached != nil && (client.Passes(err) || errors.Is(err, context.DeadlineExceeded)) {
		unreached(err)
		return nil
	}
	return err
}
