package assign

import (
	"cmp"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// builder makes an assignment. It holds what only that needs.
type builder struct {
	*Assignment
	volumes *match.Volumes
	slots   []slot
	closed  []*Node        // take no pods, but those that they have count
	running []*cluster.Pod // pods that are on nodes, or are about to come there
	uses    map[*cluster.Template]*runner
	users   []*cluster.Template // of the running pods, each once
}

// runner is what running pods of one template take, and mean to others.
type runner struct {
	topology.Resident
	need    []int64
	volumes []topology.PerNode // also of those that terminate
}

func newBuilder(of *Prepared) *builder {
	p, known, market, supply := of.problem, of.known, of.market, of.known.Supply
	market.Supply = &supply
	b := &builder{
		Assignment: &Assignment{Problem: p, refusals: known.Refusals, Market: &market},
		volumes:    known.Volumes, uses: map[*cluster.Template]*runner{},
	}
	b.State = topology.NewState(topology.NewGroups(p.Snapshot.Namespaces), b.Supply)
	for i, d := range p.Pods {
		if n := p.Snapshot.Node(d.From); n != nil {
			b.State.Movers = append(b.State.Movers, topology.Mover{Pod: i, Of: d.Pod.Template, Node: n})
		}
	}
	for _, c := range known.Classes {
		b.classes = append(b.classes, newClass(c))
	}
	for range b.DaemonSets {
		b.State.Daemons = append(b.State.Daemons, &topology.Resident{})
	}
	return b
}

func (b *builder) build() *Assignment {
	b.findRunning()
	b.constrain()
	b.reserveSlots()
	b.findNodes()
	b.occupy()
	b.chargeSlots()
	b.Start.Tallies = b.State.Snapshot()
	b.State.KeepDaemonsOff()
	b.RelateNodeSpreads()
	for _, n := range b.nodes {
		b.Start.Counts = append(b.Start.Counts, slices.Clone(n.Counts))
		b.Start.Room = append(b.Start.Room, slices.Clone(n.Free))
	}
	b.chargeLimits()
	b.sizeClasses()
	for _, t := range b.users {
		b.residents = append(b.residents, b.uses[t].Groups())
	}
	return b.Assignment
}

// findRunning lists the pods that are on nodes, or are about to come there, and what they take.
func (b *builder) findRunning() {
	for i := range b.Problem.Snapshot.Pods {
		p := &b.Problem.Snapshot.Pods[i]
		if p.State == cluster.PodPending || b.Problem.Snapshot.Node(cmp.Or(p.NodeName, p.NominatedNode)) == nil {
			continue
		}
		b.running = append(b.running, p)
		if t := p.Template; b.uses[t] == nil {
			b.users = append(b.users, t)
			b.uses[t] = &runner{need: b.Space.Vector(t.Requests), volumes: b.State.Attachments(b.volumes.Attached(t))}
		}
	}
}

// constrain reads the constraints of all pods: the groups that they speak of, and who
// belongs to these.
func (b *builder) constrain() {
	b.expect()
	prefers := b.anyPreferNoSchedule()
	for _, c := range b.classes {
		b.Effort.Begin(c.Account)
		b.Effort.Reserve(c.StepsToRead())
		if c.Missing.Missed() || b.Exhausted(c) {
			continue
		}
		before := len(b.State.List)
		if err := b.State.Read(c.Rules, prefers); err != nil {
			c.Missing = match.Miss{Kind: match.Unsupported, Want: err.Error()}
		}
		b.Effort.Reserve(b.State.StepsToCompare(before))
		if b.Exhausted(c) {
			b.State.Forget(before)
			*c.Rules = topology.Rules{Class: c.Rules.Class}
		}
	}
	b.Effort.Others()
	b.readResidents()
	for _, c := range b.classes {
		b.State.Resolve(c.Rules)
		c.Level = c.FirstLevel(0)
		if c.Account.Lent() {
			b.State.NarrowKeys(c.Rules)
		}
	}
	for t, r := range b.uses {
		b.State.ResolveResident(t, &r.Resident)
	}
	for i := range b.DaemonSets {
		b.State.ResolveResident(b.DaemonSets[i].Template, b.State.Daemons[i])
	}
}

// expect announces all templates that are compared with the groups.
func (b *builder) expect() {
	for _, c := range b.classes {
		b.State.Expect(c.Template)
	}
	for _, t := range b.users {
		b.State.Expect(t)
	}
	for i := range b.DaemonSets {
		b.State.Expect(b.DaemonSets[i].Template)
	}
}

// readResidents reads what pods that are there, and those of DaemonSets, ask of others. Pods that
// run may have anything to ask: if all of them together ask for too much, those that ask for the
// most are left out.
func (b *builder) readResidents() {
	var all []asking
	for _, t := range b.users {
		all = append(all, asking{t, &b.uses[t].Resident, asked(t)})
	}
	for i := range b.DaemonSets {
		t := b.DaemonSets[i].Template
		all = append(all, asking{t, b.State.Daemons[i], asked(t)})
	}
	most := mostAsked(all, askedByAll+askedByPod*len(b.running))
	for _, a := range all {
		if a.size <= most {
			b.State.ReadResident(a.of, a.as)
		}
	}
}

// asking is what pods of one template that are there, or those of a DaemonSet, ask of others.
type asking struct {
	of   *cluster.Template
	as   *topology.Resident
	size int
}

// Of what residents ask, askedByAll bytes are read for all of them together, and askedByPod bytes
// more for each pod. A term takes about 100 bytes, and what is kept of it ten times that.
const (
	askedByAll = 1 << 20
	askedByPod = 1 << 10
)

// mostAsked returns how much one of them may ask so that all that ask no more stay within a size.
func mostAsked(all []asking, within int) int {
	for _, a := range slices.SortedFunc(slices.Values(all), func(a, b asking) int { return cmp.Compare(a.size, b.size) }) {
		if within -= a.size; within < 0 {
			return a.size - 1
		}
	}
	return math.MaxInt
}

// asked is the size of what a pod asks of others on its node and in its domains.
func asked(t *cluster.Template) int {
	n := 100 * len(t.HostPorts)
	if t.Affinity != nil {
		n += t.Affinity.PodAntiAffinity.Size()
	}
	return n
}

func (b *builder) anyPreferNoSchedule() bool {
	soft := func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule }
	return slices.ContainsFunc(b.Selling, func(p *model.Pool) bool { return slices.ContainsFunc(p.Spec.Spec.Taints, soft) })
}

