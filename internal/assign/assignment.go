package assign

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// Assignment is which pods are where: on nodes that exist and on machines to be bought.
type Assignment struct {
	*Market
	Problem       *Problem
	volumes       *match.Volumes
	ExistingNodes []*node
	ClosedNodes   []*node // take no pods, but those that they have count
	Classes       []*Class
	slots         []slot
	Standing      []*cluster.Pod // pods that are not pending
	Running       map[*cluster.Template]*runner

	Machines []*Machine
	Places   []Place
	// What was put on nodes, and the room that these had before.
	OnNodes    []NodePlacement
	RoomBefore [][]int64
	// What groups counted before anything was placed, also by node.
	Before     []topology.Tally
	HostBefore []topology.NodeCounts
}

// New returns the assignment in which no pod has a place.
func New(p *Problem, binding Limits, e *model.Effort) *Assignment {
	known := model.New(&model.Input{Snapshot: p.Snapshot, Provisioners: p.Provisioners, Pods: p.Pods, Leaving: p.Leaving, Key: topology.NewKey(p.Snapshot).Append, Binding: binding}, e)
	s := &Assignment{
		Problem: p, Running: map[*cluster.Template]*runner{}, Places: make([]Place, len(p.Pods)), volumes: known.Volumes,
		Market: &Market{Supply: &known.Supply, NodeCost: p.NodeCost, without: p.Without, held: map[string]model.Bitset{}},
	}
	s.State = topology.NewState(topology.NewGroups(p.Snapshot.Namespaces), s.Supply)
	for i := range s.Places {
		s.Places[i].Machine = -1
	}
	for _, r := range known.Refusals {
		s.Places[r.Pod].Reason = r.Reason
	}
	for _, c := range known.Classes {
		s.Classes = append(s.Classes, newClass(c))
	}
	s.few = len(s.Classes) <= lookAtMost
	for range s.DaemonSets {
		s.State.Daemons = append(s.State.Daemons, &topology.Resident{})
	}
	s.findStanding()
	s.constrain()
	s.reserveSlots()
	s.findNodes()
	s.occupy()
	s.chargeSlots()
	s.remember()
	s.RelateNodeSpreads()
	for _, n := range s.ExistingNodes {
		s.RoomBefore = append(s.RoomBefore, slices.Clone(n.Free))
	}
	s.chargeLimits()
	s.sizeClasses()
	return s
}

// findStanding lists the pods that are not pending, and what they take.
func (s *Assignment) findStanding() {
	for i := range s.Problem.Snapshot.Pods {
		p := &s.Problem.Snapshot.Pods[i]
		if p.State == cluster.PodPending {
			continue
		}
		s.Standing = append(s.Standing, p)
		if t := p.Template; s.Running[t] == nil {
			s.Running[t] = &runner{need: s.Space.Vector(t.Requests), volumes: s.State.Attachments(s.volumes.Attached(t))}
		}
	}
}

// constrain reads the constraints of all pods: the groups that they speak of, and who
// belongs to these.
func (s *Assignment) constrain() {
	prefers := s.anyPreferNoSchedule()
	for _, c := range s.Classes {
		s.Effort.Begin(c.Account)
		s.Effort.Reserve(c.StepsToRead())
		if c.Missing.Missed() || s.Exhausted(c) {
			continue
		}
		if err := s.State.Read(c.Rules, prefers); err != nil {
			c.Missing = match.Miss{Kind: match.Unsupported, Want: err.Error()}
		}
	}
	s.Effort.Others()
	for _, p := range s.Standing {
		s.State.ReadResident(p.Template, &s.Running[p.Template].Resident)
	}
	for i := range s.DaemonSets {
		s.State.ReadResident(s.DaemonSets[i].Template, s.State.Daemons[i])
	}
	for _, c := range s.Classes {
		s.State.Settle(c.Rules)
	}
	for t, r := range s.Running {
		s.State.SettleResident(t, &r.Resident)
	}
	for i := range s.DaemonSets {
		s.State.SettleResident(s.DaemonSets[i].Template, s.State.Daemons[i])
	}
}

// Rules lists the constraints of all classes.
func (s *Assignment) Rules() []*topology.Rules {
	out := make([]*topology.Rules, len(s.Classes))
	for i, c := range s.Classes {
		out[i] = c.Rules
	}
	return out
}

// RelateNodeSpreads lets spreads over host names go as far as the nodes let them.
func (s *Assignment) RelateNodeSpreads() {
	var planned []*model.Node
	for _, m := range s.Machines {
		planned = append(planned, m.modelOf(s.Supply))
	}
	s.State.RelateNodeSpreads(s.Rules(), planned)
}

func (s *Assignment) anyPreferNoSchedule() bool {
	soft := func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule }
	return slices.ContainsFunc(s.Selling, func(p *model.Pool) bool { return slices.ContainsFunc(p.Spec.Spec.Taints, soft) })
}

// sizeClasses gives each class its share of the largest machine, and sorts.
func (s *Assignment) sizeClasses() {
	largest := make([]int64, len(s.Space.Names))
	for _, c := range s.Shapes {
		for i, v := range c.Room {
			largest[i] = max(largest[i], v)
		}
	}
	for _, n := range s.ExistingNodes {
		for i, v := range n.Free {
			largest[i] = max(largest[i], v)
		}
	}
	for _, c := range s.Classes {
		for i, v := range c.Need {
			if largest[i] > 0 {
				c.Size = max(c.Size, float64(v)/float64(largest[i]))
			}
		}
	}
	sortClasses(s.Classes)
}
