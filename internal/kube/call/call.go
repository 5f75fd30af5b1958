// Package call makes calls of the API server on behalf of somebody outside of the
// cluster who waits for the answer: each attempt has a timeout, and a trouble that
// passes is met with another attempt. A call that was cancelled or not answered is
// an error, always.
package call

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Timeout bounds one attempt.
const Timeout = 30 * time.Second

// backoff makes five attempts within about 8 seconds: enough for an API server
// that is being replaced, short enough for a person who waits.
var backoff = wait.Backoff{Steps: 5, Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.1}

// ErrNoAnswer says that an attempt has taken longer than Timeout.
var ErrNoAnswer = errors.New("the API server has not answered in time")

// Do makes a call that is safe to repeat. It returns nil only if an attempt has
// returned nil.
func Do(ctx context.Context, attempt func(context.Context) error) error {
	return DoIf(ctx, Passing, attempt)
}

// DoIf is Do with a choice of the errors that are met with another attempt.
func DoIf(ctx context.Context, passing func(error) bool, attempt func(context.Context) error) error {
	pauses := backoff
	for {
		err := once(ctx, attempt)
		if err == nil || ctx.Err() != nil || !passing(err) {
			return err
		}
		pause := pauses.Step()
		if pauses.Steps == 0 {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w (%w)", err, ctx.Err())
		case <-timer.C:
		}
	}
}

// Get is Do for a call that returns something.
func Get[T any](ctx context.Context, attempt func(context.Context) (T, error)) (T, error) {
	var out T
	err := Do(ctx, func(ctx context.Context) (err error) {
		out, err = attempt(ctx)
		return err
	})
	return out, err
}

func once(ctx context.Context, attempt func(context.Context) error) error {
	inner, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	err := attempt(inner)
	if err != nil && inner.Err() != nil && ctx.Err() == nil {
		// Not wrapped: it is not the caller's own deadline that has passed.
		return fmt.Errorf("%w: %s", ErrNoAnswer, err.Error())
	}
	return err
}

// Passing reports whether the same call may well succeed a moment later.
func Passing(err error) bool {
	return apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}

// Conflicting reports, besides what is passing, that somebody has changed the object
// in between: the attempt has to read it again.
func Conflicting(err error) bool { return apierrors.IsConflict(err) || Passing(err) }

// Refused reports whether the API server has answered, and has not done what it was
// asked for. After any other error nobody knows whether it was done.
func Refused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return utilnet.IsConnectionRefused(err)
	}
	code := status.Status().Code
	return code >= 400 && code < 500
}
