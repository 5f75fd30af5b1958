package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// ErrDead is what every call of a client returns once it was killed.
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

// client is one process's connection to a World.
type client struct {
	world     *world
	intercept Intercept
	dead      atomic.Bool
	changes   chan struct{}
	unbound   chan struct{} // as changes: pods are part of most of them
	unsynced  atomic.Bool
	lease     atomic.Pointer[lease] // that it got; nil before
	stopped   atomic.Pointer[chan struct{}]
}

// Process is an agent's pair of connections.
type Process struct {
	Cluster *Cluster
	Cloud   *Cloud
	Notices *Queue
	client  *client
}

// Connect returns the connections of a new process. The intercept may be nil.
func (w Users) Connect(intercept Intercept) *Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &client{world: w.world, intercept: intercept, changes: make(chan struct{}, 1), unbound: make(chan struct{}, 1)}
	w.clients = append(w.clients, c)
	c.signal()
	return &Process{Cluster: &Cluster{c}, Cloud: &Cloud{c}, Notices: &Queue{c}, client: c}
}

// Kill makes every call of the process fail from now on, without effect, as if it
// had been killed.
func (p *Process) Kill() {
	p.client.dead.Store(true)
	p.Continue()
}

// Stop makes every call of the process wait, as if it had been stopped with SIGSTOP.
// Its lease is not renewed.
func (p *Process) Stop() {
	resumed := make(chan struct{})
	p.client.stopped.CompareAndSwap(nil, &resumed)
}

// Continue lets a stopped process go on where it was.
func (p *Process) Continue() {
	if resumed := p.client.stopped.Swap(nil); resumed != nil {
		close(*resumed)
	}
}

// hold returns when the process is not stopped, and whether it had to wait.
func (c *client) hold() (waited bool) {
	for resumed := c.stopped.Load(); resumed != nil; resumed = c.stopped.Load() {
		<-*resumed
		waited = true
	}
	return waited
}

// SetSynced says whether the process's caches are filled, which they are at first.
func (p *Process) SetSynced(synced bool) { p.client.unsynced.Store(!synced) }

func (c *client) signal() {
	for _, tokens := range []chan struct{}{c.changes, c.unbound} {
		select {
		case tokens <- struct{}{}:
		default:
		}
	}
}

// reads are the calls that change nothing.
var reads = []string{"Market", "Instances", "Find", "Receive", "Wanted", "NodeClaims", "Karpenters"}

// do runs a call's effect under the World's lock, with the intercept on both sides. A
// call that changes something is made while the process holds a fresh lease only.
func (c *client) do(ctx context.Context, call string, effect func(w *world) error) error {
	if _, err := c.ask(ctx, call, Before); err != nil {
		return err
	}
	held := c.lease.Load()
	if held != nil && !slices.Contains(reads, call) {
		if err := held.fence.Check(); err != nil {
			return fmt.Errorf("%s: not sent: %w", call, err)
		}
	}
	late, err := c.ask(ctx, call, Sent)
	if err != nil {
		return err
	}
	c.world.mu.Lock()
	c.world.audit.acted(c.world, held, call, late)
	err = effect(c.world)
	c.world.mu.Unlock()
	if err != nil {
		return err
	}
	_, err = c.ask(ctx, call, After)
	return err
}

// ask lets the intercept have its say, and returns what becomes of the call, and
// whether the process was stopped there. A call that is on its way needs nobody to
// wait for it.
func (c *client) ask(ctx context.Context, call string, when When) (waited bool, err error) {
	waited = c.hold()
	if c.dead.Load() {
		return waited, fmt.Errorf("%s: %w", call, ErrDead)
	}
	if when == Before && ctx.Err() != nil {
		return waited, fmt.Errorf("%s: %w", call, ctx.Err())
	}
	if c.intercept == nil {
		return waited, nil
	}
	if err := c.intercept(call, when); err != nil {
		return waited, fmt.Errorf("%s: %w", call, err)
	}
	waited = c.hold() || waited
	if c.dead.Load() {
		return waited, fmt.Errorf("%s: %w", call, ErrDead)
	}
	if when != Sent && ctx.Err() != nil { // the intercept took longer than the caller waits
		return waited, fmt.Errorf("%s: %w", call, ctx.Err())
	}
	return waited, nil
}
