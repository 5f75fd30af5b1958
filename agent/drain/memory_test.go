package drain

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// A block is reported when it begins, when another budget blocks, and again before the API server forgets the event,
// and not at each attempt.
func TestBlocksAreReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &cluster.Pod{PodKey: cluster.PodKey{Name: "web", UID: "web"}}
		blocked := func(budget string, want bool) {
			t.Helper()
			if got := m.refused(p, HeldByBudget, &cluster.BlockedError{Budget: budget}); got != want {
				t.Errorf("a block by %s is reported: %t, want %t", budget, got, want)
			}
		}
		blocked("x/web", true)
		time.Sleep(evictionRetry)
		blocked("x/web", false)
		blocked("x/all", true)
		time.Sleep(event.RepeatAfter - time.Second)
		blocked("x/all", false)
		time.Sleep(time.Second)
		blocked("x/all", true)
		m.accepted("web")
		blocked("x/all", true)
	})
}
