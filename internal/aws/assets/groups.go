// Package assets finds what Packhorse can take over in an AWS account: the roles of a
// cluster's ServiceAccounts and nodes, interruption queues, managed node groups, and the
// Auto Scaling groups of the Cluster Autoscaler.
package assets

import (
	"context"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard"
)

// Groups returns the cluster's managed node groups and the groups of the Cluster Autoscaler,
// sorted by kind and name. The Auto Scaling groups of managed node groups are left out.
func (a *Account) Groups(ctx context.Context, cluster string) ([]offer.NodeGroup, error) {
	var left onboard.DeniedError
	managed, err := a.managed(ctx, cluster)
	if err != nil && !left.Has(err) {
		return nil, err
	}
	scaled, err := a.scaled(ctx, cluster)
	if err != nil && !left.Has(err) {
		return nil, err
	}
	out := slices.Concat(managed, scaled)
	slices.SortFunc(out, func(a, b offer.NodeGroup) int {
		return strings.Compare(string(a.Kind)+"/"+a.Name, string(b.Kind)+"/"+b.Name)
	})
	return out, left.Err()
}
