package pack

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// solver holds a problem in the form in which it is solved.
type solver struct {
	*model.Model
	problem  *Problem
	state    *topology.State
	nodes    []*node
	closed   []*node // take no pods, but those that they have count
	classes  []*class
	later    []*class // less important ones, whose turn has not come
	slots    []slot
	standing []*cluster.Pod // pods that are not pending
	running  map[*cluster.Template]*runner

	joint    int  // joint options made so far
	trials   int  // machines that may still be filled to make a plan
	searches int  // the same to search for a cheaper one
	patient  bool // somebody has said how long to search
	enlarged bool // trials are in proportion to the pods already

	machines []*machine
	places   []Place
	scratch  []int
	key      []byte       // scratch
	roomy    model.Bitset // scratch, see roomFor
	byRoom   []*rooms     // by resource; made when asked for
	// What was put on nodes, and the room that these had before.
	onNodes    []nodePlacement
	roomBefore [][]int64
	// What groups counted before anything was placed, also by node.
	before     []topology.Tally
	hostBefore []topology.NodeCounts
	held       map[string]model.Bitset // columns, see holding
}

func newSolver(p *Problem, binding limits, e *model.Effort) *solver {
	s := &solver{
		problem: p, running: map[*cluster.Template]*runner{},
		held: map[string]model.Bitset{}, places: make([]Place, len(p.Pods)),
		Model: model.New(&model.Input{Snapshot: p.Snapshot, Provisioners: p.Provisioners, Pods: p.Pods, Leaving: p.Leaving, Key: topology.NewKey(p.Snapshot).Append, Binding: binding}, e),
	}
	s.state = topology.NewState(topology.NewGroups(p.Snapshot.Namespaces), &s.Supply)
	all := cmp.Or(p.Trials, defaultTrials(len(p.Pods)))
	s.trials = max(1, all/makingShare)
	s.searches, s.patient = all-s.trials, p.Trials > 0
	for i := range s.places {
		s.places[i].Machine = -1
	}
	for _, r := range s.Refusals {
		s.places[r.Pod].Reason = r.Reason
	}
	for _, c := range s.Model.Classes {
		s.classes = append(s.classes, newClass(c))
	}
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
func (s *solver) findStanding() {
	for i := range s.problem.Snapshot.Pods {
		p := &s.problem.Snapshot.Pods[i]
		if p.State == cluster.PodPending {
			continue
		}
		s.standing = append(s.standing, p)
		if t := p.Template; s.running[t] == nil {
			s.running[t] = &runner{need: s.Space.Vector(t.Requests), volumes: s.state.Attachments(s.Volumes.Attached(t))}
		}
	}
}

// constrain reads the constraints of all pods: the groups that they speak of, and who
// belongs to these.
func (s *solver) constrain() {
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
func (s *solver) rules() []*topology.Rules {
	out := make([]*topology.Rules, len(s.classes))
	for i, c := range s.classes {
		out[i] = c.Rules
	}
	return out
}

// relateNodeSpreads lets spreads over host names go as far as the nodes let them.
func (s *solver) relateNodeSpreads() {
	var planned []*model.Node
	for _, m := range s.machines {
		planned = append(planned, m.modelOf(&s.Supply))
	}
	s.state.RelateNodeSpreads(s.rules(), planned)
}

func (s *solver) anyPreferNoSchedule() bool {
	soft := func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule }
	return slices.ContainsFunc(s.Selling, func(p *model.Pool) bool { return slices.ContainsFunc(p.Spec.Spec.Taints, soft) })
}

// sizeClasses gives each class its share of the largest machine, and sorts.
func (s *solver) sizeClasses() {
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
