// Package call makes requests to the API server from outside the cluster, for a person who waits
// for the response. Each attempt has a time limit, and temporary failures are retried. A request
// that was cancelled or got no response is always an error.
package call

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/pager"
)

// Timeout is the time limit of one attempt.
const Timeout = 30 * time.Second

// backoff allows five attempts with about 8 seconds of pauses. That is long enough for an API
// server that is being replaced, and short enough for a person who waits.
var backoff = wait.Backoff{Steps: 5, Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.1}

// ErrNoAnswer means that an attempt took longer than Timeout.
var ErrNoAnswer = errors.New("the API server did not respond in time")

// Do makes a request that is safe to repeat, until it succeeds, fails with an error for which
// Passing is false, or has been attempted five times.
func Do(ctx context.Context, attempt func(context.Context) error) error {
	return DoIf(ctx, Passing, attempt)
}

// DoIf is like Do, with passing in the place of Passing.
func DoIf(ctx context.Context, passing func(error) bool, attempt func(context.Context) error) error {
	return Retry(ctx, backoff, passing, attempt)
}

// Retry is like DoIf, with attempts and pauses of its own.
func Retry(ctx context.Context, backoff wait.Backoff, passing func(error) bool, attempt func(context.Context) error) error {
	for {
		err := once(ctx, attempt)
		if err == nil || ctx.Err() != nil || !passing(err) {
			return err
		}
		pause := backoff.Step()
		if backoff.Steps == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", err, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// Get is like Do, for a request that returns a value.
func Get[T any](ctx context.Context, attempt func(context.Context) (T, error)) (T, error) {
	var out T
	err := Do(ctx, func(ctx context.Context) (err error) {
		out, err = attempt(ctx)
		return err
	})
	return out, err
}

// Each calls use with every object of a kind, which it reads in pages.
func Each[L runtime.Object, T any](ctx context.Context, o metav1.ListOptions, list func(context.Context, metav1.ListOptions) (L, error), use func(*T)) error {
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return Get(ctx, func(ctx context.Context) (L, error) { return list(ctx, o) })
	})
	return pages.EachListItem(ctx, o, func(object runtime.Object) error {
		item, ok := object.(any).(*T)
		if !ok {
			return fmt.Errorf("the list contains an object of type %T", object)
		}
		use(item)
		return nil
	})
}

func once(ctx context.Context, attempt func(context.Context) error) error {
	inner, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	err := attempt(inner)
	if err != nil && inner.Err() != nil && ctx.Err() == nil {
		// The error is not wrapped, because the caller's own deadline has not passed.
		return fmt.Errorf("%w: %s", ErrNoAnswer, err.Error())
	}
	return err
}

// Passing reports whether an error is temporary, so that the same request may soon succeed.
func Passing(err error) bool {
	return apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}

// Conflicting reports whether an error is temporary or a conflict. After a conflict, the attempt
// must read the object again.
func Conflicting(err error) bool { return apierrors.IsConflict(err) || Passing(err) }

// Refused reports whether an error means that the request had no effect: the API server refused
// it, or it did not reach the API server. After any other error, it may have had one.
func Refused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return utilnet.IsConnectionRefused(err)
	}
	code := status.Status().Code
	return code >= 400 && code < 500
}
