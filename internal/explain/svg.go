package explain

import (
	_ "embed" // for the style sheet
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
)

//go:embed picture.css
var pictureStyle string

// SVG draws the machines as boxes filled by their pods. The area of a box, of its
// columns (one for each resource that counts) and of what is in them is
// proportional to the amount, at one scale for each resource over the whole
// picture. It reads well in light and dark.
func (r *Report) SVG() string {
	l := arrange(newPicture(r.fleet))
	d := &drawing{layout: l}
	title, says := r.title(), r.says()
	y := margin + 16
	d.text(margin, y, "title", shorten(title, 19, inner))
	for _, line := range wrap(says, 13, inner) {
		y += 20
		d.text(margin, y, "say", line)
	}
	if len(l.blocks) > 0 {
		y = d.legend(y + 28)
		d.fleet(y)
		y += l.height
	}
	for _, n := range slices.Concat(r.unplacedNotes(), r.retirementNotes()) {
		class := "say"
		if n.heading {
			y, class = y+10, "head"
		}
		y += 18
		d.text(margin, y, class, n.text)
	}
	return d.finish(y+margin, title, says)
}

// title is the heading of pictures and pages.
func (r *Report) title() string {
	switch n := len(r.Machines); {
	case r.Pods == 0:
		return "No pod is waiting for a node"
	case n == 0:
		return fmt.Sprintf("%d of %s placed, no machine to buy", r.Placed, plural(r.Pods, "pod"))
	default:
		return fmt.Sprintf("%s for $%.4f per hour, with %d of %s", plural(n, "machine"), r.HourlyPrice, r.Placed, plural(r.Pods, "pod"))
	}
}

// says is what the title leaves out.
func (r *Report) says() string {
	text := r.bound()
	if n := r.onNodes(); n > 0 {
		text += fmt.Sprintf(" On nodes that exist: %s.", plural(n, "pod"))
	}
	return strings.TrimSpace(text)
}

// bound explains the lower bound in one sentence.
func (r *Report) bound() string {
	switch {
	case len(r.Machines) == 0:
		return ""
	case r.Proof == nil:
		return "How far this is from the best possible price is not known."
	case r.GapPercent == 0:
		return fmt.Sprintf("This is the best possible: no plan that honours the same constraints costs less than $%.4f per hour (proven).", r.LowerBound)
	}
	return fmt.Sprintf("No plan that honours the same constraints costs less than $%.4f per hour (proven), so this one is at most %.2f%% above the best possible.",
		r.LowerBound, r.GapPercent)
}

// maxReasons is how many reasons a picture lists.
const maxReasons = 4

// note is a line of text below the boxes.
type note struct {
	text    string
	heading bool
}

func (r *Report) unplacedNotes() []note {
	if len(r.Unplaced) == 0 {
		return nil
	}
	return notes(topic{"Without a place: " + plural(len(r.Unplaced), "pod"), items(r.reasons())}, "reason")
}

// retirementNotes say which nodes go and which stay.
func (r *Report) retirementNotes() []note {
	var out []note
	for _, t := range r.retirement() {
		out = append(out, notes(t, "node")...)
	}
	return out
}

// notes are the lines of a topic, wrapped and cut.
func notes(t topic, noun string) []note {
	if len(t.Items) == 0 {
		return nil
	}
	out := []note{{t.Heading, true}}
	for i, it := range t.Items {
		if i == maxReasons {
			return append(out, note{text: fmt.Sprintf("… and %s more", plural(len(t.Items)-i, noun))})
		}
		for _, line := range wrap(it.Name+": "+it.Text, 13, inner) {
			out = append(out, note{text: line})
		}
	}
	return out
}

// drawing collects the elements of a picture.
type drawing struct {
	*layout
	out strings.Builder
}

func (d *drawing) text(x, y float64, class, text string) {
	fmt.Fprintf(&d.out, "<text x=\"%s\" y=\"%s\" class=\"%s\">%s</text>\n", decimal(x), decimal(y), class, escape(text))
}

