package pack

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// solver holds a problem in the form in which it is solved.
type solver struct {
	problem  *Problem
	volumes  *match.Volumes
	space    *space
	groups   *groups
	sellers  []*seller
	columns  []column
	shapes   []*shape
	nodes    []*node
	closed   []*node // take no pods, but those that they have count
	classes  []*class
	daemons  []daemon
	slots    []slot
	standing []*cluster.Pod // pods that are not pending
	running  map[*cluster.Template]*runner

	origins     map[string]origin // of labels that were asked for
	options     map[string]*options
	residuals   []match.Requirements
	choices     []bool // by residual: it is about labels that some types have
	residualIDs map[string]int
	merged      map[[2]int]int
	cells       map[cellKey][]cell
	effort      *effort
	joint       int  // joint options made so far
	trials      int  // machines that may still be filled to make a plan
	ruins       int  // the same to search for a cheaper one
	patient     bool // somebody has said how long to search
	enlarged    bool // trials are in proportion to the pods already

	machines []*machine
	places   []Place
	scratch  []int
	key      []byte // scratch
	roomy    bitset // scratch, see roomFor
	tableau  tableau
	byRoom   []*rooms // by resource; made when asked for
	special  bitset   // columns that have devices or are bare metal
	// What was put on nodes, and the room that these had before.
	onNodes    []nodePlacement
	roomBefore [][]int64
	// What groups counted before anything was placed, also by node.
	before     []tally
	hostBefore []hostState
	planned    []*site                      // the machines among them are domains of spreads
	labelled   map[[2]int]map[string]string // of machines, by column and residual
	values     map[string][]string          // of topology keys, that nodes have
	held       map[string]bitset            // columns, see holding
}

// daemon is a DaemonSet as overhead of the nodes that it runs on.
type daemon struct {
	*cluster.DaemonSet
	*runner
	places []match.Requirements
	on     bitset // columns
}

// runner is what running pods of one template take, and mean to others.
type runner struct {
	need    []int64
	host    []touch
	volumes []touch // also of those that terminate
	member  []int
	repels  []int
	anti    []int
}

func newSolver(p *Problem, binding limits, e *effort) *solver {
	s := &solver{
		problem: p, effort: e, volumes: match.NewVolumes(p.Snapshot), groups: newGroups(p.Snapshot.Namespaces),
		running: map[*cluster.Template]*runner{}, origins: map[string]origin{}, options: map[string]*options{}, residualIDs: map[string]int{},
		merged: map[[2]int]int{}, cells: map[cellKey][]cell{}, labelled: map[[2]int]map[string]string{}, values: map[string][]string{}, held: map[string]bitset{}, places: make([]Place, len(p.Pods)),
	}
	s.trials = max(1, cmp.Or(p.Trials, DefaultTrials)/makingShare)
	s.ruins, s.patient = cmp.Or(p.Trials, DefaultTrials)-s.trials, p.Trials > 0
	for i := range s.places {
		s.places[i].Machine = -1
	}
	for i := range p.Provisioners {
		s.sellers = append(s.sellers, newSeller(&p.Provisioners[i], i, binding[i]))
	}
	needs := s.classify()
	s.measure(needs)
	for _, p := range s.sellers {
		p.columns[0] = len(s.columns)
		s.addColumns(p)
		p.columns[1] = len(s.columns)
	}
	for _, p := range s.sellers {
		p.residual = s.intern(s.residualOf(p.has))
		p.mask = newBitset(len(s.columns))
		for k := p.columns[0]; k < p.columns[1]; k++ {
			p.mask.add(k)
		}
	}
	s.special = newBitset(len(s.columns))
	for k := range s.columns {
		if s.columns[k].special {
			s.special.add(k)
		}
	}
	s.constrain()
	s.reserveSlots()
	s.findNodes()
	s.chargeDaemons()
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

// measure fixes the resources that count.
func (s *solver) measure(needs map[*class]amount.List) {
	lists := slices.Collect(maps.Values(needs))
	for _, p := range s.sellers {
		limited := amount.List{}
		for name := range p.limits {
			limited[name] = 1
		}
		lists = append(lists, limited)
	}
	s.space = newSpace(lists)
	for c, list := range needs {
		c.need = s.space.vector(list)
		for name, v := range list {
			c.devices = c.devices || v > 0 && offer.Device(name)
		}
	}
	for i := range s.problem.Snapshot.Pods {
		p := &s.problem.Snapshot.Pods[i]
		if p.State == cluster.PodPending {
			continue
		}
		s.standing = append(s.standing, p)
		if t := p.Template; s.running[t] == nil {
			s.running[t] = &runner{need: s.space.vector(t.Requests), volumes: s.groups.attachments(s.volumes.Attached(t))}
		}
	}
}

// origin is what decides a label of a machine.
type origin struct {
	some    bool // some type has it
	settled bool // the type and the offering decide it alone
}

// originOf tells what decides a label. The type and the offering alone do where no type
// leaves a choice of it, and it is well known or some type has it.
func (s *solver) originOf(key string) origin {
	switch {
	case ofOffering(key):
		return origin{settled: true}
	case key == api.LabelProvisioner:
		return origin{}
	}
	if out, known := s.origins[key]; known {
		return out
	}
	out := origin{settled: true}
	for _, p := range s.sellers {
		values, some := p.goods.Label(key)
		out.some, out.settled = out.some || some, out.settled && values.Settled
	}
	out.settled = out.settled && (out.some || api.WellKnown(key))
	s.origins[key] = out
	return out
}

// constrain finds the groups that constraints speak of, and who belongs to them.
func (s *solver) constrain() {
	prefers := s.anyPreferNoSchedule()
	for _, c := range s.classes {
		s.effort.begin(c.account)
		s.effort.reserve(c.registering())
		if !c.never.Missed() && !s.exhausted(c) {
			s.groups.register(c)
			if prefers {
				c.addDrop(drop{text: "PreferNoSchedule taints", prefer: -1, taints: true})
			}
		}
	}
	s.effort.others()
	for _, p := range s.standing {
		if r := s.running[p.Template]; r != nil && r.host == nil && r.anti == nil {
			s.groups.registerRunning(p.Template, r)
		}
	}
	for i := range s.problem.Snapshot.DaemonSets {
		s.addDaemon(&s.problem.Snapshot.DaemonSets[i])
	}
	for _, c := range s.classes {
		s.groups.settle(c)
	}
	for t, r := range s.running {
		s.groups.settleRunning(t, r)
	}
	for i := range s.daemons {
		s.groups.settleRunning(s.daemons[i].Template, s.daemons[i].runner)
	}
}

func (s *solver) anyPreferNoSchedule() bool {
	soft := func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule }
	return slices.ContainsFunc(s.sellers, func(p *seller) bool { return slices.ContainsFunc(p.Spec.Spec.Taints, soft) })
}

