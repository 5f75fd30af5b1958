package pack

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// solver holds a problem in the form in which it is solved.
type solver struct {
	*model.Model
	problem  *Problem
	groups   *groups
	nodes    []*node
	closed   []*node // take no pods, but those that they have count
	classes  []*class
	daemons  []daemon
	slots    []slot
	standing []*cluster.Pod // pods that are not pending
	running  map[*cluster.Template]*runner

	joint    int  // joint options made so far
	trials   int  // machines that may still be filled to make a plan
	ruins    int  // the same to search for a cheaper one
	patient  bool // somebody has said how long to search
	enlarged bool // trials are in proportion to the pods already

	machines []*machine
	places   []Place
	scratch  []int
	key      []byte       // scratch
	roomy    model.Bitset // scratch, see roomFor
	tableau  tableau
	byRoom   []*rooms // by resource; made when asked for
	// What was put on nodes, and the room that these had before.
	onNodes    []nodePlacement
	roomBefore [][]int64
	// What groups counted before anything was placed, also by node.
	before     []tally
	hostBefore []hostState
	planned    []*site                 // the machines among them are domains of spreads
	values     map[string][]string     // of topology keys, that nodes have
	held       map[string]model.Bitset // columns, see holding
}

func newSolver(p *Problem, binding limits, e *model.Effort) *solver {
	s := &solver{
		problem: p, groups: newGroups(p.Snapshot.Namespaces), running: map[*cluster.Template]*runner{},
		values: map[string][]string{}, held: map[string]model.Bitset{}, places: make([]Place, len(p.Pods)),
		Model: model.New(&model.Input{Snapshot: p.Snapshot, Provisioners: p.Provisioners, Pods: p.Pods, Leaving: p.Leaving, Binding: binding}, e),
	}
	s.trials = max(1, cmp.Or(p.Trials, DefaultTrials)/makingShare)
	s.ruins, s.patient = cmp.Or(p.Trials, DefaultTrials)-s.trials, p.Trials > 0
	for i := range s.places {
		s.places[i].Machine = -1
	}
	for _, r := range s.Refusals {
		s.places[r.Pod].Reason = r.Reason
	}
	for _, c := range s.Model.Classes {
		s.classes = append(s.classes, newClass(c))
	}
	for i := range s.DaemonSets {
		s.daemons = append(s.daemons, daemon{&s.DaemonSets[i], &resident{}})
	}
	s.findStanding()
	s.constrain()
	s.reserveSlots()
	s.findNodes()
	s.occupy()
	s.chargeSlots()
	s.remember()
	s.relateHostSpreads()
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
			s.running[t] = &runner{need: s.Space.Vector(t.Requests), volumes: s.groups.attachments(s.Volumes.Attached(t))}
		}
	}
}

// constrain finds the groups that constraints speak of, and who belongs to them.
func (s *solver) constrain() {
	prefers := s.anyPreferNoSchedule()
	for _, c := range s.classes {
		s.Effort.Begin(c.Account)
		s.Effort.Reserve(c.registering())
		if !c.never.Missed() && !s.exhausted(c) {
			s.groups.register(c)
			if prefers {
				c.addDrop(drop{text: "PreferNoSchedule taints", prefer: -1, taints: true})
			}
		}
	}
	s.Effort.Others()
	for _, p := range s.standing {
		if r := s.running[p.Template]; r != nil && r.host == nil && r.anti == nil {
			s.groups.registerRunning(p.Template, &r.resident)
		}
	}
	for _, d := range s.daemons {
		s.groups.registerRunning(d.Template, d.resident)
	}
	for _, c := range s.classes {
		s.groups.settle(c)
	}
	for t, r := range s.running {
		s.groups.settleRunning(t, &r.resident)
	}
	for i := range s.daemons {
		s.groups.settleRunning(s.daemons[i].Template, s.daemons[i].resident)
	}
}

func (s *solver) anyPreferNoSchedule() bool {
	soft := func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule }
	return slices.ContainsFunc(s.Pools, func(p *model.Pool) bool { return slices.ContainsFunc(p.Spec.Spec.Taints, soft) })
}

// daemonHost returns what the DaemonSets of a column mean to others.
func (s *solver) daemonHost(c *model.Offering) hostState {
	var h hostState
	for _, i := range c.DaemonSets {
		h = h.plus(s.daemons[i].host, 1)
	}
	return h
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
