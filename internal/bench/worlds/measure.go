// Package worlds measures the decision core on clusters that nobody has tuned it for.
package worlds

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/bound"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/check"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/measure"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/ours"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/peer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// World is what came of one seed. Prices are in dollars per hour.
type World struct {
	Seed  uint64
	Pods  int
	Pools int
	Nodes int
	// Faults are what the checkers found wrong with the plan.
	Faults []string
	// Changes are what should not have changed the plan, and did.
	Changes  []string
	Price    float64
	Unplaced int
	CPU      time.Duration
	// Proven is the bound of the plan, Solved the independent one; 0 is none.
	Proven, Solved float64
	Peer           *Peer
}

// Peer is what the peer made of the same seed.
type Peer struct {
	Price    float64
	Unplaced int
	CPU      time.Duration
	Faults   []string
}

// Options of a run.
type Options struct {
	// Pods bounds the number of pods of a world.
	Pods int
	// Selectors, if above 0, is how many pods with selectors of many kinds there are instead of a random cluster.
	Selectors int
	Budget    time.Duration
	// PeerPods: the peer is asked where there are no more pods than this.
	PeerPods int
}

// Measure plans the world of a seed and checks the plan.
func Measure(ctx context.Context, seed uint64, o Options) (*World, error) {
	w := o.draw(seed)
	out := &World{Seed: seed, Pods: len(w.Pods), Pools: len(w.Pools()), Nodes: len(w.Nodes)}
	in := ours.Input(w, o.Budget)
	var plan decide.Plan
	sample, err := measure.Once(func() error { plan = decide.Decide(in); return nil })
	if err != nil {
		return nil, err
	}
	out.CPU = sample.CPU
	in.Prove = true
	proven := decide.Decide(in)
	p, err := ours.Plan(w, &plan)
	if err != nil {
		return nil, fmt.Errorf("read the plan of world %d: %w", seed, err)
	}
	out.Price, out.Unplaced, out.Faults = p.Price().Dollars(), len(w.Pods)-p.Placed(), check.Faults(w, &p)
	out.Proven = proven.LowerBound.Dollars()
	if out.Proven > out.Price*(1+roundingError) {
		out.Faults = append(out.Faults, fmt.Sprintf("the bound of %.6f is above the plan of %.6f", out.Proven, out.Price))
	}
	out.solve(w, &p)
	if out.Changes, err = metamorphoses(w, o.Budget, &plan); err != nil {
		return nil, err
	}
	if len(w.Nodes) == 0 && len(w.Pods) <= o.PeerPods {
		out.Peer, err = askPeer(ctx, w)
	}
	return out, err
}

// draw returns the world of a seed.
func (o *Options) draw(seed uint64) *workload.Workload {
	if o.Selectors > 0 {
		return workload.DrawnSelectors(seed, o.Selectors)
	}
	return workload.World(seed, o.Pods)
}

const roundingError = 1e-6

// solve adds the independent bound for the pods that have a place.
func (o *World) solve(w *workload.Workload, p *check.Plan) {
	if len(w.Nodes) > 0 {
		return
	}
	var placed []*corev1.Pod
	for i := range p.Machines {
		for _, pod := range p.Machines[i].Pods {
			placed = append(placed, w.Pods[pod])
		}
	}
	if len(placed) == 0 {
		return
	}
	// Where the solver gives up half-way, what it has proven until then counts.
	var err error
	if o.Solved, err = bound.Sums(w, placed); err != nil && o.Solved == 0 {
		o.Faults = append(o.Faults, fmt.Sprintf("no independent bound: %v", err))
	}
	if o.Solved > o.Price*(1+roundingError) {
		o.Faults = append(o.Faults, fmt.Sprintf("the solver's bound of %.6f is above the plan of %.6f", o.Solved, o.Price))
	}
}

func askPeer(ctx context.Context, w *workload.Workload) (*Peer, error) {
	task, err := peer.NewTask(w)
	if err != nil {
		return nil, fmt.Errorf("the peer: %w", err)
	}
	out := &Peer{}
	var p check.Plan
	sample, err := measure.Once(func() error {
		found, err := task.Solve(ctx)
		if err != nil {
			return err
		}
		p, err = task.Plan(&found)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the peer: %w", err)
	}
	out.CPU, out.Price, out.Unplaced = sample.CPU, p.Price().Dollars(), len(w.Pods)-p.Placed()
	out.Faults = check.Faults(w, &p)
	return out, nil
}

// Bound is the better one of both.
func (o *World) Bound() float64 { return max(o.Proven, o.Solved) }

// Gap is the price above the bound as a share of it, and whether there is a bound.
func (o *World) Gap() (float64, bool) {
	if o.Price == 0 || o.Bound() == 0 {
		return 0, o.Price == 0
	}
	return max(0, o.Price/o.Bound()-1), true
}
