package pack

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// class is an equivalence class with what has become of its pods.
type class struct {
	*model.Class
	pods     []int // the first left of them are not placed yet
	left     int64
	booked   int64   // of those left, how many lots of this round are for
	held     int64   // of those left, how many are not to be placed yet
	urgent   bool    // others have left it no place
	tookBack bool    // pods were counted in domains where they then got no machine
	refusals int     // how often pods had to leave their places again
	devices  bool    // may have types with devices: it needs one, or limits leave no others
	size     float64 // for big-first orders, relative to other classes

	drops  []drop // preferences, the least important first
	level  level
	probes int // how often it was asked what can be met, see maxProbes

	host     []touch // constraints by node
	follows  []bond  // required affinity by node
	apart    []hostSpread
	exact    []touch // constraints by node, where spreads bind only pods that come later
	spreads  []spread
	repels   []bond // anti-affinity by domain
	attracts []bond // affinity by domain
	member   []int  // domain groups that the class belongs to
	soft     []softTouch
	keys     []string // topology keys, other than the host name, that matter to it

	never   match.Miss // why it can have no place at all
	limited bool       // a limit kept it from having one
}

// drop is a preference that can be given up.
type drop struct {
	id     int // in the order in which the pod's spec lists them
	text   string
	weight int32
	prefer int  // index in class.prefers, -1 if it is no node affinity
	taints bool // it is about PreferNoSchedule taints
}

// softTouch is a preference by node. It never makes machines necessary; where it
// is not met that is noted.
type softTouch struct {
	touch
	text string
	want bool // the group's pods should be there, rather than not
}

// requires returns what a level requires of the node's labels, and whether
// PreferNoSchedule taints keep the class away.
func (c *class) requires(l level) (match.Requirements, bool) {
	r, honour := c.Places[l.place], false
	for i, d := range c.drops {
		switch {
		case c.gaveUp(l.givenUp, i):
		case d.prefer >= 0:
			r = r.And(c.Prefers[d.prefer].Requirements)
		case d.taints:
			honour = true
		}
	}
	return r, honour
}

// givenUp lists what a level gives up.
func (c *class) givenUp(l level) []string {
	var out []string
	for i, d := range c.drops {
		if c.gaveUp(l.givenUp, i) {
			out = append(out, d.text)
		}
	}
	return out
}

// sortClasses brings the classes into the order in which they are placed: higher
// priority first, then the larger, then by the name of the first pod.
func sortClasses(classes []*class) {
	slices.SortStableFunc(classes, func(a, b *class) int {
		return cmp.Or(
			cmp.Compare(b.Template.Priority, a.Template.Priority),
			cmp.Compare(b.size, a.size),
			cmp.Compare(a.pods[0], b.pods[0]),
		)
	})
}

func newClass(c *model.Class) *class {
	return &class{Class: c, pods: slices.Clone(c.Pods), left: int64(len(c.Pods)), devices: c.Devices, never: c.Never}
}

// daemon is a DaemonSet with what its pods mean to others.
type daemon struct {
	*model.DaemonSet
	*resident
}

// runner is what running pods of one template take, and mean to others.
type runner struct {
	resident
	need    []int64
	volumes []touch // also of those that terminate
}

// resident is what pods that are there mean to others.
type resident struct {
	host   []touch
	member []int
	repels []int
	anti   []int
}
