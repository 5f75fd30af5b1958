package kube

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

func TestRetry(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for name, c := range map[string]struct {
		err   error
		calls int
	}{
		"success":            {nil, 1},
		"conflict":           {apierrors.NewConflict(pods, "a", errors.New("x")), backoff.Steps},
		"throttled":          {apierrors.NewTooManyRequests("slow down", 1), backoff.Steps},
		"internal error":     {apierrors.NewInternalError(errors.New("x")), backoff.Steps},
		"unavailable":        {apierrors.NewServiceUnavailable("x"), backoff.Steps},
		"refused connection": {syscall.ECONNREFUSED, backoff.Steps},
		"wrapped":            {fmt.Errorf("bind: %w", apierrors.NewServerTimeout(pods, "bind", 1)), backoff.Steps},
		"not found":          {apierrors.NewNotFound(pods, "a"), 1},
		"forbidden":          {apierrors.NewForbidden(pods, "a", errors.New("x")), 1},
		"blocked":            {fmt.Errorf("evict: %w", &cluster.BlockedError{}), 1},
		"stale":              {cluster.ErrStale, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				err := retry(t.Context(), func(context.Context) error { calls++; return c.err })
				if calls != c.calls || !errors.Is(err, c.err) {
					t.Errorf("got %d calls and %v, want %d and %v", calls, err, c.calls, c.err)
				}
			})
		})
	}
}

func TestRetryEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		err := retry(t.Context(), func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if took := time.Since(started); !errors.Is(err, context.DeadlineExceeded) || took > callTimeout {
			t.Errorf("got %v after %s", err, took)
		}
	})
}

func TestRetryEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		err := retry(ctx, func(context.Context) error {
			calls++
			cancel()
			return apierrors.NewServiceUnavailable("x")
		})
		if calls != 1 || !apierrors.IsServiceUnavailable(err) {
			t.Errorf("got %d calls and %v", calls, err)
		}
	})
}