// sizeClasses gives each class its share of the largest machine, and sorts.
func (b *builder) sizeClasses() {
	largest := make([]int64, len(b.Space.Names))
	for _, c := range b.Shapes {
		for i, v := range c.Room {
			largest[i] = max(largest[i], v)
		}
	}
	for _, n := range b.nodes {
		for i, v := range n.Free {
			largest[i] = max(largest[i], v)
		}
	}
	for _, of := range b.slots { // nodes on which the group is not counted have more
		largest[of.resource] = min(largest[of.resource], of.most)
	}
	for _, c := range b.classes {
		for i, v := range c.Need {
			if largest[i] > 0 {
				c.Size = max(c.Size, float64(v)/float64(largest[i]))
			}
		}
	}
	sortClasses(b.classes)
}

// findNodes begins with the nodes as if nothing ran on them.
func (b *builder) findNodes() {
	for _, n := range b.Supply.Nodes {
		view := &topology.NodeView{Node: n, Counts: b.State.AttachLimits(n.Node)}
		b.nodes, b.State.Nodes = append(b.nodes, &Node{view, b.Space.Vector(n.Allocatable)}), append(b.State.Nodes, view)
	}
	closed := slices.Clone(b.Closed)
	for _, n := range b.Problem.held() {
		closed = append(closed, &model.Node{Node: n, Taints: n.Taints})
	}
	for _, n := range closed {
		view := &topology.NodeView{Node: n}
		b.closed, b.State.Closed = append(b.closed, &Node{view, b.Space.Vector(n.Allocatable)}), append(b.State.Closed, view)
	}
}

// occupy takes the room that running pods use, and counts them where
// constraints look at them.
func (b *builder) occupy() {
	nodes := slices.Concat(b.nodes, b.closed)
	byName := make(map[string]*Node, len(nodes))
	for _, n := range nodes {
		byName[n.Name] = n
	}
	daemons := map[*Node]map[string]bool{}
	for _, p := range b.running {
		n := byName[cmp.Or(p.NodeName, p.NominatedNode)]
		if n == nil || b.Problem.leaves(n.Node.Node) && !p.Template.BelongsToNode() && !b.Problem.stays(p, n.Node.Node) {
			continue // its successor is placed once it has gone
		}
		model.AddTimes(n.Free, b.uses[p.Template].need, -1)
		n.Counts = n.Counts.Plus(b.uses[p.Template].volumes, 1)
		if p.Owner.Kind == "DaemonSet" {
			if daemons[n] == nil {
				daemons[n] = map[string]bool{}
			}
			daemons[n][p.Namespace+"/"+p.Owner.Name] = true
		}
		switch of := &b.uses[p.Template].Resident; {
		case p.State != cluster.PodTerminating:
			b.State.Occupy(n.NodeView, of)
		case b.Problem.lingers(p):
			b.State.Occupy(n.NodeView, b.State.Stopping(of))
		}
	}
	for _, n := range nodes {
		b.expectDaemons(n, daemons[n])
	}
}

// expectDaemons keeps room for DaemonSet pods that have not started yet, unless they would not fit on
// the bare node, or pods that are there keep them off, for instance because they have taken the same
// host port.
func (b *builder) expectDaemons(n *Node, there map[string]bool) {
	for i := range b.DaemonSets {
		d := &b.DaemonSets[i]
		if there[d.Namespace+"/"+d.Name] || !d.RunsOn(n.Node) {
			continue
		}
		if d.Lacks(n.Allocatable, n.Allocatable) > 0 || !b.State.TakesResident(n.NodeView, b.State.Daemons[i]) {
			continue
		}
		model.AddTimes(n.Free, d.NeedOf(b.Space.Vector(n.Allocatable)), -1)
		b.State.Occupy(n.NodeView, b.State.Daemons[i])
	}
}

// chargeLimits counts what Provisioners with limits have.
func (b *builder) chargeLimits() {
	charged := b.Problem.Charged
	if charged == nil {
		charged = b.Problem.Charge()
	}
	for _, p := range b.Pools {
		p.Has = charged[p.Spec.Name]
	}
}
