package assign

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// Class is an equivalence class and its constraints, with what has become of its pods.
type Class struct {
	*topology.Rules
	PodIndices   []int // the first left of them are not placed yet
	Left         int64
	Booked       int64   // of those left, how many pod groups of this round are for
	Held         int64   // of those left, how many are not to be placed yet
	Urgent       bool    // others have left it no place
	TookBack     bool    // pods were counted in domains where they then got no machine
	Refusals     int     // how often pods had to leave their places again
	AllowDevices bool    // may have types with devices: it needs one, or limits leave no others
	Size         float64 // for big-first orders, relative to other classes
	Level        Level
	Probes       int        // how often it was asked what can be met, see maxProbes
	Missing      match.Miss // why it can have no place at all
	Limited      bool       // a limit kept it from having one
}

func newClass(c *model.Class) *Class {
	return &Class{
		Rules:      &topology.Rules{Class: c},
		PodIndices: slices.Clone(c.Pods), Left: int64(len(c.Pods)), AllowDevices: c.Devices, Missing: c.Never,
	}
}

// RequiresAt returns what a level requires of the node's labels, and whether
// PreferNoSchedule taints keep the class away.
func (c *Class) RequiresAt(l Level) (match.Requirements, bool) { return c.Requires(l.Place, l.Relaxed) }

// sortClasses brings the classes into the order in which they are placed: higher
// priority first, then the larger, then by the name of the first pod.
func sortClasses(classes []*Class) {
	slices.SortStableFunc(classes, func(a, b *Class) int {
		return cmp.Or(
			cmp.Compare(b.Template.Priority, a.Template.Priority),
			cmp.Compare(b.Size, a.Size),
			cmp.Compare(a.PodIndices[0], b.PodIndices[0]),
		)
	})
}

// runner is what running pods of one template take, and mean to others.
type runner struct {
	topology.Resident
	need    []int64
	volumes []topology.PerNode // also of those that terminate
}
