// Package process is a simulated process: it can be killed or stopped at any call, and each of
// its calls can be made to fail.
package process

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// ErrDead is what every call of a process returns once it was killed.
var ErrDead = errors.New("the process is dead")

// When tells on which side of a call's effect an Intercept is asked.
type When string

// The moments of a call.
const (
	Before When = "before" // the process is about to make it
	Sent   When = "sent"   // the process has made sure that it leads, and the call is on its way
	After  When = "after"  // it has had its effect, but the caller does not know yet
)

// Intercept is asked around each call that changes something or reaches the
// cloud. If it returns an error, that is what the caller gets.
type Intercept func(call string, when When) error

// Process is safe for concurrent use.
type Process struct {
	intercept Intercept
	dead      atomic.Bool
	stopped   atomic.Pointer[chan struct{}]
}

// New returns a process that runs. The intercept may be nil.
func New(intercept Intercept) *Process { return &Process{intercept: intercept} }

// Kill makes every call of the process fail from now on, without effect, as if it
// had been killed.
func (p *Process) Kill() {
	p.dead.Store(true)
	p.Continue()
}

// Dead reports whether the process was killed.
func (p *Process) Dead() bool { return p.dead.Load() }

// Stop makes every call of the process wait, as if it had been stopped with SIGSTOP.
// Its lease is not renewed.
func (p *Process) Stop() {
	resumed := make(chan struct{})
	p.stopped.CompareAndSwap(nil, &resumed)
}

// Continue lets a stopped process go on where it was.
func (p *Process) Continue() {
	if resumed := p.stopped.Swap(nil); resumed != nil {
		close(*resumed)
	}
}

// Hold returns when the process is not stopped, and whether it had to wait.
func (p *Process) Hold() (waited bool) {
	for resumed := p.stopped.Load(); resumed != nil; resumed = p.stopped.Load() {
		<-*resumed
		waited = true
	}
	return waited
}

// Sleep waits for d, or returns the context's error.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Ask lets the intercept have its say at a moment of a call, and returns what becomes of the
// call, and whether the process was stopped there. A call that is on its way needs nobody to
// wait for it.
func (p *Process) Ask(ctx context.Context, call string, when When) (waited bool, err error) {
	waited = p.Hold()
	if p.Dead() {
		return waited, fmt.Errorf("%s: %w", call, ErrDead)
	}
	if when == Before && ctx.Err() != nil {
		return waited, fmt.Errorf("%s: %w", call, ctx.Err())
	}
	if p.intercept == nil {
		return waited, nil
	}
	if err := p.intercept(call, when); err != nil {
		return waited, fmt.Errorf("%s: %w", call, err)
	}
	waited = p.Hold() || waited
	if p.Dead() {
		return waited, fmt.Errorf("%s: %w", call, ErrDead)
	}
	if when != Sent && ctx.Err() != nil { // the intercept took longer than the caller waits
		return waited, fmt.Errorf("%s: %w", call, ctx.Err())
	}
	return waited, nil
}
