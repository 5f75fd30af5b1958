package batch

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Whatever happens, a batch closes at its limit, is polled again before it and not in
// the past, and the state that a step was given stays as it was.
func TestBatchCloses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		owners := []string{"", "web", "job", "set"}
		most := time.Duration(rapid.IntRange(1, 20).Draw(t, "most")) * time.Second
		now := start
		s, next := Step(State{}, Open{Quiet: time.Second, Idle: 100 * time.Millisecond, Max: most}, now)
		for limit := now.Add(most); !next.Close; {
			if !next.Wake.After(now) || next.Wake.After(limit) {
				t.Fatalf("at %s, it is polled again at %s, and closes at %s", now, next.Wake, limit)
			}
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(next.Wake.Sub(now))).Draw(t, "wait")) + time.Microsecond)
			p := pod(rapid.SampledFrom(owners).Draw(t, "owner"), rapid.IntRange(0, 5).Draw(t, "pod"), cluster.PodPending)
			p.Created = now
			var e Event = Answer{Pod: p, Wanted: cluster.Wanted{Pods: rapid.IntRange(0, 9).Draw(t, "wanted"), Certain: rapid.Bool().Draw(t, "certain")}}
			if rapid.Bool().Draw(t, "poll") {
				waits := rapid.Bool().Draw(t, "placed")
				e = NewPoll(&cluster.Snapshot{Pods: []cluster.Pod{*p}}, []*cluster.Pod{p}, func(string) bool { return waits })
			}
			after, first := Step(s, e, now)
			_, second := Step(s, e, now)
			if first.text() != second.text() {
				t.Fatalf("the same step has two outcomes: %s, and %s", first.text(), second.text())
			}
			s, next = after, first
		}
	})
}
