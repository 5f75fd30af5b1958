// Package report draws plans and nodes to scale: as an SVG picture, as a page that
// needs nothing else, and as boxes for the status page.
package report

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
)

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

// drawing is a whole picture.
type drawing struct {
	*layout
	Title, Describes string
	Height           float64
	Texts            []line
	Keys             []key
	Boxes            []drawnBox
}

// key is a square of the legend.
type key struct {
	rectangle
	Class string
}

// Width of the picture.
func (*drawing) Width() float64 { return width }

// Style of the picture, which is our own text.
func (*drawing) Style() template.CSS { return template.CSS(pictureStyle) }

// SVG draws the machines of a plan as boxes filled by their pods. The area of a box,
// of its columns (one for each resource that counts) and of what is in them is
// proportional to the amount, at one scale for each resource over the whole
// picture. It reads well in light and dark.
func SVG(r *explain.Report) string {
	d := &drawing{layout: arrange(newPicture(boxes(r.Fleet))), Title: r.Title()}
	says := r.Says()
	d.Describes = strings.TrimSpace(says + " " + d.describe())
	y := margin + 16
	d.text(margin, y, "title", shorten(d.Title, 19, inner))
	for _, text := range wrap(says, 13, inner) {
		y += 20
		d.text(margin, y, "say", text)
	}
	if len(d.blocks) > 0 {
		y = d.addLegend(y + 28)
		d.addFleet(y)
		y += d.height
	}
	for _, n := range slices.Concat(unplacedNotes(r), retirementNotes(r)) {
		class := "say"
		if n.heading {
			y, class = y+10, "head"
		}
		y += 18
		d.text(margin, y, class, n.text)
	}
	d.Height = math.Ceil(y + margin)
	return render("svg", d)
}

// maxReasons is how many reasons a picture lists.
const maxReasons = 4

// note is a line of text below the boxes.
type note struct {
	text    string
	heading bool
}

func unplacedNotes(r *explain.Report) []note {
	if len(r.Unplaced) == 0 {
		return nil
	}
	return notes(explain.Topic{Heading: "Not placed: " + explain.Plural(len(r.Unplaced), "pod"), Items: explain.Items(r.Reasons())}, "reason")
}

// retirementNotes say which nodes go and which stay.
func retirementNotes(r *explain.Report) []note {
	var out []note
	for _, t := range r.Retirement() {
		out = append(out, notes(t, "node")...)
	}
	return out
}

// notes are the lines of a topic, wrapped and cut.
func notes(t explain.Topic, noun string) []note {
	if len(t.Items) == 0 {
		return nil
	}
	out := []note{{t.Heading, true}}
	for i, it := range t.Items {
		if i == maxReasons {
			return append(out, note{text: fmt.Sprintf("… and %s more", explain.Plural(len(t.Items)-i, noun))})
		}
		for _, text := range wrap(it.Name+": "+it.Text, 13, inner) {
			out = append(out, note{text: text})
		}
	}
	return out
}

func (d *drawing) text(x, y float64, class, text string) {
	d.Texts = append(d.Texts, line{x, y, class, text})
}

// describe says in words what is drawn.
func (p *picture) describe() string {
	var out []string
	for _, s := range p.sections {
		for _, k := range s.kinds {
			out = append(out, fmt.Sprintf("%d %s in %s", k.count, k.InstanceType, k.Zone))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "Drawn to scale: " + strings.Join(out, "; ") + "."
}

// addLegend draws what colours and areas mean, from y on, and returns where it ends.
func (d *drawing) addLegend(y float64) float64 {
	x := margin
	room := func(need float64) {
		if x > margin && x+need > margin+inner {
			x, y = margin, y+20
		}
	}
	for _, e := range d.legend {
		text := shorten(e.Text, small, inner-30)
		need := 18 + textWidth(text, small)
		room(need)
		d.Keys = append(d.Keys, key{rectangle{x, y - 10, 12, 12}, "swatch " + e.Class})
		d.text(x+18, y, "key", text)
		x += need + 14
	}
	x, y = margin, y+24
	for _, name := range d.columns {
		side, text := d.sample(name)
		if text == "" {
			continue
		}
		d.Keys = append(d.Keys, key{rectangle{x, y - 4 - side/2, side, side}, "edge"})
		d.text(x+side+6, y, "soft", text)
		x += side + 6 + textWidth(text, small) + 14
	}
	for i, text := range wrap(d.guide(), small, margin+inner-x) {
		if i > 0 {
			y += lineHeight
		}
		d.text(x, y, "soft", text)
	}
	return y + 14
}

// guide says how to read a box.
func (p *picture) guide() string {
	var names []string
	for _, name := range p.columns {
		names = append(names, explain.ResourceName(name))
	}
	text := "Areas are to scale. In each box, from left to right: " + strings.Join(names, ", ") + "."
	if p.piles {
		text += " × 2: that many with the same content."
	}
	if p.means {
		text += " ≈ 9: the mean of that many."
	}
	return text
}

// sample returns the side of a square that stands for a round amount of a
// resource, and the amount; nothing where the square would be too large.
func (l *layout) sample(name string) (side float64, text string) {
	base, least := 1.0, 1.0
	switch name {
	case amount.CPU:
		base, least = 1000, 0.05
	case amount.Memory, amount.EphemeralStorage:
		base, least = 1<<30, 0.05
	}
	for _, n := range []float64{0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000} {
		if s := l.unit * math.Sqrt(l.scale[name]*n*base); n >= least && s <= sampleSide {
			side, text = s, number(n*base, name)
		}
	}
	return side, text
}

// sampleSide is the largest side of a sample, in pixels.
const sampleSide = 22

// addFleet draws headings, captions and boxes, from y on.
func (d *drawing) addFleet(y float64) {
	for _, h := range d.headings {
		class := "head"
		if h.note {
			class = "soft"
		}
		d.text(margin, y+h.y, class, shorten(h.text, 14, inner))
	}
	for i := range d.layout.blocks {
		b := &d.layout.blocks[i]
		for j, text := range b.caption {
			class := "soft"
			if j == 0 {
				class = "kind"
			}
			d.text(margin+b.x, y+b.y+small+lineHeight*float64(j), class, shorten(text, small, b.width))
		}
		for j := range b.boxes {
			bx, by := b.at(j)
			drawn := d.draw(&b.boxes[j])
			drawn.X, drawn.Y = margin+bx, y+by
			d.Boxes = append(d.Boxes, drawn)
		}
	}
}

// decimal writes at most two digits after the point.
func decimal(v float64) string {
	text := fmt.Sprintf("%.2f", v)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// wrap breaks a text into lines of at most a width.
func wrap(text string, size, room float64) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		next := strings.TrimSpace(line + " " + word)
		if line != "" && textWidth(next, size) > room {
			lines = append(lines, line)
			next = word
		}
		line = shorten(next, size, room)
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
