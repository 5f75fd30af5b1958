package parallel_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/parallel"
)

// Every item is done once, at most as many at a time as the limit says, and Each waits
// for all of them.
func TestEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 3
		done := make([]atomic.Int32, 10)
		items := make([]int, len(done))
		for i := range items {
			items[i] = i
		}
		var now, most atomic.Int32
		parallel.Each(limit, items, func(i int) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			done[i].Add(1)
		})
		for i := range done {
			if n := done[i].Load(); n != 1 {
				t.Errorf("item %d was done %d times", i, n)
			}
		}
		if most.Load() != limit {
			t.Errorf("%d at a time, want %d", most.Load(), limit)
		}
	})
}
