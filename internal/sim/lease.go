package sim

import (
	"context"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/fence"
)

// lease is held by one leader.
type lease struct {
	cancel  context.CancelFunc
	fence   *fence.Fence
	renewed time.Time
}

const (
	// leaseRetry is how often a candidate tries to become the leader, and a leader
	// renews its lease.
	leaseRetry = 2 * time.Second
	// leaseFresh is how long a renewal lets the leader act.
	leaseFresh = 10 * time.Second
	// leaseMargin is between the moment at which a leader that could not renew its
	// lease gives up and the moment at which another may take it.
	leaseMargin = 5 * time.Second
	// leaseTime is how long the lease of a process that died is waited for.
	leaseTime = leaseFresh + leaseMargin
)

// Lead waits for the lease and calls the function once, with a context that ends
// when the lease is lost. The lease is given back when it returns, unless the
// process was killed.
func (c *Cluster) Lead(ctx context.Context, run func(context.Context)) error {
	leading, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		c.hold()
		if held := c.world.acquire(c.client, cancel); held != nil {
			c.term(leading, held, run)
			return nil
		}
		if err := pause(ctx, leaseRetry); err != nil {
			return err
		}
	}
}

// term is one time as leader.
func (c *Cluster) term(ctx context.Context, held *lease, run func(context.Context)) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		c.renew(ctx, held)
	}()
	run(ctx)
	held.cancel()
	<-over
	if !c.dead.Load() {
		c.world.release(held)
	}
}

// renew keeps the lease until the term ends or another has taken it, which a process
// that was stopped learns when it goes on.
func (c *Cluster) renew(ctx context.Context, held *lease) {
	for pause(ctx, leaseRetry) == nil {
		c.hold()
		asked := held.fence.Now()
		if c.dead.Load() || !c.world.renew(held) {
			held.fence.Close("another process holds the lease")
			held.cancel()
			return
		}
		held.fence.Renewed(asked, leaseFresh)
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func (w *world) acquire(c *client, cancel context.CancelFunc) *lease {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.leader != nil && time.Since(w.leader.renewed) < leaseTime {
		return nil
	}
	w.leader = &lease{cancel, fence.New(), time.Now()}
	w.leader.fence.Renewed(w.leader.fence.Now(), leaseFresh)
	c.lease.Store(w.leader)
	return w.leader
}

// renew reports whether the lease was still the holder's.
func (w *world) renew(held *lease) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.leader != held {
		return false
	}
	held.renewed = time.Now()
	return true
}

func (w *world) release(held *lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.leader == held {
		w.leader = nil
	}
}

// LoseLease takes the lease away from the leader, as if it had not been able to
// renew it: the leader learns it first, and a little later another may lead.
func (w Faults) LoseLease() {
	w.edit(func() {
		lost := w.leader
		if lost == nil {
			return
		}
		lost.fence.Close("the lease could not be renewed")
		lost.cancel()
		time.AfterFunc(leaseMargin, func() { w.release(lost) })
	})
}
