package client

import (
	"testing"
	"time"
)

// All pauses of one call together leave time for its attempts, and no two callers
// keep in step.
func TestBackoff(t *testing.T) {
	var least, most time.Duration
	for attempt := range maxAttempts - 1 {
		low, high := backoff(attempt, 0), backoff(attempt, 1)
		if low <= 0 || high > maxBackoff || high < 3*low {
			t.Errorf("before attempt %d: from %s to %s", attempt+1, low, high)
		}
		least, most = least+low, most+high
	}
	if most > CallTimeout*3/4 {
		t.Errorf("a call pauses for up to %s of its %s", most, CallTimeout)
	}
	if once := backoff(0, 1); once > 500*time.Millisecond {
		t.Errorf("the first pause is up to %s: a first look makes dozens of calls", once)
	}
	t.Logf("%d attempts within %s to %s", maxAttempts, least, most)
}
