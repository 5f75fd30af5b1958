// Package client calls AWS on behalf of the agent: each call has a deadline and a few
// attempts, answers may come in pages, and those that are needed often are remembered.
package client

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
)

// Retries of one call end after a few attempts or at the call's deadline,
// whichever comes first: all pauses together are shorter than that deadline.
const (
	maxAttempts  = 8
	firstBackoff = 200 * time.Millisecond
	maxBackoff   = 5 * time.Second
	callTimeout  = 30 * time.Second
)

// Retries is the retry policy of calls.
func Retries(o *retry.StandardOptions) {
	o.MaxAttempts = maxAttempts
	o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) {
		return backoff(attempt, rand.Float64()), nil
	})
}

// backoff is the pause before the next attempt, with jitter from 0 to 1. It begins
// shorter than the SDK's own second: EC2's buckets refill several times a second.
func backoff(attempt int, jitter float64) time.Duration {
	most := min(firstBackoff<<min(max(attempt, 0), maxAttempts), maxBackoff)
	return most/4 + time.Duration(jitter*float64(most*3/4))
}

// Invoke makes one call of an AWS client within the deadline of calls.
func Invoke[I, O, F any](ctx context.Context, call func(context.Context, *I, ...F) (*O, error), in *I) (*O, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return call(ctx, in)
}

// maxPages bounds the pages that are read of one answer.
const maxPages = 500

// EachPage calls use with each page, which is read within the deadline of calls.
func EachPage[O, F any](ctx context.Context, p call.Pager[O, F], use func(*O)) error {
	return call.EachPage(ctx, call.Bounds{Timeout: callTimeout, Pages: maxPages}, p, use)
}
