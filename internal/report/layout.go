package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
)

// Measures of the drawing, in CSS pixels.
const (
	inner       = 912.0
	boxGap      = 8.0   // between boxes
	titleHeight = 38.0  // of a section
	captionArea = 10000 // of a kind: three lines, and the gap to the next
	tiny        = 9.0   // font size
	goodHeight  = 1200.0
	pileShift   = 3.0  // how far the box behind a box that stands for several peeps out
	badgeHeight = 13.0 // of the text below such a box
)

// sides are the sizes that the largest box may have.
var sides = []float64{240, 215, 190, 160, 132, 110, 92, 76, 64, 54, 46, 40}

// layout is a picture with the size of its boxes.
type layout struct {
	*picture
	// unit is the side of a box with the weight 1.
	unit float64
}

// arrange makes the boxes of a picture as large as a good height allows.
func arrange(p *picture, sides []float64, goodHeight float64) *layout {
	l := &layout{picture: p}
	for _, side := range sides {
		if p.largest > 0 {
			l.unit = side / math.Sqrt(p.largest)
		}
		if l.height() <= goodHeight {
			break
		}
	}
	return l
}

// height estimates how long the picture is where it flows at its usual width.
func (l *layout) height() float64 {
	height, area := 0.0, 0.0
	for i := range l.sections {
		height += titleHeight
		for j := range l.sections[i].kinds {
			k := &l.sections[i].kinds[j]
			area += captionArea
			for n := range k.boxes {
				side := l.side(&k.boxes[n]) + boxGap
				area += side * side
				if badge(&k.boxes[n]) != "" {
					area += side * badgeHeight
				}
			}
		}
	}
	return height + area/inner
}

// side of a box.
func (l *layout) side(b *box) float64 { return l.unit * math.Sqrt(l.weight(b)) }

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
	return slices.DeleteFunc([]string{name, where, shares}, func(line string) bool { return line == "" })
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

// decimal writes at most two digits after the point.
func decimal(v float64) string {
	text := fmt.Sprintf("%.2f", v)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
