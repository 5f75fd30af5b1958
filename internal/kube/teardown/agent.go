// Package teardown follows the deletion of a Provisioner from outside the cluster. It finds out
// whether an agent runs that drains the nodes, waits until they are gone, and says what blocks them.
package teardown

import (
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

// AgentAlive reports whether an agent in any namespace holds its Lease at the given time.
func (w *Watch) AgentAlive(ctx context.Context, now time.Time) (bool, error) {
	lease, err := Held(ctx, w.client, metav1.NamespaceAll, now)
	return lease != nil, err
}

// renewal is in which time a leader renews its Lease twice, and another replica takes one that is free: it tries
// again after 4.4 s at most.
const renewal = 5 * time.Second

// Held returns the lease of an agent in the namespace, or in any, that has a holder and has not expired at the given
// time, or nil. Clocks may differ by more than cluster.ClockSkew: a lease that looks expired, or renewed in the future,
// is held if it is renewed while Held waits for that. So is a lease that is free, for the moment of a rolling update,
// if somebody takes it.
func Held(ctx context.Context, client kubernetes.Interface, namespace string, now time.Time) (*coordinationv1.Lease, error) {
	before, err := leases(ctx, client, namespace)
	if err != nil || len(before) == 0 {
		return nil, err
	}
	for i := range before {
		if free(before[i]) {
			continue
		}
		term := time.Duration(ptr.Deref(before[i].Spec.LeaseDurationSeconds, 0)) * time.Second
		if age := now.Sub(before[i].Spec.RenewTime.Time); -cluster.ClockSkew <= age && age < term+cluster.ClockSkew {
			return &before[i], nil
		}
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(renewal):
	}
	after, err := leases(ctx, client, namespace)
	for i := range after {
		same := func(b coordinationv1.Lease) bool {
			return b.Namespace == after[i].Namespace && b.Spec.RenewTime.Equal(after[i].Spec.RenewTime)
		}
		if !free(after[i]) && !slices.ContainsFunc(before, same) {
			return &after[i], nil
		}
	}
	return nil, err
}

// leases returns those of agents, whether somebody has them or not.
func leases(ctx context.Context, client kubernetes.Interface, namespace string) ([]coordinationv1.Lease, error) {
	if namespace != metav1.NamespaceAll {
		lease, err := call.Get(ctx, func(ctx context.Context) (*coordinationv1.Lease, error) {
			return client.CoordinationV1().Leases(namespace).Get(ctx, install.LeaseName, metav1.GetOptions{})
		})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the lease %s/%s: %w", namespace, install.LeaseName, err)
		}
		return []coordinationv1.Lease{*lease}, nil
	}
	list, err := call.Get(ctx, func(ctx context.Context) (*coordinationv1.LeaseList, error) {
		return client.CoordinationV1().Leases(namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + install.LeaseName})
	})
	if err != nil {
		return nil, fmt.Errorf("list the leases named %s: %w", install.LeaseName, err)
	}
	return list.Items, nil
}

// free reports whether nobody has the lease.
func free(l coordinationv1.Lease) bool {
	return l.Spec.RenewTime == nil || ptr.Deref(l.Spec.HolderIdentity, "") == ""
}