// finish wraps the elements into a document.
func (d *drawing) finish(height float64, title, says string) string {
	h := decimal(math.Ceil(height))
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]s" height="%[2]s" viewBox="0 0 %[1]s %[2]s" class="picture" role="img" aria-labelledby="title desc">
<title id="title">%[3]s</title>
<desc id="desc">%[4]s</desc>
<style>
%[5]s</style>
%[6]s
<rect class="paper" width="%[1]s" height="%[2]s"/>
%[7]s</svg>
`, decimal(width), h, escape(title), escape(strings.TrimSpace(says+" "+d.describe())), pictureStyle, hatch, d.out.String())
}

// hatch is the pattern of what is there besides the planned pods.
const hatch = `<defs><pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="stripes" width="5" height="5"/><line class="stripe" x1="0" y1="0" x2="0" y2="5"/></pattern></defs>`

// describe says in words what is drawn.
func (p *picture) describe() string {
	var out []string
	for _, s := range p.sections {
		for _, k := range s.kinds {
			out = append(out, fmt.Sprintf("%d %s in %s", k.count, k.instanceType, k.zone))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "Drawn to scale: " + strings.Join(out, "; ") + "."
}

// legend draws what colours and areas mean, from y on, and returns where it ends.
func (d *drawing) legend(y float64) float64 {
	x := margin
	room := func(need float64) {
		if x > margin && x+need > margin+inner {
			x, y = margin, y+20
		}
	}
	for _, e := range d.picture.legend {
		text := shorten(e.Text, small, inner-30)
		need := 18 + textWidth(text, small)
		room(need)
		fmt.Fprintf(&d.out, "<rect x=\"%s\" y=\"%s\" width=\"12\" height=\"12\" class=\"swatch %s\"/>\n", decimal(x), decimal(y-10), e.Class)
		d.text(x+18, y, "key", text)
		x += need + 14
	}
	x, y = margin, y+24
	for _, name := range d.columns {
		side, text := d.sample(name)
		if text == "" {
			continue
		}
		fmt.Fprintf(&d.out, "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" class=\"edge\"/>\n", decimal(x), decimal(y-4-side/2), decimal(side), decimal(side))
		d.text(x+side+6, y, "soft", text)
		x += side + 6 + textWidth(text, small) + 14
	}
	for i, line := range wrap(d.guide(), small, margin+inner-x) {
		if i > 0 {
			y += lineHeight
		}
		d.text(x, y, "soft", line)
	}
	return y + 14
}

// guide says how to read a box.
func (p *picture) guide() string {
	var names []string
	for _, name := range p.columns {
		names = append(names, label(name))
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

// fleet draws headings, captions and boxes, from y on.
func (d *drawing) fleet(y float64) {
	for _, h := range d.headings {
		class := "head"
		if h.note {
			class = "soft"
		}
		d.text(margin, y+h.y, class, shorten(h.text, 14, inner))
	}
	for i := range d.blocks {
		b := &d.blocks[i]
		for j, line := range b.caption {
			class := "soft"
			if j == 0 {
				class = "kind"
			}
			d.text(margin+b.x, y+b.y+small+lineHeight*float64(j), class, shorten(line, small, b.width))
		}
		for j := range b.boxes {
			bx, by := b.at(j)
			fmt.Fprintf(&d.out, "<g transform=\"translate(%s %s)\">\n", decimal(margin+bx), decimal(y+by))
			d.box(&b.boxes[j])
			if text := badge(&b.boxes[j]); text != "" {
				d.text(0, d.side(&b.boxes[j])+tiny+2, "soft tiny", text)
			}
			d.out.WriteString("</g>\n")
		}
	}
}

// decimal writes at most two digits after the point.
func decimal(v float64) string {
	text := fmt.Sprintf("%.2f", v)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
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
