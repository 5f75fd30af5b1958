package aws

import (
	"cmp"
	"context"
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
