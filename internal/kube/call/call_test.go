package call_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

var (
	things  = schema.GroupResource{Group: "example.com", Resource: "things"}
	busy    = apierrors.NewTooManyRequests("busy", 1)
	refused = apierrors.NewForbidden(things, "a", errors.New("no"))
)

// hang is an attempt that is never answered.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return fmt.Errorf("Patch %q: %w", "https://cluster", ctx.Err())
}

// TestOnlySuccessIsSuccess holds that no way in which a call can end without an
// answer counts as one that was answered.
func TestOnlySuccessIsSuccess(t *testing.T) {
	for name, c := range map[string]struct {
		attempts []func(context.Context) error // the last one repeats
		limit    time.Duration                 // of the caller, 0 for none
		made     int
		want     error // nil for success
	}{
		"at once":                         {attempts: []func(context.Context) error{answer(nil)}, made: 1},
		"after some trouble":              {attempts: []func(context.Context) error{answer(busy), answer(busy), answer(nil)}, made: 3},
		"trouble without end":             {attempts: []func(context.Context) error{answer(busy)}, made: 5, want: busy},
		"refused":                         {attempts: []func(context.Context) error{answer(refused)}, made: 1, want: refused},
		"never answered":                  {attempts: []func(context.Context) error{hang}, made: 1, want: call.ErrNoAnswer},
		"the caller's time is up":         {attempts: []func(context.Context) error{hang}, limit: 5 * time.Second, made: 1, want: context.DeadlineExceeded},
		"never answered after trouble":    {attempts: []func(context.Context) error{answer(busy), hang}, made: 2, want: call.ErrNoAnswer},
		"the caller's time, after some":   {attempts: []func(context.Context) error{answer(busy), hang}, limit: 5 * time.Second, made: 2, want: context.DeadlineExceeded},
		"the caller's time in a pause":    {attempts: []func(context.Context) error{answer(busy)}, limit: time.Second, made: 2, want: context.DeadlineExceeded},
		"an answer that says cancelled":   {attempts: []func(context.Context) error{answer(context.Canceled)}, made: 1, want: context.Canceled},
		"an answer that says too late":    {attempts: []func(context.Context) error{answer(context.DeadlineExceeded)}, made: 1, want: context.DeadlineExceeded},
		"the API server says it was slow": {attempts: []func(context.Context) error{answer(apierrors.NewTimeoutError("slow", 1)), answer(nil)}, made: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				if c.limit > 0 {
					ctx, cancel = context.WithTimeout(t.Context(), c.limit)
				}
				defer cancel()
				made := 0
				err := call.Do(ctx, func(ctx context.Context) error {
					made++
					return c.attempts[min(made, len(c.attempts))-1](ctx)
				})
				if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
					t.Errorf("error = %v, want %v", err, c.want)
				}
				if made != c.made {
					t.Errorf("%d attempts, want %d", made, c.made)
				}
			})
		})
	}
}

func answer(err error) func(context.Context) error {
	return func(context.Context) error { return err }
}

func TestCancelledIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := call.Get(ctx, func(ctx context.Context) (int, error) { return 1, ctx.Err() }); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want that it was cancelled", err)
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"the API server refuses":       {fmt.Errorf("apply: %w", refused), true},
		"the API server is in trouble": {apierrors.NewInternalError(errors.New("etcd")), false},
		"nobody has answered":          {context.DeadlineExceeded, false},
		"the connection was cut":       {errors.New("unexpected EOF"), false},
	} {
		if got := call.Refused(c.err); got != c.want {
			t.Errorf("%s: refused = %t, want %t", name, got, c.want)
		}
	}
}
