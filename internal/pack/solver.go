package pack

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
	problem  *Problem
	volumes  *match.Volumes
	nodes    []*node
	closed   []*node // take no pods, but those that they have count
	classes  []*class
	slots    []slot
	standing []*cluster.Pod // pods that are not pending
	running  map[*cluster.Template]*runner

	machines []*machine
	places   []Place
	// What was put on nodes, and the room that these had before.
	onNodes    []nodePlacement
	roomBefore [][]int64
	// What groups counted before anything was placed, also by node.
	before     []topology.Tally
	hostBefore []topology.NodeCounts
}

// newAssignment returns the assignment in which no pod has a place.
func newAssignment(p *Problem, binding limits, e *model.Effort) *Assignment {
	known := model.New(&model.Input{Snapshot: p.Snapshot, Provisioners: p.Provisioners, Pods: p.Pods, Leaving: p.Leaving, Key: topology.NewKey(p.Snapshot).Append, Binding: binding}, e)
	s := &Assignment{
		problem: p, running: map[*cluster.Template]*runner{}, places: make([]Place, len(p.Pods)), volumes: known.Volumes,
		Market: &Market{Supply: &known.Supply, cost: p.NodeCost, without: p.Without, held: map[string]model.Bitset{}},
	}
	s.state = topology.NewState(topology.NewGroups(p.Snapshot.Namespaces), s.Supply)
	for i := range s.places {
		s.places[i].Machine = -1
	}
	for _, r := range known.Refusals {
		s.places[r.Pod].Reason = r.Reason
	}
	for _, c := range known.Classes {
		s.classes = append(s.classes, newClass(c))
	}
	s.few = len(s.classes) <= lookAtMost
	for range s.DaemonSets {
		s.state.Daemons = append(s.state.Daemons, &topology.Resident{})
	}
	s.findStanding()
	s.constrain()
	s.reserveSlots()
	s.findNodes()
	s.occupy()
	s.chargeSlots()
	s.remember()
	s.relateNodeSpreads()
	for _, n := range s.nodes {
		s.roomBefore = append(s.roomBefore, slices.Clone(n.free))
	}
	s.chargeLimits()
	s.sizeClasses()
	return s
}

// findStanding lists the pods that are not pending, and what they take.
func (s *Assignment) findStanding() {
	for i := range s.problem.Snapshot.Pods {
		p := &s.problem.Snapshot.Pods[i]
		if p.State == cluster.PodPending {
			continue
		}
		s.standing = append(s.standing, p)
		if t := p.Template; s.running[t] == nil {
			s.running[t] = &runner{need: s.Space.Vector(t.Requests), volumes: s.state.Attachments(s.volumes.Attached(t))}
		}
	}
}

// constrain reads the constraints of all pods: the groups that they speak of, and who
// belongs to these.
func (s *Assignment) constrain() {
	prefers := s.anyPreferNoSchedule()
	for _, c := range s.classes {
		s.Effort.Begin(c.Account)
		s.Effort.Reserve(c.StepsToRead())
		if c.never.Missed() || s.exhausted(c) {
			continue
		}
		if err := s.state.Read(c.Rules, prefers); err != nil {
			c.never = match.Miss{Kind: match.Unsupported, Want: err.Error()}
		}
	}
	s.Effort.Others()
	for _, p := range s.standing {
		s.state.ReadResident(p.Template, &s.running[p.Template].Resident)
	}
	for i := range s.DaemonSets {
		s.state.ReadResident(s.DaemonSets[i].Template, s.state.Daemons[i])
	}
	for _, c := range s.classes {
		s.state.Settle(c.Rules)
	}
	for t, r := range s.running {
		s.state.SettleResident(t, &r.Resident)
	}
	for i := range s.DaemonSets {
		s.state.SettleResident(s.DaemonSets[i].Template, s.state.Daemons[i])
	}
}

// rules lists the constraints of all classes.
func (s *Assignment) rules() []*topology.Rules {
	out := make([]*topology.Rules, len(s.classes))
	for i, c := range s.classes {
		out[i] = c.Rules
	}
	return out
}

// relateNodeSpreads lets spreads over host names go as far as the nodes let them.
func (s *Assignment) relateNodeSpreads() {
	var planned []*model.Node
	for _, m := range s.machines {
		planned = append(planned, m.modelOf(s.Supply))
	}
	s.state.RelateNodeSpreads(s.rules(), planned)
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
	for _, n := range s.nodes {
		for i, v := range n.free {
			largest[i] = max(largest[i], v)
		}
	}
	for _, c := range s.classes {
		for i, v := range c.Need {
			if largest[i] > 0 {
				c.size = max(c.size, float64(v)/float64(largest[i]))
			}
		}
	}
	sortClasses(s.classes)
}
