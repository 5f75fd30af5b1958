package access_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/access"
)

// A cache is stale once attempts to refresh it have failed for a while, however long each takes. Failures that lie
// apart do not add up: nothing tells of the successes between them, and a kind of which no object changes keeps its
// resource version.
func TestStale(t *testing.T) {
	const short, slow, apart = 10 * time.Second, 2 * time.Minute, 10 * time.Minute
	for name, c := range map[string]struct {
		pauses []time.Duration // before each failure but the first
		stale  bool
	}{
		"once":                             {},
		"for a moment":                     {[]time.Duration{short, short}, false},
		"for a while":                      {[]time.Duration{access.StaleAfter}, true},
		"slowly":                           {[]time.Duration{slow, slow}, true},
		"twice for a moment":               {[]time.Duration{short, apart, short}, false},
		"for a moment, then for a while":   {[]time.Duration{short, apart, short, access.StaleAfter}, true},
		"again a while after it was stale": {[]time.Duration{access.StaleAfter, apart}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r access.Record
				for _, pause := range append([]time.Duration{0}, c.pauses...) {
					time.Sleep(pause)
					_, _ = r.Note(errors.New("connection lost"), "1")
				}
				if got := r.State().Stale; got != c.stale {
					t.Errorf("stale %t, want %t", got, c.stale)
				}
			})
		})
	}
}
