package worlds

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// figure is one number of each world that has it.
type figure struct {
	name   string
	format string
	of     func(*World) (float64, bool)
}

func percent(v float64) float64 { return 100 * v }

var figures = []figure{
	{"gap to the bound, 500 pods and more", "%.2f %%", func(w *World) (float64, bool) {
		gap, ok := w.Gap()
		return percent(gap), ok && w.Pods >= 500 && w.Nodes == 0
	}},
	{"gap to the bound, fewer pods", "%.2f %%", func(w *World) (float64, bool) {
		gap, ok := w.Gap()
		return percent(gap), ok && w.Pods < 500 && w.Nodes == 0
	}},
	{"gap to our own bound, with nodes", "%.2f %%", func(w *World) (float64, bool) {
		gap, ok := w.Gap()
		return percent(gap), ok && w.Nodes > 0
	}},
	{"our bound below the solver's", "%.2f %%", func(w *World) (float64, bool) {
		return percent(max(0, 1-w.Proven/max(w.Solved, 1e-9))), w.Solved > 0
	}},
	{"price against the peer's, same pods", "%.1f %%", func(w *World) (float64, bool) {
		ok := w.Peer != nil && w.Peer.Unplaced == w.Unplaced && len(w.Peer.Faults) == 0 && w.Peer.Price > 0
		if !ok {
			return 0, false
		}
		return percent(w.Price / w.Peer.Price), true
	}},
	{"pods left over that the peer places", "%.0f", func(w *World) (float64, bool) {
		if w.Peer == nil || len(w.Peer.Faults) > 0 {
			return 0, false
		}
		return float64(max(0, w.Unplaced-w.Peer.Unplaced)), true
	}},
	{"processor time", "%.1f ms", func(w *World) (float64, bool) { return w.CPU.Seconds() * 1000, true }},
	{"processor time against the peer's", "%.2f %%", func(w *World) (float64, bool) {
		if w.Peer == nil || w.Peer.CPU == 0 {
			return 0, false
		}
		return percent(w.CPU.Seconds() / w.Peer.CPU.Seconds()), true
	}},
}

const worstSeeds = 3

// Table shows the distribution over worlds in Markdown, and what is wrong.
func Table(all []*World) string {
	var b strings.Builder
	b.WriteString("| Figure | Worlds | Median | 95th percentile | Worst | Seeds of the worst |\n| --- | ---: | ---: | ---: | ---: | --- |\n")
	for _, f := range figures {
		f.row(&b, all)
	}
	b.WriteString("\n")
	faulty, changed := 0, map[string]int{}
	for _, w := range all {
		if len(w.Faults) > 0 {
			faulty++
			fmt.Fprintf(&b, "- seed %d is faulty: %s\n", w.Seed, strings.Join(w.Faults[:min(3, len(w.Faults))], "; "))
		}
		for _, c := range w.Changes {
			name, _, _ := strings.Cut(c, ":")
			changed[name]++
			fmt.Fprintf(&b, "- seed %d: %s\n", w.Seed, c)
		}
	}
	fmt.Fprintf(&b, "\nPlans with faults: %d of %d.\n", faulty, len(all))
	for _, m := range append(metamorphosesOf, metamorphosis{name: "one pod more"}) {
		fmt.Fprintf(&b, "Plans changed by %s: %d of %d.\n", m.name, changed[m.name], len(all))
	}
	return b.String()
}

func (f *figure) row(b *strings.Builder, all []*World) {
	type value struct {
		seed  uint64
		value float64
	}
	var values []value
	for _, w := range all {
		if v, ok := f.of(w); ok {
			values = append(values, value{w.Seed, v})
		}
	}
	if len(values) == 0 {
		fmt.Fprintf(b, "| %s | 0 | – | – | – | |\n", f.name)
		return
	}
	slices.SortStableFunc(values, func(a, b value) int { return cmp.Compare(a.value, b.value) })
	at := func(q float64) string { return fmt.Sprintf(f.format, values[int(q*float64(len(values)-1)+0.5)].value) }
	var seeds []string
	for i := range min(worstSeeds, len(values)) {
		v := values[len(values)-1-i]
		seeds = append(seeds, fmt.Sprintf("%d ("+f.format+")", v.seed, v.value))
	}
	fmt.Fprintf(b, "| %s | %d | %s | %s | %s | %s |\n", f.name, len(values), at(0.5), at(0.95), at(1), strings.Join(seeds, ", "))
}
