package kube

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

const (
	// callTimeout is the time limit of a request, including its retries.
	callTimeout = 15 * time.Second
	// attempts is the largest number of attempts, with about 3 seconds of pauses.
	attempts = 5
)

// retry repeats a request that failed with a conflict, throttling or another temporary error, within
// callTimeout. The request must be safe to repeat.
func retry(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	backoff := wait.Backoff{Steps: attempts, Duration: 100 * time.Millisecond, Factor: 2.5, Jitter: 0.2}
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, backoff, func(ctx context.Context) (bool, error) {
		last = call(ctx)
		return last == nil || !passing(last), nil
	})
	if last != nil {
		return last
	}
	return err
}

func callOnce(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return call(ctx)
}

// passing reports whether an error is temporary, so that the same request may soon succeed.
func passing(err error) bool {
	return call.Conflicting(err) || errors.Is(err, context.DeadlineExceeded)
}
