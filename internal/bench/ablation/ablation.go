// Package ablation measures what each heuristic of the decision core is worth: plans are
// made without one of them at a time, and compared with the plan that uses all.
package ablation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/measure"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/ours"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
)

// Subject is a workload that is planned.
type Subject struct {
	Name     string
	Generate func() *workload.Workload
}

// Figures are what came of one plan.
type Figures struct {
	Price    float64 // dollars per hour
	Unplaced int
	CPU      time.Duration
}

// Row is a subject with what came of it, with all heuristics and without each.
type Row struct {
	Subject string
	Whole   Figures
	Without map[pack.Heuristic]Figures
}

// Runs of each plan; the quickest counts, because what else the machine does only makes
// plans slower.
const runs = 2

// Measure plans the subject with all heuristics, and without each of the listed ones.
func Measure(of Subject, without []pack.Heuristic) (*Row, error) {
	w := of.Generate()
	whole, err := plan(w, nil)
	if err != nil {
		return nil, fmt.Errorf("plan %s: %w", of.Name, err)
	}
	out := &Row{Subject: of.Name, Whole: whole, Without: map[pack.Heuristic]Figures{}}
	for _, h := range without {
		if out.Without[h], err = plan(w, []pack.Heuristic{h}); err != nil {
			return nil, fmt.Errorf("plan %s without %s: %w", of.Name, h, err)
		}
	}
	return out, nil
}

func plan(w *workload.Workload, without []pack.Heuristic) (Figures, error) {
	in := ours.Input(w, 0)
	in.Settings.Without = without
	var out Figures
	for i := range runs {
		var p decide.Plan
		sample, err := measure.Once(func() error { p = decide.Decide(in); return nil })
		if err != nil {
			return Figures{}, err
		}
		if i == 0 || sample.CPU < out.CPU {
			out.CPU = sample.CPU
		}
		out.Price, out.Unplaced = p.HourlyPrice.Dollars(), len(p.Unplaced)
	}
	return out, nil
}

// notable is the change of a price that is named, and shown by name is how many.
const notable, shown = 5e-4, 4

// Table compares the rows, heuristic by heuristic, as Markdown. Ratios are those of the
// plan without the heuristic to the plan with all of them. Prices are compared where both
// leave as many pods without a place.
func Table(rows []*Row, without []pack.Heuristic) string {
	var b strings.Builder
	b.WriteString("| without | price, all together | largest rises | largest falls | places lost | CPU |\n| --- | ---: | --- | --- | ---: | ---: |\n")
	for _, h := range without {
		b.WriteString(line(rows, h))
	}
	return b.String()
}

// change is how the price of a subject changes.
type change struct {
	subject string
	ratio   float64
}

func line(rows []*Row, h pack.Heuristic) string {
	price, base, lost := 0.0, 0.0, 0
	var cpu, baseCPU time.Duration
	var changes []change
	for _, r := range rows {
		f, measured := r.Without[h]
		if !measured {
			continue
		}
		cpu, baseCPU, lost = cpu+f.CPU, baseCPU+r.Whole.CPU, lost+f.Unplaced-r.Whole.Unplaced
		if f.Unplaced != r.Whole.Unplaced || r.Whole.Price == 0 {
			continue
		}
		price, base = price+f.Price, base+r.Whole.Price
		changes = append(changes, change{r.Subject, f.Price / r.Whole.Price})
	}
	slices.SortStableFunc(changes, func(a, b change) int {
		switch {
		case a.ratio > b.ratio:
			return -1
		case a.ratio < b.ratio:
			return 1
		}
		return 0
	})
	rises := named(changes, func(r float64) bool { return r >= 1+notable })
	slices.Reverse(changes)
	falls := named(changes, func(r float64) bool { return r <= 1-notable })
	return fmt.Sprintf("| `%s` | %.4f | %s | %s | %d | %.2f |\n", h, ratio(price, base), rises, falls, lost, ratio(cpu.Seconds(), baseCPU.Seconds()))
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 1
	}
	return a / b
}

func named(changes []change, wanted func(float64) bool) string {
	var out []string
	n := 0
	for _, c := range changes {
		if !wanted(c.ratio) {
			break
		}
		if n++; n <= shown {
			out = append(out, fmt.Sprintf("%s %+.2f %%", c.subject, 100*(c.ratio-1)))
		}
	}
	if n > shown {
		out = append(out, fmt.Sprintf("%d more", n-shown))
	}
	if n == 0 {
		return "–"
	}
	return strings.Join(out, ", ")
}
