package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
)

// Measures of the drawing, in CSS pixels.
const (
	width      = 960.0
	margin     = 24.0
	inner      = width - 2*margin
	boxGap     = 8.0  // between boxes
	blockGap   = 28.0 // between kinds
	lineHeight = 15.0
	small      = 11.0 // font sizes
	tiny       = 9.0
	// goodHeight is the height from which machines are drawn smaller.
	goodHeight = 1200.0
	// pileShift is how far the box behind a box that stands for several peeps out.
	pileShift = 3.0
	// badgeHeight is for the text below such a box.
	badgeHeight = 13.0
)

// sides are the sizes that the largest box may have.
var sides = []float64{240, 215, 190, 160, 132, 110, 92, 76, 64, 54, 46, 40}

// layout says where everything of a picture is.
type layout struct {
	*picture
	// unit is the side of a box with the weight 1.
	unit     float64
	headings []heading
	blocks   []block
	height   float64
}

// heading is the title of a section, or what it leaves out.
type heading struct {
	y    float64
	text string
	note bool
}

// block is a caption and the boxes of a kind below it.
type block struct {
	*fleetKind
	x, y, width, height float64
	caption             []string
	cell                float64 // width of a place for a box
	perRow              int
	tops                []float64 // of the rows of boxes, within the block
}

// arrange lays a picture out with the largest boxes that give a good height.
func arrange(p *picture) *layout { return arrangeWithin(p, sides, goodHeight) }

func arrangeWithin(p *picture, sides []float64, goodHeight float64) *layout {
	var l *layout
	for _, side := range sides {
		l = &layout{picture: p}
		if p.largest > 0 {
			l.unit = side / math.Sqrt(p.largest)
		}
		l.place()
		if l.height <= goodHeight {
			break
		}
	}
	return l
}

// side of a box.
func (l *layout) side(b *box) float64 { return l.unit * math.Sqrt(l.weight(b)) }

// place sets the places of headings and blocks, from the top.
func (l *layout) place() {
	y := 0.0
	for i := range l.sections {
		s := &l.sections[i]
		y += 20
		l.headings = append(l.headings, heading{y: y, text: s.title})
		y += 18
		x, tallest := 0.0, 0.0
		for j := range s.kinds {
			b := l.block(&s.kinds[j])
			if x > 0 && x+b.width > inner {
				x, y, tallest = 0, y+tallest+blockGap/2, 0
			}
			b.x, b.y = x, y
			x += b.width + blockGap
			tallest = max(tallest, b.height)
			l.blocks = append(l.blocks, b)
		}
		y += tallest + 12
		if s.rest != "" {
			y += lineHeight
			l.headings = append(l.headings, heading{y: y, text: s.rest, note: true})
			y += 8
		}
	}
	l.height = y
}

// block measures a kind.
func (l *layout) block(k *fleetKind) block {
	b := block{fleetKind: k, caption: l.caption(k)}
	side := 0.0
	for i := range k.boxes {
		side = max(side, l.side(&k.boxes[i]))
		b.cell = max(b.cell, textWidth(badge(&k.boxes[i]), tiny))
	}
	b.cell = max(b.cell, side) + pileShift
	text := 0.0
	for _, line := range b.caption {
		text = max(text, textWidth(line, small))
	}
	n := float64(len(k.boxes))
	square := math.Ceil(math.Sqrt(2 * n))
	beside := math.Floor((text + boxGap) / (b.cell + boxGap))
	most := math.Floor((inner + boxGap) / (b.cell + boxGap))
	b.perRow = int(min(max(square, beside, 1), n, max(most, 1)))
	b.width = min(max(text, float64(b.perRow)*(b.cell+boxGap)-boxGap), inner)
	b.height = lineHeight*float64(len(b.caption)) + 4
	for row := range slices.Chunk(k.boxes, b.perRow) {
		b.tops = append(b.tops, b.height+pileShift)
		b.height += side + pileShift + boxGap
		if slices.ContainsFunc(row, func(x box) bool { return badge(&x) != "" }) {
			b.height += badgeHeight
		}
	}
	b.height -= boxGap
	return b
}

// at returns the place of a box of the block.
func (b *block) at(i int) (x, y float64) {
	return b.x + float64(i%b.perRow)*(b.cell+boxGap), b.y + b.tops[i/b.perRow]
}

// caption says what a kind is, in three lines.
func (l *layout) caption(k *fleetKind) []string {
	name := cmp.Or(k.InstanceType, "node")
	switch {
	case k.count > 1:
		name = fmt.Sprintf("%d × %s", k.count, name)
	case k.Exists && k.InstanceType != "":
		name = fmt.Sprintf("%s (%s)", k.boxes[0].Node, name)
	case k.Exists:
		name = k.boxes[0].Node
	}
	where := k.Zone
	if k.CapacityType != "" {
		where = strings.TrimPrefix(where+", "+k.CapacityType, ", ")
	}
	mean := average(k.boxes)
	shares := l.shares(&mean)
	if !k.Exists {
		name += fmt.Sprintf(", $%.4f", k.HourlyPrice)
		if k.count > 1 {
			name += " each"
		}
		name += k.stateText()
	}
	var lines []string
	for _, line := range []string{name, where, shares} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// shares says how full a box is: "CPU 97%, memory 54%".
func (l *layout) shares(b *box) string {
	var out []string
	for _, name := range l.columns {
		if b.Allocatable[name] > 0 {
			out = append(out, explain.ResourceName(name)+" "+explain.Percent(b.Share(name)))
		}
	}
	return strings.Join(out, ", ")
}

// badge says for how many machines a box stands, where that is not one.
func badge(b *box) string {
	switch {
	case b.average:
		return fmt.Sprintf("≈ %d", b.count)
	case b.count > 1:
		return fmt.Sprintf("× %d", b.count)
	}
	return ""
}

// textWidth estimates how wide a text is, on the safe side: fonts differ.
func textWidth(text string, size float64) float64 {
	sum := 0.0
	for _, r := range text {
		switch {
		case strings.ContainsRune("iljtfrI.,:;'|! ()-", r):
			sum += 0.42
		case strings.ContainsRune("mwMW@%×", r):
			sum += 0.95
		case r > unicode.MaxLatin1:
			sum += 1.1
		default:
			sum += 0.64
		}
	}
	return sum * size
}

// shorten cuts a text so that it fits into a width, with an ellipsis.
func shorten(text string, size, room float64) string {
	if textWidth(text, size) <= room {
		return text
	}
	runes := []rune(text)
	for n := len(runes) - 1; n > 0; n-- {
		if cut := string(runes[:n]) + "…"; textWidth(cut, size) <= room {
			return cut
		}
	}
	return ""
}
