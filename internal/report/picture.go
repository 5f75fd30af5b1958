package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
)

// Bounds of a picture, so that it stays one that a person can read.
const (
	maxBoxes = 120
	maxKinds = 40
	// tightShare of the machines must be fullest in the number of pods or in disk
	// space for these to be drawn.
	tightShare = 0.1
)

// picture is a fleet prepared for drawing, whatever the format.
type picture struct {
	sections []section
	// columns are the resources that are drawn in each box, from left to right.
	columns []string
	// scale is the weight of one unit of a resource in the area of a box. On
	// average over the fleet all columns of a box weigh the same.
	scale   map[string]float64
	classes map[string]string // of the style sheet, by workload
	legend  []entry
	largest float64 // weight of the largest box
	// piles and means: some boxes stand for several machines, alike or not.
	piles, means bool
	// byProvisioner: classes are by Provisioner instead of by workload.
	byProvisioner bool
}

// section is what a provisioner launches, or the nodes that exist.
type section struct {
	title string
	kinds []fleetKind
	// rest says what is left out.
	rest string
}

// fleetKind is all boxes of a kind.
type fleetKind struct {
	kind
	count int
	boxes []box
}

// entry is a line of the legend.
type entry struct{ Class, Text string }

func newPicture(fleet []box) *picture {
	p := newPictureOf(fleet, columns(fleet))
	p.colour(fleet)
	return p
}

// newPictureOf draws the given columns, and leaves the colours open.
func newPictureOf(fleet []box, columns []string) *picture {
	p := &picture{scale: map[string]float64{}, classes: map[string]string{}, columns: columns}
	p.balance(fleet)
	p.sections = sections(fleet)
	for _, s := range p.sections {
		for _, k := range s.kinds {
			for i := range k.boxes {
				p.means = p.means || k.boxes[i].average
				p.piles = p.piles || k.boxes[i].count > 1 && !k.boxes[i].average
			}
		}
	}
	for i := range fleet {
		p.largest = max(p.largest, p.weight(&fleet[i]))
	}
	return p
}

// columns returns CPU and memory, each extended resource that pods ask for, and
// the number of pods or disk space where these are what fills machines.
func columns(fleet []box) []string {
	out := []string{amount.CPU, amount.Memory}
	asked, tight, total := map[string]bool{}, map[string]int{}, 0
	for i := range fleet {
		b := &fleet[i]
		total += b.count
		for _, l := range b.Loads {
			for name, v := range l.Each {
				if v > 0 {
					asked[name] = true
				}
			}
		}
		tight[b.Fullest()] += b.count
	}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		switch name {
		case amount.CPU, amount.Memory:
		case amount.Pods, amount.EphemeralStorage:
			if float64(tight[name]) >= tightShare*float64(total) {
				out = append(out, name)
			}
		default:
			out = append(out, name)
		}
	}
	return out
}

// balance sets the scales.
func (p *picture) balance(fleet []box) {
	for _, name := range p.columns {
		var cpu, own float64
		for i := range fleet {
			if b := &fleet[i]; b.Allocatable[name] > 0 {
				cpu += float64(b.Allocatable[amount.CPU]) * float64(b.count)
				own += float64(b.Allocatable[name]) * float64(b.count)
			}
		}
		if own > 0 {
			p.scale[name] = cpu / own
		}
	}
}

// weight of a box is proportional to its area in the picture.
func (p *picture) weight(b *box) float64 {
	sum := 0.0
	for _, name := range p.columns {
		sum += p.scale[name] * float64(b.Allocatable[name])
	}
	return sum
}

// sections sorts a fleet by provisioner and kind, and folds what is too much.
func sections(fleet []box) []section {
	var kinds []fleetKind
	index := map[kind]int{}
	for _, b := range fold(fleet) {
		i, ok := index[b.kind()]
		if !ok {
			i = len(kinds)
			index[b.kind()] = i
			kinds = append(kinds, fleetKind{kind: b.kind()})
		}
		kinds[i].count += b.count
		kinds[i].boxes = append(kinds[i].boxes, b)
	}
	slices.SortStableFunc(kinds, func(a, b fleetKind) int {
		return cmp.Compare(b.HourlyPrice*float64(b.count), a.HourlyPrice*float64(a.count))
	})
	dropped := cut(&kinds)
	limit(kinds)
	var out []section
	at := map[string]int{}
	for _, k := range kinds {
		title := k.title()
		i, ok := at[title]
		if !ok {
			i = len(out)
			at[title] = i
			out = append(out, section{title: title, rest: dropped[title].text()})
		}
		out[i].kinds = append(out[i].kinds, k)
	}
	return out
}

// title of the section that a kind belongs to.
func (k *kind) title() string {
	if k.Exists {
		return "Existing nodes that get pods"
	}
	return "Provisioner " + k.Provisioner
}

// tally counts what is left out of a section.
type tally struct {
	kinds, machines int
	price           float64
}

func (t tally) text() string {
	if t.kinds == 0 {
		return ""
	}
	return fmt.Sprintf("and %s of %s for $%.4f per hour, not drawn", explain.Plural(t.machines, "more machine"), explain.Plural(t.kinds, "further kind"), t.price)
}

// cut leaves the kinds that matter most, by price and then by number. At least
// one of each section stays.
func cut(kinds *[]fleetKind) map[string]tally {
	ranked := slices.Clone(*kinds)
	slices.SortStableFunc(ranked, func(a, b fleetKind) int {
		return cmp.Or(cmp.Compare(b.HourlyPrice*float64(b.count), a.HourlyPrice*float64(a.count)), cmp.Compare(b.count, a.count))
	})
	dropped, stays, known := map[string]tally{}, map[kind]bool{}, map[string]bool{}
	for _, k := range ranked {
		title := k.title()
		if len(stays) < maxKinds || !known[title] {
			stays[k.kind], known[title] = true, true
			continue
		}
		t := dropped[title]
		dropped[title] = tally{t.kinds + 1, t.machines + k.count, t.price + k.HourlyPrice*float64(k.count)}
	}
	*kinds = slices.DeleteFunc(*kinds, func(k fleetKind) bool { return !stays[k.kind] })
	return dropped
}

// limit folds the rarest contents of each kind into an average so that no more
// than maxBoxes are drawn, or one per kind.
func limit(kinds []fleetKind) {
	most := maxBoxes
	for most > 1 {
		total := 0
		for _, k := range kinds {
			total += min(most, len(k.boxes))
		}
		if total <= maxBoxes {
			break
		}
		most--
	}
	for i := range kinds {
		boxes := kinds[i].boxes
		slices.SortStableFunc(boxes, func(a, b box) int {
			return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(b.Share(amount.Memory), a.Share(amount.Memory)))
		})
		if len(boxes) > most {
			kinds[i].boxes = append(slices.Clone(boxes[:most-1]), average(boxes[most-1:]))
		}
	}
}
