package sim

import (
	"context"
	"time"
)

// lease is held by one leader.
type lease struct{ cancel context.CancelFunc }

const (
	// leaseRetry is how often a candidate tries to become the leader.
	leaseRetry = 2 * time.Second
	// leaseMargin is between the moment at which a leader that could not renew its
	// lease gives up and the moment at which another may take it.
	leaseMargin = 5 * time.Second
	// leaseTime is how long the lease of a process that died is waited for.
	leaseTime = 15 * time.Second
)

// Lead waits for the lease and calls the function once, with a context that ends
// when the lease is lost. The lease is given back when it returns, unless the
// process was killed.
func (c *Cluster) Lead(ctx context.Context, run func(context.Context)) error {
	leading, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		if held := c.world.acquire(c.client, cancel); held != nil {
			run(leading)
			if c.dead.Load() {
				time.AfterFunc(leaseTime, func() { c.world.release(held) })
			} else {
				c.world.release(held)
			}
			return nil
		}
		timer := time.NewTimer(leaseRetry)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

func (w *World) acquire(c *client, cancel context.CancelFunc) *lease {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.leader != nil {
		return nil
	}
	w.leader = &lease{cancel}
	c.lease = w.leader
	return w.leader
}

func (w *World) release(held *lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.leader == held {
		w.leader = nil
	}
}

// LoseLease takes the lease away from the leader, as if it had not been able to
// renew it: the leader is told first, and a little later another may lead.
func (w *World) LoseLease() {
	w.edit(func() {
		lost := w.leader
		if lost == nil {
			return
		}
		lost.cancel()
		time.AfterFunc(leaseMargin, func() { w.release(lost) })
	})
}
