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
	pods         []int // the last Left of them are not placed yet
	Left         int64
	Booked       int64            // of those left, how many pod groups of this round are for
	Held         int64            // of those left, how many are not to be placed yet
	Urgent       bool             // others have left it no place
	Given        topology.Relaxed // preferences that it gives up at once
	TookBack     bool             // pods were counted in domains where they then got no machine
	Refused      bool             // pods had to leave their places again
	AllowDevices bool             // may have types with devices: it needs one, or limits leave no others
	Size         float64          // for big-first orders, relative to other classes
	Level        Level
	Probes       int        // how often it was asked what can be met, see maxProbes
	Missing      match.Miss // why it can have no place at all
	Limited      bool       // a limit kept it from having one
}

func newClass(c *model.Class) *Class {
	own := *c
	own.Need = slices.Clone(c.Need) // slots are added
	return &Class{
		Rules: &topology.Rules{Class: &own},
		pods:  slices.Clone(c.Pods), Left: int64(len(c.Pods)), AllowDevices: c.Devices, Missing: c.Never,
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
			cmp.Compare(a.First(), b.First()),
		)
	})
}

// byUrgency brings the urgent classes of a priority before the others.
func byUrgency(a, b *Class) int {
	return cmp.Or(cmp.Compare(b.Template.Priority, a.Template.Priority), model.CmpBool(b.Urgent, a.Urgent))
}

// First returns the first of the class's pods, an index of Problem.Pods, which tells it apart.
func (c *Class) First() int { return c.Class.Pods[0] }

// Unplaced lists the pods that have no place, as indices of Problem.Pods.
func (c *Class) Unplaced() []int { return c.pods[int64(len(c.pods))-c.Left:] }

// Open returns how many pods have neither a place nor a pod group, and may have one.
func (c *Class) Open() int64 { return c.Left - c.Booked - c.Held }

// WantsPlace reports whether pods have no place, and could have one.
func (c *Class) WantsPlace() bool { return c.Left > 0 && !c.Missing.Missed() }

// take removes k pods from those that have no place yet.
func (c *Class) take(k int64) []int {
	out := c.Unplaced()[:k]
	c.Left -= k
	return out
}

// release makes pods be without a place again.
func (c *Class) release(pods []int) {
	placed := c.pods[:int64(len(c.pods))-c.Left]
	for _, pod := range pods {
		last := len(placed) - 1
		i := slices.Index(placed, pod)
		placed[i], placed[last] = placed[last], placed[i]
		placed = placed[:last]
		c.Left++
	}
	slices.Sort(c.Unplaced())
}
