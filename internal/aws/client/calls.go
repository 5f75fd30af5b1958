// Package client calls AWS on behalf of the agent. Each call has a time limit and a few
// attempts, and answers that are needed often are cached.
package client

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
)

// A call is retried until it has used its attempts or its time limit, whichever comes
// first. All pauses together are shorter than the time limit.
const (
	maxAttempts  = 8
	firstBackoff = 200 * time.Millisecond
	maxBackoff   = 5 * time.Second

	// CallTimeout is the time limit of one call, including its retries.
	CallTimeout = 30 * time.Second
)

// Retries sets the number of attempts and the pauses between them.
func Retries(o *retry.StandardOptions) {
	o.MaxAttempts = maxAttempts
	o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) {
		return backoff(attempt, rand.Float64()), nil
	})
}

// backoff is the pause before the next attempt; jitter is from 0 to 1. The first pause is
// shorter than the SDK's, which is up to a second, because the token buckets with which
// EC2 throttles refill several times a second.
func backoff(attempt int, jitter float64) time.Duration {
	most := min(firstBackoff<<min(max(attempt, 0), maxAttempts), maxBackoff)
	return most/4 + time.Duration(jitter*float64(most*3/4))
}

// Invoke makes one call of an AWS client, within CallTimeout.
func Invoke[I, O, F any](ctx context.Context, call func(context.Context, *I, ...F) (*O, error), in *I) (*O, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	return call(ctx, in)
}

// Passes reports whether an error is one that the SDK retries, such as throttling or a failure
// of AWS itself. It says nothing about what was asked for.
func Passes(err error) bool {
	return retry.IsErrorThrottles(retry.DefaultThrottles).IsErrorThrottle(err) == aws.TrueTernary ||
		retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) == aws.TrueTernary
}

// EachPage calls use with each page. Each is read within CallTimeout.
func EachPage[O, F any](ctx context.Context, p call.Pager[O, F], use func(*O)) error {
	return call.EachPage(ctx, CallTimeout, p, use)
}
