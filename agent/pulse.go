package agent

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
)

// pulse tells whether the planning loop is alive. A turn may wait for calls, each of which
// ends; making a plan waits for nothing.
type pulse struct {
	turn     atomic.Int64 // unix nanoseconds at which a turn began
	planning atomic.Int64 // and a plan; 0 while none is being made
}

const (
	// turnMost is how long after a turn the next one begins at the latest, beyond the interval
	// and a batch: a few calls to the cloud may each take until their deadline.
	turnMost = 3 * pace.Answer
	// planMost is how long a plan may take: what pods may ask for is bounded, so that
	// the largest clusters take seconds.
	planMost = 2 * time.Minute
)

func (p *pulse) turns() { p.turn.Store(time.Now().UnixNano()) }

// plans marks that a plan is being made, until the returned function is called.
func (p *pulse) plans() (done func()) {
	p.planning.Store(time.Now().UnixNano())
	return func() { p.planning.Store(0) }
}

// check returns an error if no turn has begun for long, or a plan takes too long. The idle time is the longest
// between two turns: the interval and a batch.
func (p *pulse) check(idle time.Duration) error {
	if began := p.planning.Load(); began != 0 {
		if took := time.Since(time.Unix(0, began)); took > planMost {
			return fmt.Errorf("planning has been running for %s", took.Round(time.Second))
		}
	}
	if since := time.Since(time.Unix(0, p.turn.Load())); since > idle+turnMost {
		return fmt.Errorf("the last turn began %s ago", since.Round(time.Second))
	}
	return nil
}
