// Package inventory finds what Packhorse can take over in an AWS account: the roles of a
// cluster's ServiceAccounts and nodes, interruption queues, managed node groups, and the
// Auto Scaling groups of the Cluster Autoscaler.
package inventory

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// callTimeout bounds one call with its retries.
const callTimeout = time.Minute

// answers are read up to so many pages.
var answers = call.Bounds{Timeout: callTimeout, Pages: 200}

// finder finds groups.
type finder struct {
	eks         *eks.Client
	autoscaling describeGroups
}

// find returns the groups of a cluster in the order of kind and name. The scaling
// groups that EKS keeps for managed node groups are not listed again.
func (f *finder) find(ctx context.Context, cluster string) ([]offer.NodeGroup, error) {
	managed, kept, err := f.managed(ctx, cluster)
	if err != nil {
		return nil, err
	}
	scaled, err := f.scaled(ctx, cluster, kept)
	if err != nil {
		return nil, err
	}
	out := slices.Concat(managed, scaled)
	slices.SortFunc(out, func(a, b offer.NodeGroup) int {
		return strings.Compare(string(a.Kind)+"/"+a.Name, string(b.Kind)+"/"+b.Name)
	})
	return out, nil
}
