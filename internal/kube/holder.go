package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

// Holder says who renews a Lease of the name, in whatever namespace, as in "karpenter-1
// renews the Lease kube-system/karpenter-leader-election"; nothing if nobody does. A
// Lease that somebody holds is watched until it is renewed, or for as long as it would
// last: that somebody lives shows in renewals that are seen, not in clocks.
func Holder(ctx context.Context, access *rest.Config, lease string) (string, error) {
	c, err := New(access, Options{})
	if err != nil {
		return "", err
	}
	before, err := heldLeases(ctx, c.client, lease)
	var answer apierrors.APIStatus
	if err != nil && !errors.As(err, &answer) {
		return "", fmt.Errorf("the cluster at %s does not answer; --kubeconfig and --kube-context choose another one: %w", access.Host, err)
	}
	if err != nil || len(before) == 0 {
		return "", err
	}
	holder := ""
	var failed error
	limit := longest(before) + retryPeriod
	err = wait.PollUntilContextTimeout(ctx, time.Second, limit, true, func(context.Context) (bool, error) {
		now, err := heldLeases(ctx, c.client, lease)
		if err != nil {
			failed = err
			return false, err
		}
		for namespace, held := range now {
			if was, ok := before[namespace]; !ok || !was.Spec.RenewTime.Equal(held.Spec.RenewTime) {
				holder = fmt.Sprintf("%s renews the Lease %s/%s", *held.Spec.HolderIdentity, namespace, lease)
			}
		}
		return holder != "" || len(now) == 0, nil
	})
	if failed == nil && wait.Interrupted(err) && ctx.Err() == nil {
		return "", nil // nobody renews what is left
	}
	return holder, err
}
