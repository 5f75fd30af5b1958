package assign

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// Assignment is which pods are where: on nodes that exist and on machines to be bought. It knows how much
// room and how many pods are left. Only Put, PutItems, Buy, Extend, Move, Downsize and Withdraw change
// where pods are. How far a class has come (Level, Booked, Held, Limited and the like) is set by the
// packages that place, buy and confirm. They must not change anything else.
type Assignment struct {
	*Market
	Problem *Problem
	// Start is what there was before any pod had a place.
	Start Start

	refusals  []model.Rejection
	residents [][]int // groups of the constraints that pods have which are not pending
	nodes     []*Node
	classes   []*Class
	machines  []*Machine
	onNodes   []NodePlacement
}

// Start is what there is before any pod has a place.
type Start struct {
	Room    [][]int64             // by node
	Counts  []topology.NodeCounts // by node
	Tallies []topology.Tally      // of the groups of pods that constraints speak of
}

// Prepared is a problem that has been read: what may be bought, which pods are alike, and which offerings have room
// for them. All assignments of its pods share that.
type Prepared struct {
	problem *Problem
	known   *model.Model
	market  Market // without a state
}

// Prepare reads a problem with the limits that bind.
func Prepare(p *Problem, binding Limits, e *model.Effort) *Prepared {
	known := model.New(&model.Input{
		Snapshot: p.Snapshot, Provisioners: p.Provisioners, Pods: p.Pods, Leaving: p.Leaving, Shut: p.Shut,
		Key: topology.NewKey(p.Snapshot).Append, Binding: binding, NodeCost: p.NodeCost,
	}, e)
	out := &Prepared{p, known, Market{Supply: &known.Supply, without: p.Without, few: len(known.Classes) <= lookAtMost}}
	out.market.rememberFits()
	return out
}

// New returns the assignment in which no pod has a place.
func (p *Prepared) New() *Assignment { return newBuilder(p).build() }

// Existing lists the nodes that take pods, in the order of the supply's.
func (a *Assignment) Existing() []*Node { return a.nodes }

// Classes lists the equivalence classes of pods in the order in which they are placed.
func (a *Assignment) Classes() []*Class { return a.classes }

// Machines lists what is to be bought.
func (a *Assignment) Machines() []*Machine { return a.machines }

// OnNodes lists what was put on nodes.
func (a *Assignment) OnNodes() []NodePlacement { return a.onNodes }

// Rules lists the constraints of all classes.
func (a *Assignment) Rules() []*topology.Rules {
	out := make([]*topology.Rules, len(a.classes))
	for i, c := range a.classes {
		out[i] = c.Rules
	}
	return out
}

// RelateNodeSpreads lets spreads over host names go as far as the nodes let them.
func (a *Assignment) RelateNodeSpreads() {
	var planned []*model.Node
	for _, m := range a.machines {
		planned = append(planned, a.NodeOf(m))
	}
	a.State.RelateNodeSpreads(a.Rules(), planned)
}

// Components says which groups of pods are tied together because a pod has to do with them.
func (a *Assignment) Components() Components {
	out := NewComponents(len(a.State.List))
	for _, c := range a.classes {
		out.Join(c.Groups())
	}
	for _, d := range a.State.Daemons {
		out.Join(d.Groups())
	}
	for _, groups := range a.residents {
		out.Join(groups)
	}
	return out
}

// Hurry brings the urgent classes before others of their priority. Classes are named by
// the first of their pods.
func (a *Assignment) Hurry(urgent map[int]bool) {
	if len(urgent) == 0 {
		return
	}
	for _, c := range a.classes {
		c.Urgent = urgent[c.First()]
	}
	slices.SortStableFunc(a.classes, byUrgency)
}

// Places says where each pod of the problem is, but not in which order machines are bought:
// pods on machines have none, as those without a place.
func (a *Assignment) Places() []Place {
	out := make([]Place, len(a.Problem.Pods))
	for i := range out {
		out[i].Machine = -1
	}
	for _, r := range a.refusals {
		out[r.Pod].Reason = r.Reason
	}
	for _, p := range a.onNodes {
		given := p.Class.GivenUp(p.Level.Relaxed)
		for _, pod := range p.Pods {
			out[pod].Node, out[pod].GivenUp = p.Node.Name, given
		}
	}
	return out
}

// RoomOn returns how many pods of the class the node can take, at most limit.
func (a *Assignment) RoomOn(c *Class, o *model.Options, i int, limit int64) int64 {
	if !a.State.Reaches(c.Rules, a.nodes[i].NodeView, false) {
		return 0
	}
	return a.RoomAlone(c, o, i, limit)
}

// RoomAlone is RoomOn without regard to the pods that the class must share a
// node with.
func (a *Assignment) RoomAlone(c *Class, o *model.Options, i int, limit int64) int64 {
	n := a.nodes[i]
	a.Effort.Spend(model.StepsToMatch + len(c.PerNode))
	k := amount.Copies(c.Need, n.Free, limit)
	if k == 0 || !a.Matches(o, i) {
		return 0
	}
	return a.State.RoomOn(n.NodeView, c.PerNode, k)
}
