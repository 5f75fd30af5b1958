// Package groups finds the groups of machines that a cluster has besides those
// of Provisioners: managed node groups and groups of the Cluster Autoscaler.
package groups

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/paging"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// callTimeout bounds one call with its retries.
const callTimeout = time.Minute

// answers are read up to so many pages.
var answers = paging.Bounds{Timeout: callTimeout, Pages: 200}

// Finder finds groups in the configuration's account and region.
type Finder struct {
	eks         *eks.Client
	autoscaling describeGroups
}

// NewFinder returns the finder of a configuration.
func NewFinder(cfg aws.Config) *Finder {
	return &Finder{eks.NewFromConfig(cfg), autoscaling.NewFromConfig(cfg).DescribeAutoScalingGroups}
}

// Find returns the groups of a cluster in the order of kind and name. The scaling
// groups that EKS keeps for managed node groups are not listed again.
func (f *Finder) Find(ctx context.Context, cluster string) ([]offer.Group, error) {
	managed, kept, err := f.managed(ctx, cluster)
	if err != nil {
		return nil, err
	}
	scaled, err := f.scaled(ctx, cluster, kept)
	if err != nil {
		return nil, err
	}
	out := slices.Concat(managed, scaled)
	slices.SortFunc(out, func(a, b offer.Group) int {
		return strings.Compare(string(a.Kind)+"/"+a.Name, string(b.Kind)+"/"+b.Name)
	})
	return out, nil
}
