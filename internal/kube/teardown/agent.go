// Package teardown follows the deletion of a Provisioner from outside the cluster. It finds out
// whether an agent runs that drains the nodes, waits until they are gone, and says what blocks them.
package teardown

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

// AgentAlive is the function of that name with the client of the Watch.
func (w *Watch) AgentAlive(ctx context.Context, now time.Time) (bool, error) {
	return AgentAlive(ctx, w.client, now)
}

// AgentAlive reports whether an agent in any namespace holds its Lease at the given time.
func AgentAlive(ctx context.Context, client kubernetes.Interface, now time.Time) (bool, error) {
	leases, err := call.Get(ctx, func(ctx context.Context) (*coordinationv1.LeaseList, error) {
		return client.CoordinationV1().Leases(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + install.LeaseName})
	})
	if err != nil {
		return false, fmt.Errorf("list the leases named %s: %w", install.LeaseName, err)
	}
	for i := range leases.Items {
		if Held(&leases.Items[i], now) {
			return true, nil
		}
	}
	return false, nil
}

// Held reports whether the lease has a holder and has not expired at the given time, if clocks differ
// by no more than cluster.ClockSkew.
func Held(lease *coordinationv1.Lease, now time.Time) bool {
	s := lease.Spec
	if s.HolderIdentity == nil || *s.HolderIdentity == "" || s.RenewTime == nil || s.LeaseDurationSeconds == nil {
		return false
	}
	term := time.Duration(*s.LeaseDurationSeconds) * time.Second
	return now.Before(s.RenewTime.Add(term + cluster.ClockSkew))
}
