package sim

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/election"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/process"
)

// The moments of a call.
const (
	Before = process.Before
	Sent   = process.Sent
	After  = process.After
)

type (
	// When tells on which side of a call's effect an Intercept is asked.
	When = process.When
	// Intercept is asked around each call that changes something or reaches the cloud.
	Intercept = process.Intercept
)

// client is one process's connection to a World.
type client struct {
	*process.Process
	world    *world
	changes  chan struct{}
	unbound  chan struct{} // as changes: pods are part of most of them
	unsynced atomic.Bool
	term     atomic.Pointer[election.Term] // as leader; nil before
}

// Process is an agent with its connections.
type Process struct {
	*process.Process
	Cluster *Cluster
	Cloud   *Cloud
	Notices *Queue
	client  *client
}

// Connect returns the connections of a new process. The intercept may be nil.
func (w Users) Connect(intercept Intercept) *Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &client{Process: process.New(intercept), world: w.world, changes: make(chan struct{}, 1), unbound: make(chan struct{}, 1)}
	w.clients = append(w.clients, c)
	c.signal()
	return &Process{Process: c.Process, Cluster: &Cluster{c}, Cloud: &Cloud{c}, Notices: &Queue{c}, client: c}
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
var reads = []string{"Market", "Instances", "Find", "Receive", "Wanted", "Deployment", "NodeClaims", "Karpenters"}

// do runs a call's effect under the World's lock, with the intercept on both sides. A
// call that changes something is made while the process holds a fresh lease only.
func (c *client) do(ctx context.Context, call string, effect func(w *world) error) error {
	if _, err := c.Ask(ctx, call, Before); err != nil {
		return err
	}
	held := c.term.Load()
	if held != nil && !slices.Contains(reads, call) {
		if err := held.Fence.Check(); err != nil {
			return fmt.Errorf("%s: not sent: %w", call, err)
		}
	}
	sent := c.world.now()
	late, err := c.Ask(ctx, call, Sent)
	if err != nil {
		return err
	}
	c.world.mu.Lock()
	c.world.audit.acted(c.world, held, call, sent, late)
	err = effect(c.world)
	c.world.mu.Unlock()
	if err != nil {
		return err
	}
	_, err = c.Ask(ctx, call, After)
	return err
}

// Lead waits for the lease and calls the function once, with a context that ends
// when the lease is lost. The lease is given back when it returns, unless the
// process was killed.
func (c *Cluster) Lead(ctx context.Context, run func(context.Context)) error {
	return c.world.election.Lead(ctx, c.Process, c.term.Store, run)
}

// LoseLease takes the lease away from the leader, as if it had not been able to
// renew it: the leader learns it first, and a little later another may lead.
func (w Faults) LoseLease() { w.edit(w.election.Lose) }
