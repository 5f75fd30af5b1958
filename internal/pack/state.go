package pack

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// class is an equivalence class and its constraints, with what has become of its pods.
type class struct {
	*topology.Rules
	pods     []int // the first left of them are not placed yet
	left     int64
	booked   int64   // of those left, how many lots of this round are for
	held     int64   // of those left, how many are not to be placed yet
	urgent   bool    // others have left it no place
	tookBack bool    // pods were counted in domains where they then got no machine
	refusals int     // how often pods had to leave their places again
	devices  bool    // may have types with devices: it needs one, or limits leave no others
	size     float64 // for big-first orders, relative to other classes
	level    level
	probes   int        // how often it was asked what can be met, see maxProbes
	never    match.Miss // why it can have no place at all
	limited  bool       // a limit kept it from having one
}

func newClass(c *model.Class) *class {
	return &class{
		Rules: &topology.Rules{Class: c},
		pods:  slices.Clone(c.Pods), left: int64(len(c.Pods)), devices: c.Devices, never: c.Never,
	}
}

// requires returns what a level requires of the node's labels, and whether
// PreferNoSchedule taints keep the class away.
func (c *class) requires(l level) (match.Requirements, bool) { return c.Requires(l.place, l.relaxed) }

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

// runner is what running pods of one template take, and mean to others.
type runner struct {
	topology.Resident
	need    []int64
	volumes []topology.PerNode // also of those that terminate
}
