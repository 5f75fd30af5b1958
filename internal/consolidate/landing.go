package consolidate

import (
	"cmp"
	"maps"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
)

// landings are where kube-scheduler puts the pods of nodes that go. It spreads them, so some may
// find no room although the plan has a place for each. Then a machine is bought for them. Without
// this, steps late on the timeline "fragments" saved a quarter of what they had planned.
type landings struct {
	*Problem
	*work
	rooms *rooms
	// nodes is how many of the rooms are on nodes; the others are on machines of steps.
	nodes int
	going map[string]bool
	zones map[string]map[*cluster.Template]int // how many pods of a template are in a zone
}

// landing is a pod in the room that it takes.
type landing struct {
	room *room
	pod  *cluster.Template
}

// newLandings begins with the cluster as it is when the pods have landed that are on their way.
func newLandings(p *Problem, w *work) *landings {
	stays := func(n *cluster.Node) bool {
		return !p.Base.Leaving[n.Name] && (n.Ready || n.Provisioner != "")
	}
	l := &landings{Problem: p, work: w, rooms: newRooms(p.Base.Snapshot, stays), going: map[string]bool{}, zones: map[string]map[*cluster.Template]int{}}
	l.nodes = len(l.rooms.list)
	for _, m := range l.rooms.list {
		for t, n := range m.like {
			l.count(m, t, n)
		}
	}
	l.landWaiting()
	return l
}

// landWaiting lets the pods land that are on their way. Where that takes half of the work, little would be left for the
// nodes: all of them are for another look, when fewer pods wait.
func (l *landings) landWaiting() {
	full := map[*cluster.Template]bool{} // no room is given back here
	for i := range l.Base.Pods {
		pod := l.Base.Pods[i].Pod
		if t := pod.Template; !full[t] && (pod.NodeName != "" || pod.NominatedNode == "") {
			full[t] = l.land(t) == nil
		}
		if l.done > l.most/2 {
			l.done = l.most
			return
		}
	}
}

func (l *landings) count(m *room, t *cluster.Template, n int) {
	zone := m.zone
	if l.zones[zone] == nil {
		l.zones[zone] = map[*cluster.Template]int{}
	}
	l.zones[zone][t] += n
}

// lost is what the machines cost, and how many they are, that pods of a step need because they find no room
// where kube-scheduler puts them; false where nothing that could be bought has room for them. The step
// has the landings then, and none of them is taken.
func (l *landings) lost(st *Step) (price offer.Price, machines int, ok bool) {
	for i := range st.Machines {
		st.rooms = append(st.rooms, l.room(st, &st.Machines[i]))
	}
	l.open(st)
	var left []*cluster.Pod
	for _, pod := range l.evictions(st) {
		if at := l.land(pod.Template); at != nil {
			st.landings = append(st.landings, landing{at, pod.Template})
		} else {
			left = append(left, pod)
		}
	}
	l.undo(st)
	return l.price(st, left)
}

// evictions are the pods of a step in the order in which they are evicted.
func (l *landings) evictions(st *Step) []*cluster.Pod {
	var out []*cluster.Pod
	sizes := map[*cluster.Pod]float64{}
	for _, name := range st.Nodes {
		src := l.source(name)
		for i := range src.Moves {
			pod := src.Moves[i].Pod
			out, sizes[pod] = append(out, pod), pod.Template.Requests.Share(src.Node.Allocatable)
		}
	}
	slices.SortStableFunc(out, func(a, b *cluster.Pod) int { return cmp.Compare(sizes[b], sizes[a]) })
	return out
}

// take lets the nodes of a step go, and its pods land.
func (l *landings) take(st *Step) {
	l.open(st)
	for _, one := range st.landings {
		one.room.take(one.pod, l.rooms.need(one.pod))
		l.count(one.room, one.pod, 1)
	}
}

// open opens the machines of a step, and closes its nodes.
func (l *landings) open(st *Step) {
	for _, name := range st.Nodes {
		l.going[name] = true
	}
	l.rooms.list = append(l.rooms.list, st.rooms...)
}

// undo takes back that a step was taken.
func (l *landings) undo(st *Step) {
	for _, name := range st.Nodes {
		delete(l.going, name)
	}
	for _, one := range st.landings {
		one.room.give(one.pod, l.rooms.need(one.pod))
		l.count(one.room, one.pod, -1)
	}
	l.rooms.list = slices.DeleteFunc(l.rooms.list, func(m *room) bool { return slices.Contains(st.rooms, m) })
}

// room is that of a machine which is bought for a step, without the pods that were planned for it.
func (l *landings) room(st *Step, m *pack.Machine) *room {
	free := m.Allocatable.Minus(m.Used)
	for _, i := range m.Pods {
		at := st.Places[i]
		moves := l.source(at.From).Moves
		k := slices.IndexFunc(moves, func(m Move) bool { return m.Pod.PodKey == at.Pod })
		free = free.Plus(moves[k].Pod.Template.Requests)
	}
	return &room{node: &cluster.Node{}, zone: m.Candidates[0].Zone, all: l.rooms.space.Vector(m.Allocatable), free: l.rooms.space.Vector(free), like: map[*cluster.Template]int{}}
}

// land takes the room that kube-scheduler prefers for a pod, and returns it; nil if there is none.
// Machines are open to all pods: they were bought for pods of the same nodes.
func (l *landings) land(t *cluster.Template) *room {
	k := l.rooms.kind(t)
	if k.never {
		return nil
	}
	var among []*room
	for i, m := range l.rooms.list {
		if _, fits := m.after(k.need); fits && (i >= l.nodes || l.rooms.admits(k, t, i, m.zone)) && !l.going[m.node.Name] {
			among = append(among, m)
		}
	}
	l.done += seekSteps*int64(len(l.rooms.list)) + landSteps*int64(len(among))
	if len(among) == 0 {
		return nil
	}
	at := l.preferred(t, k.need, among)
	at.take(t, k.need)
	l.count(at, t, 1)
	return at
}

// price is that of machines for pods of a step without a place, and how many they are; false where one of them would wait
// for ever. What they ask of pods on nodes is not known here, so that it counts as not met.
func (l *landings) price(st *Step, left []*cluster.Pod) (price offer.Price, machines int, ok bool) {
	if len(left) == 0 {
		return 0, 0, true
	}
	p, snapshot := l.Base, *l.Base.Snapshot
	snapshot.Nodes, snapshot.Pods = nil, nil
	p.Snapshot, p.Leaving, p.Pods, p.Trials = &snapshot, nil, nil, groupTrials
	if len(st.Machines) == 0 { // else these take what limits allow in the place of the nodes
		p.Charged = maps.Clone(p.Charged)
		for _, name := range st.Nodes {
			n := l.source(name).Node
			if has, limited := p.Charged[n.Provisioner]; limited {
				p.Charged[n.Provisioner] = has.Minus(n.Capacity.OfNode())
			}
		}
	}
	for _, pod := range left {
		p.Pods = append(p.Pods, pack.Demand{Pod: pod, From: pod.NodeName})
	}
	layout := l.solve(&p)
	for i := range layout.Machines {
		price += layout.Machines[i].Cost
	}
	return price, len(layout.Machines), !slices.ContainsFunc(layout.Places, func(at pack.Place) bool { return !at.Placed() })
}
