package agent

import (
	"context"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/batch"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
)

// syncPoll is how often the loop checks whether the caches are filled.
const syncPoll = 50 * time.Millisecond

// loop takes a turn for each batch of changes, when the next turn is due, and after the interval at
// the latest.
func (a *Agent) loop(ctx context.Context) error {
	for {
		next := a.turn(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := a.await(ctx, next); err != nil {
			return err
		}
	}
}

// whenSynced runs a loop once all caches are filled. The agent is alive meanwhile: a restart would
// not help it to list what the API server does not serve yet.
func (a *Agent) whenSynced(ctx context.Context, loop func(context.Context) error) error {
	for !a.cluster.Synced() {
		a.pulse.turns()
		if err := pace.Sleep(ctx, syncPoll); err != nil {
			return err
		}
	}
	return loop(ctx)
}

// await returns when the next turn is due: at the given time, or when the next change has opened a
// batch and the batch has closed.
func (a *Agent) await(ctx context.Context, next time.Time) error {
	timer := time.NewTimer(time.Until(next))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	case <-a.replan:
		return a.gatherer.gather(ctx, batch.Open{
			Quiet: pace.BackOff(a.thought, a.options.BatchIdle), Idle: a.options.BatchIdle, Max: a.options.BatchMax,
		})
	}
}
