package explain

import (
	"fmt"
	"html/template"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Content is a node as it is, with the pods that it holds.
type Content struct {
	Node         string `json:"name"`
	Provisioner  string `json:"provisioner"`
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
	// HourlyPrice is in dollars.
	HourlyPrice float64 `json:"hourlyPrice"`
	// State is starting, ready, unready or draining.
	State string `json:"state"`
	// Allocatable and Held are in millicores, bytes and pieces; Held is what
	// DaemonSets and static pods take.
	Allocatable amount.List `json:"allocatable"`
	Held        amount.List `json:"held"`
	Loads       []Load      `json:"loads"`
}

// Load is the pods of one workload on a node that ask for the same.
type Load struct {
	Workload string `json:"workload"`
	Pods     int    `json:"pods"`
	// Each is what one of them asks for.
	Each amount.List `json:"each"`
}

// Contents returns the nodes of a snapshot that belong to a Provisioner, with what
// they hold, in order.
func Contents(s *cluster.Snapshot) []Content {
	held, keys := map[string]amount.List{}, map[string][]cluster.PodKey{}
	for i := range s.Pods {
		p := &s.Pods[i]
		switch {
		case p.NodeName == "":
		case p.Template.DaemonSet || p.Template.Static:
			held[p.NodeName] = held[p.NodeName].Plus(p.Template.Requests)
		default:
			keys[p.NodeName] = append(keys[p.NodeName], p.PodKey)
		}
	}
	found := pods{s}
	var out []Content
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Provisioner == "" {
			continue
		}
		c := Content{
			Node: n.Name, Provisioner: n.Provisioner, InstanceType: n.Labels[api.LabelInstanceType],
			Zone: n.Labels[api.LabelZone], CapacityType: n.Labels[api.LabelCapacityType],
			Allocatable: n.Allocatable, Held: held[n.Name], Loads: []Load{},
		}
		for _, l := range found.loads(keys[n.Name]) {
			c.Loads = append(c.Loads, Load{Workload: l.workload, Pods: int(l.pods), Each: l.each})
		}
		out = append(out, c)
	}
	return out
}

// Share returns how much of a resource is asked for, from 0 to 1.
func (c *Content) Share(resource string) float64 {
	b := c.box()
	return b.share(resource)
}

// Pods returns the number of pods, without those of DaemonSets.
func (c *Content) Pods() int {
	n := 0
	for _, l := range c.Loads {
		n += l.Pods
	}
	return n
}

func (c *Content) box() box {
	b := box{
		kind: kind{
			provisioner: c.Provisioner, instanceType: c.InstanceType, zone: c.Zone, capacityType: c.CapacityType,
			price: c.HourlyPrice, state: c.State,
		},
		name: c.Node, count: 1, allocatable: c.Allocatable, held: c.Held,
	}
	for _, l := range c.Loads {
		b.loads = append(b.loads, load{l.Workload, float64(l.Pods), l.Each})
	}
	return b
}

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
func NewGallery(nodes []Content) Gallery {
	fleet := make([]box, 0, len(nodes))
	for i := range nodes {
		fleet = append(fleet, nodes[i].box())
	}
	l := arrangeWithin(newGallery(fleet), gallerySides, galleryHeight)
	return Gallery{Legend: notColours(l.legend), Samples: l.samples(), Guide: l.guide(), Sections: l.figures()}
}

// newGallery is newPicture with colours by Provisioner. Nodes without pods do not
// say what fills nodes.
func newGallery(fleet []box) *picture {
	p := newPictureOf(fleet, columns(slices.DeleteFunc(slices.Clone(fleet), func(b box) bool { return len(b.loads) == 0 })))
	p.byProvisioner = true
	var names []string
	for i := range fleet {
		names = append(names, fleet[i].provisioner)
	}
	slices.Sort(names)
	p.colourByName(slices.Compact(names))
	p.explainRest(fleet)
	return p
}

// GalleryStyle is the style sheet of the boxes.
func GalleryStyle() template.CSS { return template.CSS(pictureStyle) } // our own text

// GalleryHatch belongs into a page once: the pattern of what DaemonSets take.
func GalleryHatch() template.HTML { return template.HTML(hatch) } // our own text

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
		return p.classes[b.provisioner]
	}
	return p.classes[workload]
}

// stateText follows the type in a caption where the node is not simply ready.
func (k *kind) stateText() string {
	if k.state == "" || k.state == "ready" {
		return ""
	}
	return fmt.Sprintf(" (%s)", k.state)
}
