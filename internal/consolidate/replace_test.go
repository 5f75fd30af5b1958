package consolidate

import (
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
)

// Of two ways to replace nodes, the one is better that saves more within the same time.
func TestBetter(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	young, old := now.Add(-time.Hour), now.Add(-500*time.Hour)
	source := func(name string, since time.Time) Source {
		return Source{Node: &cluster.Node{Name: name}, Price: 1_000_000, LastArrival: since}
	}
	for name, c := range map[string]struct {
		since         [2]time.Time // of nodes a and b
		first, second Step
		want          bool
	}{
		"an old node makes no difference": {
			[2]time.Time{young, old},
			Step{Nodes: []string{"a"}, Saving: 500_000, Cost: 100_000},
			Step{Nodes: []string{"a", "b"}, Saving: 501_000, Cost: 3_100_000}, // the second node pays back in 3,000 hours
			true,
		},
		"an old node pays": {
			[2]time.Time{young, old},
			Step{Nodes: []string{"a"}, Saving: 500_000, Cost: 100_000},
			Step{Nodes: []string{"a", "b"}, Saving: 600_000, Cost: 3_100_000},
			false,
		},
		"only the first is due": {
			[2]time.Time{old, young},
			Step{Nodes: []string{"a"}, Saving: 10_000, Cost: 4_000_000},
			Step{Nodes: []string{"a", "b"}, Saving: 20_000, Cost: 6_000_000}, // it pays back sooner
			true,
		},
		"neither is due": {
			[2]time.Time{young, young},
			Step{Nodes: []string{"a"}, Saving: 10_000, Cost: 4_000_000},
			Step{Nodes: []string{"a", "b"}, Saving: 20_000, Cost: 6_000_000},
			false,
		},
	} {
		p := &Problem{Base: pack.Problem{Now: now}, Sources: []Source{source("a", c.since[0]), source("b", c.since[1])}}
		r := &replacer{solver: &solver{Problem: p}}
		if got := r.better(&c.first, &c.second); got != c.want {
			t.Errorf("%s: the first is better is %t, want %t", name, got, c.want)
		}
		if got := r.better(&c.second, &c.first); got == c.want {
			t.Errorf("%s, the other way round: got %t", name, got)
		}
	}
}
