package explain

import (
	_ "embed" // for the template and the style sheet
	"fmt"
	"html/template"
	"slices"
	"strings"
)

//go:embed page.html.tmpl
var pageText string

//go:embed page.css
var pageStyle string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// HTML renders the report as one page that needs nothing else: the picture, the
// machines with the reason for their type, what the bound means, the pods without
// a place by reason, and what was assumed.
func (r *Report) HTML() string {
	l := arrange(newPicture(r.fleet))
	p := page{
		Title: r.title(), Bound: r.bound(), Report: r,
		Style:    template.CSS(pictureStyle + pageStyle), // our own text
		Hatch:    template.HTML(hatch),                   // our own text
		Legend:   l.picture.legend,
		Guide:    l.guide(),
		Sections: l.figures(),
		Unplaced: r.reasons(), GivenUp: r.givenUp(),
		Topics:  r.pageTopics(),
		Decided: duration(r.Seconds),
	}
	if r.Proof != nil && r.LowerBound > 0 {
		p.Gap = fmt.Sprintf("%.2f%%", r.GapPercent)
	}
	p.Samples = l.samples()
	for _, g := range r.rows() {
		p.Rows = append(p.Rows, tableRow{g.cells(), g.Why})
	}
	var b strings.Builder
	if err := pageTemplate.Execute(&b, p); err != nil {
		panic(fmt.Sprintf("render the page: %v", err)) // the template and its data are both ours
	}
	return b.String()
}

// page is what the template shows.
type page struct {
	*Report
	Title, Bound, Gap, Decided string
	Style                      template.CSS
	Hatch                      template.HTML
	Legend                     []entry
	Guide                      string
	Samples                    []sample
	Sections                   []figures
	Rows                       []tableRow
	Unplaced, GivenUp          []reason
	Topics                     []topic
}

// sample is a square that shows a scale.
type sample struct{ Side, Text string }

// tableRow is a row of the table of machines, as in text, and why the type.
type tableRow struct {
	cells []string
	why   string
}

// Cells returns the cells with their headings.
func (r tableRow) Cells() []entry {
	out := make([]entry, 0, len(r.cells)+1)
	for i, text := range append(slices.Clone(r.cells), r.why) {
		out = append(out, entry{headings[i], text})
	}
	return out
}

// headings of the table of machines.
var headings = []string{"Count", "Provisioner", "Type", "Zone", "Bought", "$/hour each", "Pods", "CPU", "Memory", "Runner-up", "Why this type"}

// Headings returns the headings of the table of machines.
func (page) Headings() []string { return headings }

// figures is a section of the picture.
type figures struct {
	Title, Rest string
	// Class is that of the style sheet where all of a section has one colour.
	Class string
	Kinds []figure
}

// figure is the boxes of a kind with their caption.
type figure struct {
	Caption []string
	// State of nodes that are drawn as they are.
	State string
	Boxes []drawnBox
}

// Wide reports whether the boxes deserve the width of the page.
func (f figure) Wide() bool { return len(f.Boxes) > manyBoxes }

const manyBoxes = 24

// drawnBox is a box as an SVG element of its own, with what stands below it.
type drawnBox struct {
	SVG   template.HTML
	Badge string
}

// figures draws each box on its own, so that the page can flow around a narrow
// screen. The scale is the same for all.
func (l *layout) figures() []figures {
	var out []figures
	for i := range l.sections {
		s := &l.sections[i]
		f := figures{Title: s.title, Rest: s.rest}
		if l.byProvisioner {
			f.Class = l.classes[s.kinds[0].provisioner]
		}
		for j := range s.kinds {
			k := &s.kinds[j]
			kind := figure{Caption: l.caption(k), State: k.state}
			for n := range k.boxes {
				kind.Boxes = append(kind.Boxes, l.drawn(&k.boxes[n]))
			}
			f.Kinds = append(f.Kinds, kind)
		}
		out = append(out, f)
	}
	return out
}

func (l *layout) drawn(b *box) drawnBox {
	d := &drawing{layout: l}
	d.box(b)
	pods := 0.0
	for _, load := range b.loads {
		pods += load.pods
	}
	name := fmt.Sprintf("%s with %s pods: %s", b.instanceType, decimal(pods), l.shares(b))
	if text := badge(b); text != "" {
		name = fmt.Sprintf("%s, %s", text, name)
	}
	size := l.side(b) + pileShift + 1
	return drawnBox{
		SVG: template.HTML(fmt.Sprintf(`<svg class="picture" role="img" aria-label="%[1]s" width="%[2]s" height="%[2]s" viewBox="-.5 %[3]s %[2]s %[2]s">%[4]s</svg>`,
			escape(name), decimal(size), decimal(-pileShift-0.5), d.out.String())),
		Badge: badge(b),
	}
}

// pageTopics are what the page lists besides the picture and the table.
func (r *Report) pageTopics() []topic {
	all := append([]topic{{"Where pods go", r.where()}}, r.retirement()...)
	return slices.DeleteFunc(all, func(t topic) bool { return len(t.Items) == 0 })
}

// Long reports whether a page should fold the list.
func (t topic) Long() bool { return len(t.Items) > longTopic }

const longTopic = 12

// ID identifies the heading in the page.
func (t topic) ID() string { return strings.ReplaceAll(strings.ToLower(t.Heading), " ", "-") }
