package suite

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/bound"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/check"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/measure"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/ours"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/peer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// Run is what one process found out about one case.
type Run struct {
	Case    string  `json:"case"`
	Pods    int     `json:"pods"`
	Classes int     `json:"classes"`
	Types   int     `json:"types"`
	Ours    *Result `json:"ours"`
	Peer    *Result `json:"peer,omitempty"`
	// Proven is the bound that our plan carries, Solved the one of a general LP
	// solver, 0 where existing nodes make it useless; in dollars per hour.
	Proven float64 `json:"provenBound"`
	Solved float64 `json:"solvedBound"`
}

// Result is how a planner did.
type Result struct {
	Time     measure.Series `json:"time"`
	Machines int            `json:"machines"`
	Price    float64        `json:"dollarsPerHour"`
	Unplaced int            `json:"unplaced"`
	// GivenUp is the number of pods with a preference that is not met; ours only.
	GivenUp int `json:"givenUp,omitempty"`
	// Faults are what the checker found wrong with the plan.
	Faults []string `json:"faults,omitempty"`
}

// Options of a Run.
type Options struct {
	// Peer is measured too.
	Peer bool
	// PeerFirst swaps the order.
	PeerFirst bool
	// Budget of our decision; 0 is the agent's.
	Budget time.Duration
}

// Execute runs a case in this process.
func (c *Case) Execute(ctx context.Context, o Options) (*Run, error) {
	out := &Run{Case: c.Name, Pods: c.Pods}
	steps := []func() error{
		func() error { return c.runOurs(out, o.Budget) },
		func() error { return c.runPeer(ctx, out) },
	}
	if !o.Peer || c.Alone {
		steps = steps[:1]
	} else if o.PeerFirst {
		steps[0], steps[1] = steps[1], steps[0]
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, fmt.Errorf("run %s: %w", c.Name, err)
		}
	}
	return out, c.compareBounds(out)
}

// runOurs drops the pods before it measures, so that the memory is that of the
// decision and its input; they are generated again for the check.
func (c *Case) runOurs(out *Run, budget time.Duration) error {
	in := ours.Input(c.Generate(c.Pods), budget)
	out.Classes, out.Types = ours.Classes(&in), len(in.Provisioners[0].Types)
	var plan decide.Plan
	times, err := measure.Repeat(
		func() error { plan = decide.Plan{}; return nil },
		func() error { plan = decide.Decide(in); return nil },
	)
	if err != nil {
		return err
	}
	w := c.Generate(c.Pods)
	p, err := ours.Plan(w, &plan)
	if err != nil {
		return err
	}
	out.Ours = result(w, &p, times)
	out.Ours.GivenUp = givenUp(&plan)
	in.Prove = true
	proven := decide.Decide(in)
	out.Proven = proven.LowerBound.Dollars()
	if plan.HourlyPrice != p.Price() {
		out.Ours.Faults = append(out.Ours.Faults, fmt.Sprintf("the plan says that it costs %v and its machines cost %v", plan.HourlyPrice.Dollars(), p.Price().Dollars()))
	}
	return nil
}

func (c *Case) runPeer(ctx context.Context, out *Run) error {
	w := c.Generate(c.Pods)
	var task *peer.Task
	var found scheduling.Results
	times, err := measure.Repeat(
		func() (err error) { task, err = peer.NewTask(w); return err },
		func() (err error) { found, err = task.Solve(ctx); return err },
	)
	if err != nil {
		return fmt.Errorf("the peer: %w", err)
	}
	p, err := task.Plan(&found)
	if err != nil {
		return fmt.Errorf("the peer: %w", err)
	}
	out.Peer = result(w, &p, times)
	return nil
}

func result(w *workload.Workload, p *check.Plan, times measure.Series) *Result {
	return &Result{
		Time: times, Machines: len(p.Machines), Price: p.Price().Dollars(),
		Unplaced: len(w.Pods) - p.Placed(), Faults: check.Faults(w, p),
	}
}

func givenUp(p *decide.Plan) int {
	n := 0
	for i := range p.Machines {
		n += len(p.Machines[i].GivenUp)
	}
	for i := range p.Bindings {
		if len(p.Bindings[i].GivenUp) > 0 {
			n++
		}
	}
	return n
}

// roundingError is the share by which a price may be off.
const roundingError = 1e-6

// compareBounds adds the independent bound, and faults a proven one that a plan
// without faults undercuts.
func (c *Case) compareBounds(out *Run) error {
	w := c.Generate(c.Pods)
	if len(w.Nodes) == 0 {
		var err error
		if out.Solved, err = bound.Sums(w, w.Pods); err != nil && out.Solved == 0 {
			return fmt.Errorf("bound %s: %w", c.Name, err)
		}
	}
	least := out.Ours.Price
	if p := out.Peer; p != nil && p.Unplaced == 0 && len(p.Faults) == 0 {
		least = min(least, p.Price)
	}
	if out.Proven > least*(1+roundingError) {
		out.Ours.Faults = append(out.Ours.Faults, fmt.Sprintf("the bound of %.6f is above a plan of %.6f", out.Proven, least))
	}
	if out.Solved > least*(1+roundingError) && out.Ours.Unplaced == 0 {
		out.Ours.Faults = append(out.Ours.Faults, fmt.Sprintf("the solver's bound of %.6f is above a plan of %.6f", out.Solved, least))
	}
	return nil
}
