package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// ErrRival means that the agent of another namespace leads.
var ErrRival = errors.New("another installation of the agent leads in this cluster")

// refuseRivals returns ErrRival if somebody leads by a lease of the same name in
// another namespace. Whether its holder lives is known from renewals that are seen, not
// by clocks: a lease that is held costs the time after which it would run out.
//
// It is asked before running for our own lease, so that a leader elsewhere is not
// disturbed, and again while holding it: of two that run at the same time, at least
// the one that looks last sees the other.
func (e *election) refuseRivals(ctx context.Context) error {
	before, err := e.reachRivals(ctx)
	if err != nil || len(before) == 0 {
		return err
	}
	limit := longest(before) + retryPeriod
	var blind error // what keeps from looking, which may have timed out as well
	err = wait.PollUntilContextTimeout(ctx, retryPeriod/4, limit, true, func(context.Context) (bool, error) {
		var now map[string]coordinationv1.Lease
		if now, blind = e.rivals(ctx); blind != nil { // a last look is not cut short
			return false, blind
		}
		for namespace, lease := range now {
			was, held := before[namespace]
			if !held || !was.Spec.RenewTime.Equal(lease.Spec.RenewTime) {
				return false, rivalError(&lease)
			}
		}
		return len(now) == 0, nil
	})
	if blind == nil && wait.Interrupted(err) && ctx.Err() == nil {
		return nil // nobody renews what is left
	}
	return err
}

// reachRivals is rivals for an API server that may not be there yet.
func (e *election) reachRivals(ctx context.Context) (map[string]coordinationv1.Lease, error) {
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 10, Cap: 30 * time.Second}
	for {
		held, err := e.rivals(ctx)
		var answer apierrors.APIStatus
		if err == nil || errors.As(err, &answer) && !passing(err) {
			return held, err
		}
		if e.Waiting != nil && ctx.Err() == nil {
			e.Waiting(err)
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(backoff.Step()):
		}
	}
}

// rivals returns the leases of the same name that are held in other namespaces.
func (e *election) rivals(ctx context.Context) (map[string]coordinationv1.Lease, error) {
	held, err := heldLeases(ctx, e.client, e.Name)
	delete(held, e.Namespace)
	return held, err
}

// heldLeases returns the leases of a name that somebody holds, by namespace.
func heldLeases(ctx context.Context, client kubernetes.Interface, name string) (map[string]coordinationv1.Lease, error) {
	var leases *coordinationv1.LeaseList
	err := retry(ctx, func(ctx context.Context) (err error) {
		// The role allows to list leases of this name only.
		leases, err = client.CoordinationV1().Leases(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the Leases named %s: %w", name, err)
	}
	held := map[string]coordinationv1.Lease{}
	for _, lease := range leases.Items {
		if ptr.Deref(lease.Spec.HolderIdentity, "") != "" {
			held[lease.Namespace] = lease
		}
	}
	return held, nil
}

func longest(leases map[string]coordinationv1.Lease) (out time.Duration) {
	for _, lease := range leases {
		out = max(out, time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0))*time.Second)
	}
	return out
}

func rivalError(lease *coordinationv1.Lease) error {
	return fmt.Errorf("%w: %s holds the lease %s/%s. Both would act on the same Provisioners and nodes: remove one of the installations",
		ErrRival, *lease.Spec.HolderIdentity, lease.Namespace, lease.Name)
}
