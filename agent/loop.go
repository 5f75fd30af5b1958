package agent

import (
	"context"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
)

// syncPoll is how often the loop looks whether the caches are filled.
const syncPoll = 50 * time.Millisecond

// loop takes a turn for each batch of changes, when the next time-based event is
// due, and after the interval at the latest.
func (a *Agent) loop(ctx context.Context) error {
	if err := a.awaitSync(ctx); err != nil {
		return err
	}
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

func (a *Agent) awaitSync(ctx context.Context) error {
	for !a.cluster.Synced() {
		if err := pace.Sleep(ctx, syncPoll); err != nil {
			return err
		}
	}
	return nil
}

// await returns when the next turn is due: at the given time, or when the batch
// is complete that the next change opens.
func (a *Agent) await(ctx context.Context, next time.Time) error {
	timer := time.NewTimer(time.Until(next))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	case <-a.replan:
		return a.gather(ctx)
	}
}
