// Package notices is a simulated queue of notices: what was received is hidden for a while, and
// comes again unless it is acknowledged. It has no clock: callers say what time it is.
package notices

import (
	"fmt"
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// HiddenTime is how long a received notice is hidden.
const HiddenTime = 30 * time.Second

// Queue holds the notices that were not acknowledged yet. It is not safe for concurrent use, and
// its zero value is empty.
type Queue struct {
	sent    int
	waiting []*queued
}

type queued struct {
	offer.Notice
	hiddenUntil time.Time
}

// Send puts copies of a notice on the queue, each with a handle of its own.
func (q *Queue) Send(n offer.Notice, copies int) {
	for range copies {
		q.sent++
		n.Handle = fmt.Sprintf("handle-%d", q.sent)
		q.waiting = append(q.waiting, &queued{Notice: n})
	}
}

// Ready reports whether a notice can be received.
func (q *Queue) Ready(now time.Time) bool {
	return slices.ContainsFunc(q.waiting, func(n *queued) bool { return !now.Before(n.hiddenUntil) })
}

// Receive returns the notices that are not hidden, and hides them.
func (q *Queue) Receive(now time.Time) []offer.Notice {
	var out []offer.Notice
	for _, n := range q.waiting {
		if !now.Before(n.hiddenUntil) {
			n.hiddenUntil = now.Add(HiddenTime)
			out = append(out, n.Notice)
		}
	}
	return out
}

// Acknowledge removes notices by their handles.
func (q *Queue) Acknowledge(handles ...string) {
	q.waiting = slices.DeleteFunc(q.waiting, func(n *queued) bool { return slices.Contains(handles, n.Handle) })
}

// Len is how many notices were not acknowledged.
func (q *Queue) Len() int { return len(q.waiting) }
