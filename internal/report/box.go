package report

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
)

// Least sizes of what is drawn on its own, in pixels.
const (
	podHeight   = 3.0  // less: the pods of a load are one rectangle
	labelHeight = 12.0 // less: a rectangle has no label
	// readableRunes is what must be left of a name that is cut.
	readableRunes = 6
)

// rectangle is a place in a picture.
type rectangle struct{ X, Y, Width, Height float64 }

// line is a text at a place.
type line struct {
	X, Y float64
	Text string
}

// drawnBox is a box with its upper left corner at the origin: its columns side by
// side, each filled from the bottom in the same order, and what is free above.
type drawnBox struct {
	Side  float64
	Pile  *rectangle // behind a box that stands for several
	Loads []drawnLoad
	Parts []float64 // where a column ends and the next begins
	// Name says what is drawn, and Badge for how many machines it stands.
	Name, Badge string
}

// drawnLoad is a load. Its labels come last so that nothing covers them.
type drawnLoad struct {
	Class, Tip string
	// Fine: the rectangles are too small to have edges.
	Fine   bool
	Rects  []rectangle
	Labels []line
}

// Size is the side of an element that holds the box and what stands behind it.
func (b drawnBox) Size() float64 { return b.Side + pileShift + 1 }

// Top is where that element begins.
func (drawnBox) Top() float64 { return -pileShift - 0.5 }

// SVG is the box as an element of its own.
func (b drawnBox) SVG() template.HTML { return template.HTML(render("alone", b)) } // escaped by the template

func (l *layout) draw(b *box) drawnBox {
	out := drawnBox{Side: l.side(b), Badge: badge(b)}
	out.Name = fmt.Sprintf("%s with %s pods: %s", b.InstanceType, decimal(b.Pods()), l.shares(b))
	if out.Badge != "" {
		out.Name = out.Badge + ", " + out.Name
	}
	if b.count > 1 {
		out.Pile = &rectangle{pileShift, -pileShift, out.Side, out.Side}
	}
	level := make([]float64, len(l.columns))
	add := func(load *explain.Load, class, name string) {
		if drawn := l.load(b, load, level); len(drawn.Rects) > 0 {
			drawn.Class, drawn.Tip = "load "+class, l.tip(b, load, name)
			out.Loads = append(out.Loads, drawn)
		}
	}
	add(&explain.Load{Pods: 1, Each: b.Held}, "held", "")
	for _, class := range l.order() {
		for i := range b.Loads {
			if load := &b.Loads[i]; l.class(b, load.Workload) == class {
				add(load, class, load.Workload)
			}
		}
	}
	x := 0.0
	for i, name := range l.columns {
		w := l.columnWidth(b, name)
		if i > 0 && w > 0 {
			out.Parts = append(out.Parts, x)
		}
		x += w
	}
	return out
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
func (l *layout) columnWidth(b *box, name string) float64 {
	return l.unit * l.unit * l.scale[name] * float64(b.Allocatable[name]) / l.side(b)
}

// load draws a load on top of what is there and raises the levels of the columns.
func (l *layout) load(b *box, load *explain.Load, level []float64) drawnLoad {
	side := l.side(b)
	out, x := drawnLoad{Fine: true}, 0.0
	for i, resource := range l.columns {
		w := l.columnWidth(b, resource)
		if each := float64(load.Each[resource]); w > 0 && each > 0 {
			h := side * each / float64(b.Allocatable[resource])
			n, step := 1, h*load.Pods
			if h >= podHeight && !b.average {
				n, step = int(load.Pods), h
			}
			out.Fine = out.Fine && (step < podHeight || b.average)
			for range n {
				level[i] += step
				out.Rects = append(out.Rects, rectangle{x, side - level[i], w, step})
			}
			if text := podLabel(load.Workload, w-6); text != "" && step >= labelHeight {
				out.Labels = append(out.Labels, line{X: x + 3, Y: side - level[i] + step/2 + 3, Text: text})
			}
		}
		x += w
	}
	return out
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
func (l *layout) tip(b *box, load *explain.Load, name string) string {
	var parts []string
	for _, resource := range l.columns {
		if v := load.Each[resource]; v > 0 {
			parts = append(parts, number(float64(v), resource))
		}
	}
	switch {
	case name == "" && b.Exists:
		return "pods that run already: " + strings.Join(parts, ", ")
	case name == "":
		return "DaemonSets: " + strings.Join(parts, ", ")
	}
	return fmt.Sprintf("%s: %s of %s", name, decimal(load.Pods), strings.Join(parts, ", "))
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
	return decimal(v) + " " + explain.ResourceName(resource)
}
