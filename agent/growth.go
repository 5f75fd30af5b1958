package agent

import (
	"maps"
	"time"
)

// An owner that an autoscaler of workloads takes up in fast steps is bought for every
// second step or so: machines for few pods cost more for each of them, because more of
// a small machine goes to the kubelet and the system.

// growth is an owner's last step to more pods.
type growth struct {
	wanted int
	at     time.Time
	after  time.Duration // since the step before; 0 where there was none lately
}

// grow notes which owners of the batch want more pods than they did. Steps that are
// further apart than the given time have nothing to do with each other.
func (h *history) grow(b *arrivals, now time.Time, apart time.Duration) {
	maps.DeleteFunc(h.growth, func(_ string, g growth) bool { return now.Sub(g.at) > apart })
	if b.loose {
		return
	}
	for owner, wanted := range b.wanted {
		switch g, known := h.growth[owner]; {
		case !known:
			h.growth[owner] = growth{wanted: wanted, at: now}
		case wanted > g.wanted:
			h.growth[owner] = growth{wanted: wanted, at: now, after: now.Sub(g.at)}
		case wanted < g.wanted:
			delete(h.growth, owner)
		}
	}
}

// stepIsDue reports whether an owner of the batch is about to take another step
// before the batch closes. A step is overdue, and not waited for any more, when half
// as much time again has passed as between the last two. Pods of others are not kept
// waiting.
func (h *history) stepIsDue(b *arrivals, now, closes time.Time) bool {
	due := false
	for owner := range b.owners {
		g := h.growth[owner]
		if g.after == 0 || b.loose {
			return false
		}
		next, overdue := g.at.Add(g.after), g.at.Add(g.after+g.after/2)
		due = due || next.Before(closes) && now.Before(overdue)
	}
	return due
}
