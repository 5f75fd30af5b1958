package kube

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

const (
	// callTimeout bounds a call of the API server with its repetitions.
	callTimeout = 15 * time.Second
	// attempts bounds how often a call is tried, with about 3 seconds of pauses.
	attempts = 5
)

// retry repeats a call that met a conflict, throttling or a passing failure, until
// callTimeout is over. Every call made through it is safe to repeat.
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

// passing reports whether the same call may well succeed a moment later.
func passing(err error) bool {
	return call.Conflicting(err) || errors.Is(err, context.DeadlineExceeded)
}
