// Package teardown follows the removal of a Provisioner from outside of the
// cluster: whether an agent is there to drain its nodes, how far that has come,
// and what holds it up.
package teardown

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

// LeaseName is the name of the agent's leader election Lease, in whatever
// namespace the agent is installed.
const LeaseName = install.LeaseName

// clockSkew is how far this machine's clock may be behind or ahead.
const clockSkew = 15 * time.Second

// AgentAlive reports whether some agent has renewed its Lease recently enough
// to be at work at the given time.
func (w *Watch) AgentAlive(ctx context.Context, now time.Time) (bool, error) {
	leases, err := call.Get(ctx, func(ctx context.Context) (*coordinationv1.LeaseList, error) {
		return w.client.CoordinationV1().Leases(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + LeaseName})
	})
	if err != nil {
		return false, fmt.Errorf("list the leases named %s: %w", LeaseName, err)
	}
	for i := range leases.Items {
		if Held(&leases.Items[i], now) {
			return true, nil
		}
	}
	return false, nil
}

// Held reports whether somebody holds the lease at the given time, and has not just
// left it behind.
func Held(lease *coordinationv1.Lease, now time.Time) bool {
	s := lease.Spec
	if s.HolderIdentity == nil || *s.HolderIdentity == "" || s.RenewTime == nil || s.LeaseDurationSeconds == nil {
		return false
	}
	term := time.Duration(*s.LeaseDurationSeconds) * time.Second
	return now.Before(s.RenewTime.Add(term + clockSkew))
}
