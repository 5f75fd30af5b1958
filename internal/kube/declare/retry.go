package declare

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	clientretry "k8s.io/client-go/util/retry"
)

// callTimeout bounds one call of the API server.
const callTimeout = 30 * time.Second

// backoff makes five attempts within about 8 seconds: enough for an API server
// that is being replaced, short enough for a person who waits.
var backoff = wait.Backoff{Steps: 5, Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.1}

// retry repeats a call that met a passing trouble. Every call made through it is
// idempotent.
func retry(ctx context.Context, call func(context.Context) error) error {
	return clientretry.OnError(backoff, func(err error) bool { return ctx.Err() == nil && passing(err) }, func() error {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return call(ctx)
	})
}

func passing(err error) bool {
	return apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err)
}
