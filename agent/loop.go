package agent

import (
	"context"
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
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
		if err := sleep(ctx, syncPoll); err != nil {
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
		return a.batch(ctx)
	}
}

// batch waits until no pod has come up for BatchIdle and the scheduler has looked
// at all, and at most BatchMax. It looks several times within BatchIdle so that it
// notices when pods came.
func (a *Agent) batch(ctx context.Context) error {
	opened := time.Now()
	last := opened
	a.history.arrivals(a.cluster.Snapshot(), opened)
	look := max(a.options.BatchIdle/looksPerIdle, time.Millisecond)
	for {
		now := time.Now()
		if now.Sub(opened) >= a.options.BatchMax {
			return nil
		}
		if now.Sub(last) >= a.options.BatchIdle {
			if !moreToCome(a.cluster.Snapshot(), now.Add(-a.options.BatchMax)) {
				return nil
			}
			last = now
		}
		wait := min(last.Add(a.options.BatchIdle).Sub(now), opened.Add(a.options.BatchMax).Sub(now))
		if err := sleep(ctx, min(wait, look)); err != nil {
			return err
		}
		select {
		case <-a.replan:
			if a.history.arrivals(a.cluster.Snapshot(), time.Now()) > 0 {
				last = time.Now()
			}
		default:
		}
	}
}

// moreToCome reports whether there are pods that the scheduler has not looked at
// yet. It takes a while to look at those of a large scale-up, and buying for the
// first of them apart from the rest would be dear. Pods that have waited for the
// scheduler since before the given time are not waited for.
func moreToCome(s *cluster.Snapshot, since time.Time) bool {
	return slices.ContainsFunc(s.Pods, func(p cluster.Pod) bool { return p.State == cluster.PodNew && p.Created.After(since) })
}

// looksPerIdle is a compromise: each look copies the caches.
const looksPerIdle = 4

// arrivals notes when pods were first seen waiting for a node, and returns how
// many of them are new.
func (h *history) arrivals(s *cluster.Snapshot, now time.Time) int {
	fresh := 0
	for i := range s.Pods {
		if p := &s.Pods[i]; p.State == cluster.PodPending {
			if _, known := h.firstSeen[p.UID]; !known {
				h.firstSeen[p.UID] = now
				fresh++
			}
		}
	}
	return fresh
}

// sleep waits for d, or returns the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
