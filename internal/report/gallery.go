package report

import (
	"fmt"
	"html/template"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
)

// Gallery is a fleet of nodes as boxes to scale that are filled by their pods, for
// a page: one colour for each Provisioner, nodes of a kind together.
type Gallery struct {
	// Legend says what is not a Provisioner's colour.
	Legend  []entry
	Samples []sample
	Guide   string
	// Sections are Provisioners.
	Sections []figures
}

// gallerySides and galleryHeight leave room for what else a page has to say.
var gallerySides = sides[3:]

const galleryHeight = 800.0

// NewGallery draws nodes.
func NewGallery(nodes []explain.Content) Gallery {
	l := arrange(newGallery(boxes(nodes)), gallerySides, galleryHeight)
	return Gallery{Legend: notColours(l.legend), Samples: l.samples(), Guide: l.guide(), Sections: l.figures()}
}

// newGallery is newPicture with colours by Provisioner. Nodes without pods do not
// say what fills nodes.
func newGallery(fleet []box) *picture {
	p := newPictureOf(fleet, columns(slices.DeleteFunc(slices.Clone(fleet), func(b box) bool { return len(b.Loads) == 0 })))
	p.byProvisioner = true
	var names []string
	for i := range fleet {
		names = append(names, fleet[i].Provisioner)
	}
	slices.Sort(names)
	p.colourByName(slices.Compact(names))
	p.explainRest(fleet)
	return p
}

// GalleryStyle is the style sheet of the boxes.
func GalleryStyle() template.CSS { return template.CSS(pictureStyle) } // our own text

// GalleryHatch belongs into a page once: the pattern of what DaemonSets take.
func GalleryHatch() template.HTML { return template.HTML(render("hatch", nil)) } // our own text

// samples are squares that show the scales.
func (l *layout) samples() []sample {
	var out []sample
	for _, name := range l.columns {
		if side, text := l.sample(name); text != "" {
			out = append(out, sample{decimal(side), text})
		}
	}
	return out
}

// notColours leaves out the Provisioners, whose sections carry their colour.
func notColours(legend []entry) []entry {
	return slices.DeleteFunc(slices.Clone(legend), func(e entry) bool { return e.Class != "held" && e.Class != "free" })
}

// class is that of the style sheet for a load of a box.
func (p *picture) class(b *box, workload string) string {
	if p.byProvisioner {
		return p.classes[b.Provisioner]
	}
	return p.classes[workload]
}

// stateText follows the type in a caption where the node is not simply ready.
func (k *kind) stateText() string {
	if k.State == "" || k.State == "ready" {
		return ""
	}
	return fmt.Sprintf(" (%s)", k.State)
}
