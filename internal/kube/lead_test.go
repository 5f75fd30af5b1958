package kube

import (
	"context"
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientretry "k8s.io/client-go/util/retry"
)

// candidate runs for the lease and reports what happens.
type candidate struct {
	elected chan context.Context
	finish  chan struct{}
	result  chan error
	resign  context.CancelFunc
}

func stand(t *testing.T, o LeaseOptions) *candidate {
	t.Helper()
	c, err := New(adminConfig, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out := &candidate{elected: make(chan context.Context, 1), finish: make(chan struct{}), result: make(chan error, 1), resign: cancel}
	go func() {
		out.result <- c.Lead(ctx, o, func(ctx context.Context) {
			out.elected <- ctx
			<-ctx.Done()
			<-out.finish
		})
	}()
	return out
}

// within receives or fails.
func within[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(patience):
		t.Fatalf("%s did not happen", what)
		panic("unreachable")
	}
}

func leaseFor(t *testing.T, identity string) LeaseOptions {
	return LeaseOptions{Namespace: "default", Name: "lease-" + t.Name(), Identity: identity, Duration: 3 * time.Second}
}

func TestLeadHandsOverWhenItIsDone(t *testing.T) {
	o := leaseFor(t, "first")
	o.Name = "hand-over"
	first := stand(t, o)
	leading := within(t, "the first election", first.elected)
	o.Identity = "second"
	second := stand(t, o)

	first.resign()
	within(t, "the end of the first one's context", leading.Done())
	select {
	case <-second.elected:
		t.Fatal("the second leads while the first still finishes")
	case <-time.After(2 * o.Duration): // the lease would have run out by now
	}
	close(first.finish)
	if err := within(t, "the first one's return", first.result); err != nil {
		t.Errorf("resigning is no error, got %v", err)
	}
	given := time.Now()
	within(t, "the second election", second.elected)
	if took := time.Since(given); took > o.Duration {
		t.Errorf("the second waited %s for a lease that was given back", took)
	}
	second.resign()
	close(second.finish)
	if err := within(t, "the second one's return", second.result); err != nil {
		t.Errorf("the second one returned %v", err)
	}
}

func TestLeadStopsWhenTheLeaseIsLost(t *testing.T) {
	o := leaseFor(t, "robbed")
	o.Name = "lost"
	observed := make(chan string, 10)
	o.Observe = func(leader string) { observed <- leader }
	robbed := stand(t, o)
	leading := within(t, "the election", robbed.elected)
	if got := within(t, "the observation", observed); got != "robbed" {
		t.Errorf("observed %q", got)
	}
	eventually(t, "another takes the lease by force", func() error {
		return steal(t, o)
	})
	within(t, "the end of the leader's context", leading.Done())
	close(robbed.finish)
	if err := within(t, "the return", robbed.result); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("got %v, want ErrLeaseLost", err)
	}
}

func steal(t *testing.T, o LeaseOptions) error {
	leases := admin.CoordinationV1().Leases(o.Namespace)
	return clientretry.RetryOnConflict(clientretry.DefaultBackoff, func() error { // the holder renews it meanwhile
		lease, err := leases.Get(t.Context(), o.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		thief, seconds, now := "thief", int32(3600), metav1.NowMicro()
		lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &thief, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now}
		_, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{})
		return err
	})
}

func TestLeadGivesUpWaiting(t *testing.T) {
	o := leaseFor(t, "holder")
	o.Name = "given-up"
	holder := stand(t, o)
	within(t, "the election", holder.elected)
	o.Identity = "waiting"
	waiting := stand(t, o)
	waiting.resign()
	if err := within(t, "the return", waiting.result); err != nil {
		t.Errorf("got %v, want nothing", err)
	}
	holder.resign()
	close(holder.finish)
	if err := within(t, "the holder's return", holder.result); err != nil {
		t.Errorf("the holder returned %v", err)
	}
}
