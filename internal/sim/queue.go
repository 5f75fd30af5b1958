package sim

import (
	"context"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/process"
)

const (
	// interruptionTime is between the notice and the end of a spot machine.
	interruptionTime = 2 * time.Minute
	// receiveTime is how long a process waits for a notice.
	receiveTime = 20 * time.Second
)

// Queue is a process's connection to the queue of notices.
type Queue struct{ *client }

// Receive returns the notices that are not hidden, and hides them for a while.
func (q *Queue) Receive(ctx context.Context) ([]offer.Notice, error) {
	for end := time.Now().Add(receiveTime); ; {
		out, err := q.take(ctx)
		if err != nil || len(out) > 0 || !time.Now().Before(end) {
			return out, err
		}
		if err := process.Sleep(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

func (q *Queue) take(ctx context.Context) ([]offer.Notice, error) {
	q.world.mu.Lock()
	ready := q.world.queue.Ready(time.Now())
	q.world.mu.Unlock()
	if !ready {
		return nil, ctx.Err()
	}
	var out []offer.Notice
	err := q.do(ctx, "Receive", func(w *world) error {
		out = w.queue.Receive(time.Now())
		return nil
	})
	return out, err
}

// Acknowledge removes notices.
func (q *Queue) Acknowledge(ctx context.Context, handles ...string) error {
	return q.do(ctx, "Acknowledge", func(w *world) error {
		w.queue.Acknowledge(handles...)
		return nil
	})
}

// Notify puts a notice on the queue, as often as is said.
func (w Faults) Notify(n offer.Notice, copies int) {
	w.edit(func() { w.notify(n, copies) })
}

func (w *world) notify(n offer.Notice, copies int) {
	for _, id := range n.InstanceIDs {
		if m := w.machines[id]; m != nil {
			m.noticed = true
		}
	}
	n.At = w.now().Time
	w.queue.Send(n, copies)
}

// Interrupt takes a spot machine back: the notice comes first, as often as is said,
// and two minutes later the end.
func (w Faults) Interrupt(id string, notices int) {
	w.edit(func() {
		w.notify(offer.Notice{Kind: offer.NoticeSpotInterruption, InstanceIDs: []string{id}}, notices)
	})
	time.AfterFunc(interruptionTime, func() { w.TerminateInstance(id) })
}

// Notices returns how many notices were not acknowledged.
func (w Records) Notices() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.queue.Len()
}
