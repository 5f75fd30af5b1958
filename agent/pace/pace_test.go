package pace_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
)

// A loop pauses ten times as long as it worked, within bounds.
func TestBackOff(t *testing.T) {
	const least = 100 * time.Millisecond
	for work, want := range map[time.Duration]time.Duration{
		0: least, 5 * time.Millisecond: least, 30 * time.Millisecond: 300 * time.Millisecond, time.Minute: time.Second,
	} {
		if got := pace.BackOff(work, least); got != want {
			t.Errorf("BackOff(%s) = %s, want %s", work, got, want)
		}
	}
}

func TestSleepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := pace.Sleep(ctx, time.Hour); err == nil || time.Since(began) != time.Second {
			t.Errorf("Sleep = %v after %s, want the context's error after 1s", err, time.Since(began))
		}
		if err := pace.Sleep(t.Context(), time.Hour); err != nil || time.Since(began) != time.Hour+time.Second {
			t.Errorf("Sleep = %v after %s, want none after an hour more", err, time.Since(began))
		}
	})
}

// Each failure doubles the pause up to the longest; a success ends it. Keys do not
// influence each other.
func TestRetriesPauseTwiceAsLongEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := pace.NewRetries(time.Second, 4*time.Second)
		if !r.Due("a") {
			t.Error("what has not failed is not due")
		}
		for _, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second} {
			r.Failed("a")
			time.Sleep(pause - time.Nanosecond)
			if r.Due("a") || !r.Due("b") {
				t.Errorf("before the pause of %s ends: a due %t, b due %t", pause, r.Due("a"), r.Due("b"))
			}
			time.Sleep(time.Nanosecond)
			if !r.Due("a") {
				t.Errorf("not due after %s", pause)
			}
		}
		r.Failed("a")
		r.Succeeded("a")
		if !r.Due("a") {
			t.Error("not due after a success")
		}
	})
}
