// Package report draws plans and nodes to scale: as a page that needs nothing else,
// and as boxes for the status page.
package report

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
)

//go:embed page.css
var pageStyle string

//go:embed picture.css
var pictureStyle string

//go:embed *.html.tmpl
var templates embed.FS

var parsed = template.Must(template.New("").Funcs(template.FuncMap{"n": decimal}).ParseFS(templates, "*.html.tmpl"))

// render executes a template of ours with data of ours.
func render(name string, data any) string {
	var out bytes.Buffer
	if err := parsed.ExecuteTemplate(&out, name, data); err != nil {
		panic(fmt.Sprintf("render %s: %v", name, err)) // the template and its data are both ours
	}
	return strings.Map(inXML, out.String())
}

// inXML replaces what no XML document may hold, not even escaped.
func inXML(r rune) rune {
	if r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
		return '\uFFFD'
	}
	return r
}

// HTML renders the report as one page that needs nothing else: the picture, the
// machines with the reason for their type, what the bound means, the pods without
// a place by reason, and what was assumed.
func HTML(r *explain.Report) string {
	l := arrange(newPicture(boxes(r.Fleet)), sides, goodHeight)
	p := page{
		Report: r, Style: template.CSS(pictureStyle + pageStyle), // our own text
		Legend: l.legend, Guide: l.guide(), Samples: l.samples(), Sections: l.figures(),
		Topics: pageTopics(r), Decided: explain.Duration(r.Seconds),
	}
	if r.Proof != nil && r.LowerBound > 0 {
		p.Gap = fmt.Sprintf("%.2f%%", r.GapPercent)
	}
	return render("page.html.tmpl", p)
}

// page is what the template shows.
type page struct {
	*explain.Report
	Gap, Decided string
	Style        template.CSS
	Legend       []entry
	Guide        string
	Samples      []sample
	Sections     []figures
	Topics       []topic
}

// sample is a square that shows a scale.
type sample struct{ Side, Text string }

// headings of the table of machines.
var headings = []string{"Count", "Provisioner", "Type", "Zone", "Bought", "$/hour each", "Pods", "CPU", "Memory", "Runner-up", "Why this type"}

// Headings returns the headings of the table of machines.
func (page) Headings() []string { return headings }

// Table returns the rows of that table: the cells with their headings.
func (p page) Table() [][]entry {
	var out [][]entry
	for _, row := range p.Rows() {
		var cells []entry
		for i, text := range append(row.Cells(), row.Why) {
			cells = append(cells, entry{headings[i], text})
		}
		out = append(out, cells)
	}
	return out
}

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

// figures draws each box on its own, so that the page can flow around a narrow
// screen. The scale is the same for all.
func (l *layout) figures() []figures {
	var out []figures
	for i := range l.sections {
		s := &l.sections[i]
		f := figures{Title: s.title, Rest: s.rest}
		if l.byProvisioner {
			f.Class = l.classes[s.kinds[0].Provisioner]
		}
		for j := range s.kinds {
			k := &s.kinds[j]
			drawn := figure{Caption: l.caption(k), State: k.State}
			for n := range k.boxes {
				drawn.Boxes = append(drawn.Boxes, l.draw(&k.boxes[n]))
			}
			f.Kinds = append(f.Kinds, drawn)
		}
		out = append(out, f)
	}
	return out
}

// topic is a list of the page besides the picture and the table.
type topic struct{ explain.Topic }

func pageTopics(r *explain.Report) []topic {
	var out []topic
	for _, t := range append([]explain.Topic{{Heading: "Where pods go", Items: r.Where()}}, r.Retirement()...) {
		if len(t.Items) > 0 {
			out = append(out, topic{t})
		}
	}
	return out
}

// Long reports whether a page should fold the list.
func (t topic) Long() bool { return len(t.Items) > longTopic }

const longTopic = 12

// ID identifies the heading in the page.
func (t topic) ID() string { return strings.ReplaceAll(strings.ToLower(t.Heading), " ", "-") }
