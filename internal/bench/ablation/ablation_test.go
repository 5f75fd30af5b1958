package ablation

import (
	"strings"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
)

// TestHeuristicsAreLeftOut: what has been left out makes a difference where it matters,
// and no pod loses its place.
func TestHeuristicsAreLeftOut(t *testing.T) {
	of := Subject{Name: "families-100", Generate: func() *workload.Workload { return workload.MixedSelectors(100) }}
	r, err := Measure(of, []pack.Heuristic{pack.Search})
	if err != nil {
		t.Fatal(err)
	}
	got := r.Without[pack.Search]
	if got.Price <= r.Whole.Price || got.Unplaced != r.Whole.Unplaced {
		t.Errorf("with the search %+v, without it %+v", r.Whole, got)
	}
}

// TestTable: ratios are of all rows, and pods that lose their places are counted apart.
func TestTable(t *testing.T) {
	second := func(price float64, unplaced int, s time.Duration) Figures {
		return Figures{Price: price, Unplaced: unplaced, CPU: s * time.Second}
	}
	rows := []*Row{
		{Subject: "a", Whole: second(10, 0, 1), Without: map[pack.Heuristic]Figures{pack.Search: second(11, 0, 2)}},
		{Subject: "b", Whole: second(10, 0, 1), Without: map[pack.Heuristic]Figures{pack.Search: second(9.9, 0, 1)}},
		{Subject: "c", Whole: second(10, 0, 1), Without: map[pack.Heuristic]Figures{pack.Search: second(1, 3, 0)}},
	}
	want := "| `search` | 1.0450 | a +10.00 % | b -1.00 % | 3 | 1.00 |"
	if got := Table(rows, []pack.Heuristic{pack.Search}); !strings.Contains(got, want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
