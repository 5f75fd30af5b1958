package explain

import (
	"fmt"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
)

// Least sizes of what is drawn on its own, in pixels.
const (
	podHeight   = 3.0  // less: the pods of a load are one rectangle
	labelHeight = 12.0 // less: a rectangle has no label
	// readableRunes is what must be left of a name that is cut.
	readableRunes = 6
)

// box draws a box with its upper left corner at the origin: its columns side by
// side, each filled from the bottom in the same order, and what is free above.
func (d *drawing) box(b *box) {
	side := d.side(b)
	if b.count > 1 {
		fmt.Fprintf(&d.out, "<rect class=\"pile\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>\n", decimal(pileShift), decimal(-pileShift), decimal(side), decimal(side))
	}
	fmt.Fprintf(&d.out, "<rect class=\"room\" width=\"%s\" height=\"%s\"/>\n", decimal(side), decimal(side))
	level := make([]float64, len(d.columns))
	var labels strings.Builder
	held := load{pods: 1, each: b.held}
	labels.WriteString(d.load(b, &held, "held", "", level))
	for _, class := range d.order() {
		for i := range b.loads {
			if l := &b.loads[i]; d.class(b, l.workload) == class {
				labels.WriteString(d.load(b, l, class, l.workload, level))
			}
		}
	}
	x := 0.0
	for i, name := range d.columns {
		w := d.columnWidth(b, name)
		if i > 0 && w > 0 {
			fmt.Fprintf(&d.out, "<path class=\"part\" d=\"M%s 0V%s\"/>\n", decimal(x), decimal(side))
		}
		x += w
	}
	fmt.Fprintf(&d.out, "<rect class=\"edge\" width=\"%s\" height=\"%s\"/>\n", decimal(side), decimal(side))
	d.out.WriteString(labels.String())
}

// order returns the classes of workloads from the bottom of a box to its top.
func (p *picture) order() []string {
	var out []string
	for _, e := range p.legend {
		if e.Class != "held" && e.Class != "free" {
			out = append(out, e.Class)
		}
	}
	return out
}

// columnWidth is such that the area of the column is proportional to what the box has.
func (d *drawing) columnWidth(b *box, name string) float64 {
	return d.unit * d.unit * d.scale[name] * float64(b.allocatable[name]) / d.side(b)
}

// load draws a load on top of what is there, raises the levels of the columns
// and returns the labels, which come last so that nothing covers them.
func (d *drawing) load(b *box, l *load, class, name string, level []float64) string {
	side := d.side(b)
	var shapes, texts strings.Builder
	x, fine := 0.0, true
	for i, resource := range d.columns {
		w := d.columnWidth(b, resource)
		if each := float64(l.each[resource]); w > 0 && each > 0 {
			h := side * each / float64(b.allocatable[resource])
			n, step := 1, h*l.pods
			if h >= podHeight && !b.average {
				n, step = int(l.pods), h
			}
			fine = fine && (step < podHeight || b.average)
			for range n {
				level[i] += step
				fmt.Fprintf(&shapes, "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>", decimal(x), decimal(side-level[i]), decimal(w), decimal(step))
			}
			if text := podLabel(name, w-6); text != "" && step >= labelHeight {
				fmt.Fprintf(&texts, "<text x=\"%s\" y=\"%s\" class=\"tiny\">%s</text>", decimal(x+3), decimal(side-level[i]+step/2+3), escape(text))
			}
		}
		x += w
	}
	if shapes.Len() == 0 {
		return ""
	}
	if fine {
		class += " fine"
	}
	fmt.Fprintf(&d.out, "<g class=\"load %s\"><title>%s</title>%s</g>\n", class, escape(d.tip(b, l, name)), shapes.String())
	if texts.Len() == 0 {
		return ""
	}
	return fmt.Sprintf("<g class=\"load %s\">%s</g>\n", class, texts.String())
}

// podLabel is the name of a workload as far as it fits into a width, or nothing
// where too little of it would be left to tell it from others.
func podLabel(workload string, room float64) string {
	text := shorten(short(workload), tiny, room)
	if strings.HasSuffix(text, "…") && len([]rune(text)) <= readableRunes {
		return ""
	}
	return text
}

// tip is shown when a pointer rests on a load.
func (d *drawing) tip(b *box, l *load, name string) string {
	var parts []string
	for _, resource := range d.columns {
		if v := l.each[resource]; v > 0 {
			parts = append(parts, number(float64(v), resource))
		}
	}
	switch {
	case name == "" && b.exists:
		return "pods that run already: " + strings.Join(parts, ", ")
	case name == "":
		return "DaemonSets: " + strings.Join(parts, ", ")
	}
	return fmt.Sprintf("%s: %s of %s", name, decimal(l.pods), strings.Join(parts, ", "))
}

// short is the name of a workload without its namespace.
func short(workload string) string {
	if _, name, ok := strings.Cut(workload, "/"); ok {
		return name
	}
	return workload
}

// number writes an amount for people: "1.5 CPU", "12 GiB", "110 pods".
func number(v float64, resource string) string {
	switch resource {
	case amount.CPU:
		return decimal(v/1000) + " CPU"
	case amount.Memory:
		return decimal(v/(1<<30)) + " GiB"
	case amount.EphemeralStorage:
		return decimal(v/(1<<30)) + " GiB of disk"
	}
	return decimal(v) + " " + label(resource)
}