func (s *solver) addDaemon(ds *cluster.DaemonSet) {
	places, miss := match.Places(ds.Template, []match.Requirements{nil})
	if !miss.Missed() {
		d := daemon{DaemonSet: ds, runner: &runner{need: s.space.vector(ds.Template.Requests)}, places: places}
		s.groups.registerRunning(ds.Template, d.runner)
		s.daemons = append(s.daemons, d)
	}
}

// chargeDaemons takes the DaemonSets' needs off the columns on which they will
// run.
func (s *solver) chargeDaemons() {
	for i := range s.daemons {
		d := &s.daemons[i]
		d.on = newBitset(len(s.columns))
		for _, place := range d.places {
			d.on.join(s.optionsFor(place, d.Template.Tolerations, tolerationKey(d.Template.Tolerations), false).columns)
		}
	}
	if len(s.daemons) == 0 {
		return
	}
	bare := s.shapes
	s.shapes = nil
	with := make([][]*shape, len(bare)) // by shape: those with DaemonSets
	var runs []int                      // scratch
	for k := range s.columns {
		c := &s.columns[k]
		runs = runs[:0]
		for i := range s.daemons {
			if s.daemons[i].on.has(k) {
				runs = append(runs, i)
			}
		}
		known := with[c.number]
		i := slices.IndexFunc(known, func(of *shape) bool { return slices.Equal(of.daemons, runs) })
		if i < 0 {
			i = len(known)
			with[c.number] = append(known, s.addShape(c.shape, slices.Clone(runs)))
		}
		c.shape = with[c.number][i]
	}
}

// addShape adds a shape with DaemonSets.
func (s *solver) addShape(bare *shape, daemons []int) *shape {
	out := *bare
	out.number, out.daemons = len(s.shapes), daemons
	s.shapes = append(s.shapes, &out)
	if len(daemons) > 0 {
		out.room = slices.Clone(bare.room)
		for _, i := range daemons {
			addTimes(out.room, s.daemons[i].need, -1)
		}
		if slices.Min(out.room) < 0 {
			out.room[s.space.index[amount.Pods]] = 0 // not even its DaemonSets fit
		}
	}
	return &out
}

// daemonHost returns what the DaemonSets of a column mean to others.
func (s *solver) daemonHost(c *column) hostState {
	var h hostState
	for _, i := range c.daemons {
		h = h.plus(s.daemons[i].host, 1)
	}
	return h
}

// sizeClasses gives each class its share of the largest machine, and sorts.
func (s *solver) sizeClasses() {
	largest := make([]int64, len(s.space.names))
	for _, c := range s.shapes {
		for i, v := range c.room {
			largest[i] = max(largest[i], v)
		}
	}
	for _, n := range s.nodes {
		for i, v := range n.free {
			largest[i] = max(largest[i], v)
		}
	}
	for _, c := range s.classes {
		for i, v := range c.need {
			if largest[i] > 0 {
				c.size = max(c.size, float64(v)/float64(largest[i]))
			}
		}
	}
	sortClasses(s.classes)
}
