package fence

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// clock is set by tests.
type clock struct{ Instant }

func (c *clock) pass(steady, wall time.Duration) {
	c.steady += steady
	c.wall = c.wall.Add(wall)
}

func TestCheck(t *testing.T) {
	const fresh = 10 * time.Second
	cases := map[string]struct {
		reason string
		do     func(*Fence, *clock)
		want   string // of the refusal; empty: it passes
	}{
		"never held": {"a standby changes nothing", func(*Fence, *clock) {}, "does not hold the lease"},
		"fresh": {"a leader acts", func(f *Fence, c *clock) {
			f.Renewed(f.Now(), fresh)
			c.pass(9*time.Second, 9*time.Second)
		}, ""},
		"stale": {"the process was stopped", func(f *Fence, c *clock) {
			f.Renewed(f.Now(), fresh)
			c.pass(10*time.Second, 10*time.Second)
		}, "renewed 10s ago"},
		"slow answer": {"the lease is as old as the question", func(f *Fence, c *clock) {
			asked := f.Now()
			c.pass(11*time.Second, 11*time.Second)
			f.Renewed(asked, fresh)
		}, "renewed 11s ago"},
		"paused machine": {"only the wall clock knows that it was paused", func(f *Fence, c *clock) {
			f.Renewed(f.Now(), fresh)
			c.pass(time.Second, time.Minute)
		}, "renewed 1m0s ago"},
		"wall clock set back": {"the steady clock knows better", func(f *Fence, c *clock) {
			f.Renewed(f.Now(), fresh)
			c.pass(11*time.Second, -time.Hour)
		}, "renewed 11s ago"},
		"renewed again": {"a lease that nobody has taken is as good as before", func(f *Fence, c *clock) {
			f.Renewed(f.Now(), fresh)
			c.pass(time.Minute, time.Minute)
			f.Renewed(f.Now(), fresh)
		}, ""},
		"closed": {"what another holds is not ours again", func(f *Fence, _ *clock) {
			f.Close("b holds the lease")
			f.Renewed(f.Now(), fresh)
		}, "b holds the lease"},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			c := &clock{Now()}
			f := &Fence{now: func() Instant { return c.Instant }}
			test.do(f, c)
			err := f.Check()
			switch {
			case test.want == "" && err != nil:
				t.Errorf("%s: refused: %v", test.reason, err)
			case test.want != "" && (!errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%s: error = %v, want one with %q", test.reason, err, test.want)
			}
		})
	}
}

func TestWithoutALeaseEverythingPasses(t *testing.T) {
	if err := (*Fence)(nil).Check(); err != nil {
		t.Error(err)
	}
}

func TestTheClockGoesForward(t *testing.T) {
	f, before := New(), Now()
	for f.Now().Sub(before) == 0 {
	}
	if steady() < before.steady {
		t.Error("the steady clock went back")
	}
}
