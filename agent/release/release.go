// Package release lets Provisioners go that have neither nodes nor instances.
package release

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// Finalizers keep Provisioners until their nodes are gone.
type Finalizers interface {
	SetProvisionerFinalizer(ctx context.Context, name string, present bool) error
}

// Leftovers is what was made for Provisioners besides machines.
type Leftovers interface {
	Forget(ctx context.Context, provisioner string) error
}

// Ports are what a Releaser works with. All are to be set.
type Ports struct {
	Finalizers Finalizers
	Leftovers  Leftovers
	Log        hclog.Logger
	// Occupied returns the Provisioners that have instances. It asks the cloud, and says if that fails.
	Occupied func(ctx context.Context) (map[string]bool, error)
	// Failed counts a call to the cloud that failed.
	Failed func(call string)
	// Unsettled is called when an instance has no Node object, and Replan when there is something to plan.
	Unsettled, Replan func()
}

// Releaser puts the finalizer on Provisioners that have nodes, and takes it off the others. For that it has
// to ask the cloud, and to remove what was made for them. The planning loop does not wait for it: many
// Provisioners may lose their last node at the same time, and the cloud may throttle or refuse.
type Releaser struct {
	Ports
	retries *pace.Retries // by Provisioner
	wake    pace.Signal

	mu       sync.Mutex
	empty    map[string]bool // Provisioners with the finalizer and without nodes
	released map[string]bool // their finalizer may be gone, and the caches still show it
	held     map[string]bool // may have got an instance since the instances were listed
	going    *going          // the one that is being released; nil for none
}

type going struct {
	provisioner string
	stop        context.CancelFunc
	ended       chan struct{}
}

// listingHolds is for how long a list of the instances tells which Provisioners have none.
const listingHolds = time.Minute

// New returns a Releaser that has nothing to do.
func New(p Ports) *Releaser {
	return &Releaser{Ports: p, retries: pace.NewRetries(2*time.Second, time.Minute), wake: pace.NewSignal(), empty: map[string]bool{}, released: map[string]bool{}, held: map[string]bool{}}
}

// Hold puts the finalizer on a Provisioner before it gets a node, so that it cannot go before its nodes
// have. If the Provisioner is being released, that ends first.
func (r *Releaser) Hold(ctx context.Context, p *view.Provisioner) error {
	if held := slices.Contains(p.Raw.Finalizers, api.Finalizer); !r.keep(p.Raw.Name) && held {
		return nil
	}
	err := r.Finalizers.SetProvisionerFinalizer(ctx, p.Raw.Name, true)
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.released, p.Raw.Name)
	}
	return err
}

// keep ends the release of a Provisioner. It reports whether its finalizer may be gone although the caches
// show it.
func (r *Releaser) keep(provisioner string) bool {
	r.mu.Lock()
	r.held[provisioner] = true
	delete(r.empty, provisioner)
	if g := r.going; g != nil && g.provisioner == provisioner {
		g.stop()
		r.mu.Unlock()
		<-g.ended
		r.mu.Lock()
	}
	defer r.mu.Unlock()
	return r.released[provisioner]
}

// Look finds the Provisioners that have got nodes, or have none any more.
func (r *Releaser) Look(ctx context.Context, v *view.View) {
	empty, withFinalizer := map[string]bool{}, map[string]bool{}
	for _, p := range v.Provisioners {
		has := len(v.NodesOf(p.Raw.Name)) > 0
		switch finalizer := slices.Contains(p.Raw.Finalizers, api.Finalizer); {
		case finalizer:
			withFinalizer[p.Raw.Name] = true
			if !has {
				empty[p.Raw.Name] = true
			}
		case has && p.Raw.DeletionTimestamp == nil:
			r.note(ctx, p.Raw.Name, r.Finalizers.SetProvisionerFinalizer(ctx, p.Raw.Name, true))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.empty = empty
	if r.going != nil && !empty[r.going.provisioner] {
		r.going.stop()
	}
	maps.DeleteFunc(r.released, func(name string, _ bool) bool { return !withFinalizer[name] })
	if len(empty) > 0 {
		r.wake.Set()
	}
}

// Run releases what Look finds until the context ends.
func (r *Releaser) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.wake:
		case <-r.again():
		}
		r.pass(ctx)
	}
}

// again fires when the first release that is left may be tried.
func (r *Releaser) again() <-chan time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.empty) == 0 {
		return nil
	}
	first := slices.MinFunc(slices.Collect(maps.Keys(r.empty)), func(a, b string) int { return r.retries.Next(a).Compare(r.retries.Next(b)) })
	return time.After(time.Until(r.retries.Next(first)))
}

// pass releases the Provisioners that are due, one after the other. Those that it does not get to before the
// list of instances is too old are left for the next pass, but not the first one, however long the list took.
func (r *Releaser) pass(ctx context.Context) {
	due := r.due()
	if len(due) == 0 {
		return
	}
	listed := time.Now()
	occupied, err := r.Occupied(ctx)
	nodeless := false
	for i, name := range due {
		switch {
		case err != nil || occupied[name]:
			r.retries.Failed(name)
			nodeless = nodeless || err == nil
		case ctx.Err() == nil && (i == 0 || time.Since(listed) < listingHolds):
			r.release(ctx, name)
		}
	}
	if nodeless {
		r.Unsettled()
		r.Replan()
	}
}

// due returns the Provisioners that are to be released by a new list of the instances.
func (r *Releaser) due() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.held)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.empty)), func(name string) bool { return !r.retries.Due(name) })
}

// release removes what was made for a Provisioner and takes the finalizer off, in this order: once the
// Provisioner is gone, the agent may be too.
func (r *Releaser) release(ctx context.Context, name string) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	g := &going{name, stop, make(chan struct{})}
	if !r.begin(g) {
		return
	}
	defer r.end(g)
	err := r.Leftovers.Forget(ctx, name)
	if err != nil && ctx.Err() == nil {
		r.Failed("Forget")
	}
	if err == nil && ctx.Err() == nil {
		r.mu.Lock()
		r.released[name] = true
		r.mu.Unlock()
		err = r.Finalizers.SetProvisionerFinalizer(ctx, name, false)
	}
	if r.note(ctx, name, err); err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.empty, name)
	}
}

// begin reports whether a Provisioner is still to be released.
func (r *Releaser) begin(g *going) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.empty[g.provisioner] || r.held[g.provisioner] {
		return false
	}
	r.going = g
	return true
}

func (r *Releaser) end(g *going) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.going = nil
	close(g.ended)
}

func (r *Releaser) note(ctx context.Context, name string, err error) {
	switch {
	case err == nil:
		r.retries.Succeeded(name)
	case ctx.Err() == nil:
		r.retries.Failed(name)
		r.Log.Warn("could not change the finalizer of a Provisioner", "provisioner", name, "error", err)
	}
}
