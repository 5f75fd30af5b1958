package fence

import "time"

// Instant is a moment by two clocks. The steady one is never set, and counts the time
// for which the machine was suspended. A virtual machine that was paused may go on
// with a steady clock that knows nothing of it, until its wall clock is set right.
type Instant struct {
	steady time.Duration
	wall   time.Time
}

// Now is the present.
func Now() Instant { return Instant{steady: steady(), wall: time.Now().Round(0)} }

// Sub returns the time since an earlier Instant by the clock that shows more. A wall
// clock that is set forward makes it too long, never too short.
func (i Instant) Sub(earlier Instant) time.Duration {
	return max(i.steady-earlier.steady, i.wall.Sub(earlier.wall))
}

var start = time.Now()

// sinceStart is Go's monotonic time, which stops during a suspension. On systems without a better clock, only the wall
// clock shows that the machine was suspended.
func sinceStart() time.Duration { return time.Since(start) }
