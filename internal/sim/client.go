package sim

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// ErrDead is what every call of a client returns once it was killed.
var ErrDead = errors.New("the process is dead")

// When tells on which side of a call's effect an Intercept is asked.
type When string

// The moments of a call.
const (
	Before When = "before" // it has had no effect yet
	After  When = "after"  // it has had its effect, but the caller does not know yet
)

// Intercept is asked around each call that changes something or reaches the
// cloud. If it returns an error, that is what the caller gets.
type Intercept func(call string, when When) error

// client is one process's connection to a World.
type client struct {
	world     *World
	intercept Intercept
	dead      atomic.Bool
	changes   chan struct{}
	unbound   chan struct{} // as changes: pods are part of most of them
	unsynced  atomic.Bool
	lease     *lease // that it got; nil before
}

// Process is an agent's pair of connections.
type Process struct {
	Cluster *Cluster
	Cloud   *Cloud
	Notices *Queue
	client  *client
}

// Connect returns the connections of a new process. The intercept may be nil.
func (w *World) Connect(intercept Intercept) *Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &client{world: w, intercept: intercept, changes: make(chan struct{}, 1), unbound: make(chan struct{}, 1)}
	w.clients = append(w.clients, c)
	c.signal()
	return &Process{Cluster: &Cluster{c}, Cloud: &Cloud{c}, Notices: &Queue{c}, client: c}
}

// Kill makes every call of the process fail from now on, without effect, as if it
// had been killed.
func (p *Process) Kill() { p.client.dead.Store(true) }

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

// do runs a call's effect under the World's lock, with the intercept on both sides.
func (c *client) do(ctx context.Context, call string, effect func(w *World) error) error {
	if err := c.ask(ctx, call, Before); err != nil {
		return err
	}
	c.world.mu.Lock()
	c.world.audit.acted(c, call)
	err := effect(c.world)
	c.world.mu.Unlock()
	if err != nil {
		return err
	}
	return c.ask(ctx, call, After)
}

func (c *client) ask(ctx context.Context, call string, when When) error {
	if c.dead.Load() {
		return fmt.Errorf("%s: %w", call, ErrDead)
	}
	if when == Before && ctx.Err() != nil {
		return fmt.Errorf("%s: %w", call, ctx.Err())
	}
	if c.intercept == nil {
		return nil
	}
	if err := c.intercept(call, when); err != nil {
		return fmt.Errorf("%s: %w", call, err)
	}
	if c.dead.Load() {
		return fmt.Errorf("%s: %w", call, ErrDead)
	}
	if ctx.Err() != nil { // the intercept took longer than the caller waits
		return fmt.Errorf("%s: %w", call, ctx.Err())
	}
	return nil
}
