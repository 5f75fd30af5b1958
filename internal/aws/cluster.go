package aws

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks"

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

// clusterFacts describes the cluster that machines join.
type clusterFacts struct {
	client  eksauth.Describer
	options Options
	memo    *client.Memo[*asset.Cluster]
}

func newClusterFacts(sdk *eks.Client, o Options) *clusterFacts {
	return &clusterFacts{client: sdk, options: o, memo: client.NewMemo[*asset.Cluster](o.Now, clusterDue, clusterOutdated)}
}

func (f *clusterFacts) get(ctx context.Context) (*asset.Cluster, error) {
	return f.memo.Get(ctx, "", func(ctx context.Context) (*asset.Cluster, error) {
		ctx, cancel := context.WithTimeout(ctx, client.CallTimeout)
		defer cancel()
		found, err := eksauth.Find(ctx, f.client, f.options.ClusterName)
		if err != nil {
			return nil, err
		}
		found.Endpoint = cmp.Or(f.options.ClusterEndpoint, found.Endpoint)
		return found, nil
	})
}

// reach asks EKS for the cluster for the first time. Where Options.Unreached is set, a failure that may pass is no error.
func (f *clusterFacts) reach(ctx context.Context) error {
	if f.options.Unreached != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, reachPatience)
		defer cancel()
	}
	_, err := f.get(ctx)
	if f.options.Unreached != nil && (client.Passes(err) || errors.Is(err, context.DeadlineExceeded)) {
		f.options.Unreached(err)
		return nil
	}
	return err
}
