package worlds

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/check"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/exact"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/ours"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// Tiny is what came of the seed of a tiny world. Prices are in dollars per hour.
type Tiny struct {
	Seed uint64
	// Price and Left are those of our plan, with the pods that have no place.
	Price float64
	Left  int
	// Best and BestLeft are those of the best plan that was found.
	Best     float64
	BestLeft int
	// Tried: all plans have been tried, so there is none better than the best.
	Tried  bool
	Faults []string
}

// MeasureTiny plans the tiny world of a seed, and compares the plan with others by so many
// steps at most.
func MeasureTiny(seed uint64, steps int) (*Tiny, error) {
	w := workload.Tiny(seed)
	in := ours.Input(w, 0)
	in.Prove = true
	plan := decide.Decide(in)
	p, err := ours.Plan(w, &plan)
	if err != nil {
		return nil, fmt.Errorf("read the plan of tiny world %d: %w", seed, err)
	}
	best, tried := exact.Better(w, &p, steps)
	out := &Tiny{
		Seed: seed, Tried: tried, Faults: check.Faults(w, &p),
		Price: p.Price().Dollars(), Left: len(w.Pods) - p.Placed(),
		Best: best.Price().Dollars(), BestLeft: len(w.Pods) - best.Placed(),
	}
	if out.BestLeft == 0 && plan.LowerBound > best.Price() {
		out.Faults = append(out.Faults, fmt.Sprintf("the bound is %.6f $/h, and a plan costs %.6f", plan.LowerBound.Dollars(), out.Best))
	}
	return out, nil
}

// String says what a line of progress says.
func (t *Tiny) String() string {
	return fmt.Sprintf("%d: %.4f $/h and %d pods left, %.4f $/h and %d at best, all plans tried: %t, %d faults", t.Seed, t.Price, t.Left, t.Best, t.BestLeft, t.Tried, len(t.Faults))
}

// TinyTable shows in Markdown how far plans are from the best ones, and the seeds of those
// that are not as good.
func TinyTable(all []*Tiny) string {
	var b strings.Builder
	tried, same := 0, 0
	var worse []*Tiny
	for _, t := range all {
		if t.Tried {
			tried++
		}
		if t.Price == t.Best && t.Left == t.BestLeft {
			same++
		} else {
			worse = append(worse, t)
		}
	}
	fmt.Fprintf(&b, "%d tiny worlds. All plans have been tried in %d of them. In %d, no plan is better than ours.\n", len(all), tried, same)
	slices.SortFunc(worse, func(a, b *Tiny) int {
		return cmp.Or(cmp.Compare(b.Left-b.BestLeft, a.Left-a.BestLeft), cmp.Compare(b.Price*a.Best, a.Price*b.Best))
	})
	if len(worse) > 0 {
		b.WriteString("\n| Seed | Pods left over | at best | Price, $/h | at best |\n| --- | ---: | ---: | ---: | ---: |\n")
	}
	for _, t := range worse {
		fmt.Fprintf(&b, "| %d | %d | %d | %.4f | %.4f |\n", t.Seed, t.Left, t.BestLeft, t.Price, t.Best)
	}
	for _, t := range all {
		if len(t.Faults) > 0 {
			fmt.Fprintf(&b, "\nThe plan of seed %d is faulty: %s\n", t.Seed, strings.Join(t.Faults, "; "))
		}
	}
	return b.String()
}
