// Package election is a simulated lease, which one process holds at a time, and what a cloud
// makes of it: the orders of processes that have lost it are refused.
package election

import (
	"context"
	"sync"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/fence"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/process"
)

const (
	// Retry is how often a candidate tries to become the leader, and a leader renews its lease.
	Retry = 2 * time.Second
	// Fresh is how long a renewal lets the leader act.
	Fresh = 10 * time.Second
	// Margin is between the moment at which a leader that could not renew its lease gives up
	// and the moment at which another may take it.
	Margin = 5 * time.Second
	// validity is how long the lease of a process that died is waited for.
	validity = Fresh + Margin
)

// Election is safe for concurrent use. Its zero value has no leader.
type Election struct {
	mu     sync.Mutex
	leader *Term
}

// Term is one time as leader.
type Term struct {
	Fence   *fence.Fence
	cancel  context.CancelFunc
	renewed time.Time
}

// Lead waits for the lease, says who got it, and calls run once with a context that ends when the
// lease is lost. The lease is given back when run returns, unless the process was killed.
func (e *Election) Lead(ctx context.Context, p *process.Process, elected func(*Term), run func(context.Context)) error {
	leading, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		p.Hold()
		if held := e.acquire(cancel); held != nil {
			elected(held)
			e.serve(leading, p, held, run)
			return nil
		}
		if err := process.Sleep(ctx, Retry); err != nil {
			return err
		}
	}
}

func (e *Election) serve(ctx context.Context, p *process.Process, held *Term, run func(context.Context)) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		e.keep(ctx, p, held)
	}()
	run(ctx)
	held.cancel()
	<-over
	if !p.Dead() {
		e.release(held)
	}
}

// keep renews the lease until the term ends or another has taken it, which a process that was
// stopped learns when it goes on.
func (e *Election) keep(ctx context.Context, p *process.Process, held *Term) {
	for process.Sleep(ctx, Retry) == nil {
		p.Hold()
		asked := held.Fence.Now()
		if p.Dead() || !e.renew(held) {
			held.Fence.Close("another process holds the lease")
			held.cancel()
			return
		}
		held.Fence.Renewed(asked, Fresh)
	}
}

func (e *Election) acquire(cancel context.CancelFunc) *Term {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.leader != nil && time.Since(e.leader.renewed) < validity {
		return nil
	}
	e.leader = &Term{Fence: fence.New(), cancel: cancel, renewed: time.Now()}
	e.leader.Fence.Renewed(e.leader.Fence.Now(), Fresh)
	return e.leader
}

// renew reports whether the lease was still the holder's.
func (e *Election) renew(held *Term) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.leader != held {
		return false
	}
	held.renewed = time.Now()
	return true
}

func (e *Election) release(held *Term) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.leader == held {
		e.leader = nil
	}
}

// Leads reports whether the term still lasts as far as others see.
func (e *Election) Leads(held *Term) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.leader == held
}

// Lose takes the lease away from the leader, as if it had not been able to renew it: the leader
// learns it first, and a little later another may lead.
func (e *Election) Lose() {
	e.mu.Lock()
	defer e.mu.Unlock()
	lost := e.leader
	if lost == nil {
		return
	}
	lost.Fence.Close("the lease could not be renewed")
	lost.cancel()
	time.AfterFunc(Margin, func() { e.release(lost) })
}
