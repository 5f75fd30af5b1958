package pack

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// replayAll replays the plan until nothing is refused, and reports whether anything
// was.
func (co confirmation) replayAll() (nodes []*replayNode, refused bool) {
	d := co.doubted()
	for {
		nodes = co.nodes()
		r := co.newReplay(nodes, d)
		if r.evident() {
			return nodes, refused
		}
		nodes = co.nodes()
		r = co.newReplay(nodes, d)
		r.run()
		if !co.withdraw(r.moves) {
			return nodes, refused
		}
		refused = true
		co.RelateNodeSpreads()
	}
}

// move is a number of pods of a class that the plan puts on a node or a machine.
type move struct {
	class *assign.Class
	node  *replayNode
	at    *topology.DomainAssignment
	place int // index in OnNodes, or in Placed of the machine
	left  int64
	n     int64
}

// replay takes the pods of a plan to their places one at a time, by the rules of
// kube-scheduler.
type replay struct {
	confirmation
	doubt  doubt
	moves  []*move // of components in doubt
	choosy []*move // those with rules of their own
	others []*move
}

func (co confirmation) newReplay(nodes []*replayNode, d doubt) *replay {
	r := &replay{confirmation: co, doubt: d}
	byNode := map[*model.Node]*replayNode{}
	for _, at := range nodes {
		byNode[at.Node] = at
	}
	for i := range co.OnNodes() {
		p := &co.OnNodes()[i]
		r.add(&p.Placement, byNode[p.Node.Node], i)
	}
	for _, at := range nodes {
		if at.machine {
			for i := range co.Machines()[at.index].Placed {
				r.add(&co.Machines()[at.index].Placed[i], at, i)
			}
		}
	}
	order := map[*assign.Class]int{}
	for i, c := range co.Classes() {
		order[c] = i
	}
	for _, moves := range [][]*move{r.choosy, r.others} {
		slices.SortStableFunc(moves, func(a, b *move) int { return cmp.Compare(order[a.class], order[b.class]) })
	}
	views := make([]*topology.NodeView, len(nodes))
	for i, at := range nodes {
		views[i] = at.NodeView
	}
	co.State.Plan(views, co.Rules())
	return r
}

func (r *replay) add(p *assign.Placement, at *replayNode, place int) {
	c := p.Class
	if p.N == 0 || c.Free() {
		return // nothing that others do matters to it, nor it to others
	}
	if !r.doubt[c] {
		r.State.Place(c.Rules, at.NodeView, topology.AssignmentOf(c.Keys, at.Node), p.N)
		return
	}
	m := &move{class: c, node: at, at: topology.AssignmentOf(c.Keys, at.Node), place: place, left: p.N, n: p.N}
	r.moves = append(r.moves, m)
	if c.OrderMatters() {
		r.choosy = append(r.choosy, m)
	} else {
		r.others = append(r.others, m)
	}
}

// evident reports whether nothing can be refused, because all rules hold even when
// every pod is there. What depends on the order of the pods is not evident.
func (r *replay) evident() bool {
	for _, m := range r.moves {
		if m.class.NeedsCompany() {
			return false
		}
		r.State.Place(m.class.Rules, m.node.NodeView, m.at, m.n)
	}
	return !slices.ContainsFunc(r.moves, func(m *move) bool {
		r.State.Place(m.class.Rules, m.node.NodeView, m.at, -1)
		ok := r.accepts(m.class, m.node, m.at)
		r.State.Place(m.class.Rules, m.node.NodeView, m.at, 1)
		return !ok
	})
}

// run brings the pods to their places. First those that are spread or follow others,
// by turns, so that spreads stay even; pods without such rules only once the others
// need them, since these might be in their way.
func (r *replay) run() {
	choosy, others := r.choosy, r.others
	for {
		choosy = r.turns(choosy)
		for len(others) > 0 && others[0].left == 0 {
			others = others[1:]
		}
		if len(choosy) == 0 || !slices.ContainsFunc(others, r.step) {
			break
		}
	}
	r.turns(others)
}

// turns brings one pod of each move after the other as long as that goes, and returns
// the moves with pods that are left.
func (r *replay) turns(moves []*move) []*move {
	for some := true; some; {
		some = false
		var left []*move
		for _, m := range moves {
			some = r.step(m) || some
			if m.left > 0 {
				left = append(left, m)
			}
		}
		moves = left
	}
	return moves
}

// step brings one pod, if there is one and its place takes it.
func (r *replay) step(m *move) bool {
	if m.left == 0 || !r.accepts(m.class, m.node, m.at) {
		return false
	}
	r.State.Place(m.class.Rules, m.node.NodeView, m.at, 1)
	m.left--
	return true
}

// withdraw takes the places of the pods that were not brought to them, and reports
// whether there are any.
func (co confirmation) withdraw(moves []*move) bool {
	var list []assign.Withdrawal
	for _, m := range moves {
		if m.left > 0 {
			m.class.Refused = true
			list = append(list, m.withdrawal())
		}
	}
	if len(list) == 0 {
		return false
	}
	co.Withdraw(list)
	return true
}

// withdrawal takes the pods that were not brought to their place from there.
func (m *move) withdrawal() assign.Withdrawal {
	if m.node.machine {
		return assign.Withdrawal{Machine: true, Index: m.node.index, Placed: m.place, N: m.left}
	}
	return assign.Withdrawal{Index: m.place, N: m.left}
}
