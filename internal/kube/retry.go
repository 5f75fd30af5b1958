package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

// callTimeout is the time limit of a request, including its retries.
const callTimeout = 15 * time.Second

// backoff allows five attempts with about 3 seconds of pauses.
var backoff = wait.Backoff{Steps: 5, Duration: 100 * time.Millisecond, Factor: 2.5, Jitter: 0.2}

// retry repeats a request that failed with a conflict, throttling or another temporary error, within
// callTimeout. The request must be safe to repeat.
func retry(ctx context.Context, attempt func(context.Context) error) error {
	return callOnce(ctx, func(ctx context.Context) error { return call.Retry(ctx, backoff, passing, attempt) })
}

func callOnce(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return call(ctx)
}

// refused marks an error as [cluster.ErrRefused] if it is an answer that will not soon be another one, to a request
// that had no effect. Credentials that are not accepted may soon be: a webhook that checks them may fail for a moment.
func refused(err error) error {
	if call.Refused(err) && !passing(err) && !apierrors.IsUnauthorized(err) {
		return fmt.Errorf("%w: %w", cluster.ErrRefused, err)
	}
	return err
}

// passing reports whether an error is temporary, so that the same request may soon succeed.
func passing(err error) bool {
	return call.Conflicting(err) || errors.Is(err, context.DeadlineExceeded)
}
