package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// withdraw takes the places of the pods that were not brought to them, and reports
// whether there are any. Machines that are left without a pod are not bought.
func (s *solver) withdraw(moves []*move) bool {
	some := false
	for _, m := range slices.Backward(moves) { // so that places keep their index
		if m.left == 0 {
			continue
		}
		some = true
		m.class.refusals++
		if m.site.machine {
			s.machines[m.site.index] = s.withdrawFromMachine(s.machines[m.site.index], m)
		} else {
			s.withdrawFromNode(&s.onNodes[m.place], m)
		}
	}
	if !some {
		return false
	}
	s.machines = slices.DeleteFunc(s.machines, func(m *machine) bool { return len(m.pods) == 0 })
	s.onNodes = slices.DeleteFunc(s.onNodes, func(p nodePlacement) bool { return p.n == 0 })
	for i, n := range s.nodes {
		n.Counts = slices.Clone(s.hostBefore[i])
	}
	for _, p := range s.onNodes {
		p.node.Counts = p.node.Counts.Plus(p.class.PerNode, p.n)
	}
	return true
}

func (s *solver) withdrawFromNode(p *nodePlacement, m *move) {
	p.n -= m.left
	model.AddTimes(p.node.free, p.class.Need, m.left)
	s.release(p.class, p.pods[p.n:])
	p.pods = p.pods[:p.n]
}

func (s *solver) withdrawFromMachine(old *machine, m *move) *machine {
	out := old.clone()
	out.pods, out.placed, out.ahead = slices.Clone(old.pods), slices.Clone(old.placed), 0
	end := int64(0)
	for _, p := range out.placed[:m.place+1] {
		end += p.n
	}
	s.release(m.class, out.pods[end-m.left:end])
	out.pods = slices.Delete(out.pods, int(end-m.left), int(end))
	p := &out.placed[m.place]
	p.n -= m.left
	model.AddTimes(out.used, p.class.Need, -m.left)
	out.itemise(p.lot)
	out.host = s.state.DaemonCounts(&s.Offerings[out.column])
	for _, p := range out.placed {
		out.host = out.host.Plus(p.class.PerNode, p.n)
	}
	if len(out.pods) > 0 {
		s.refresh(out)
		left := s.budgets()
		left.spend(&s.Offerings[out.column], -1)
		s.shrink(out, func(col *model.Offering) bool { return left.affords(col, 1) > 0 })
	}
	return out
}

// itemise makes the items say what is placed of a lot of which pods have left. What
// remains of loads of several classes is no load any more.
func (m *machine) itemise(l *lot) {
	m.items = slices.DeleteFunc(m.items, func(it item) bool { return it.lot == l })
	for i := range m.placed {
		p := &m.placed[i]
		if p.lot != l {
			continue
		}
		if len(l.parts) > 1 {
			p.lot = l.only(p.class, p.level)
		}
		if p.n > 0 {
			m.items = append(m.items, item{lot: p.lot, n: p.n})
		}
	}
}

// only returns the lot of single pods of one class that are bought for like the loads.
func (l *lot) only(c *class, level level) *lot {
	return &lot{parts: []part{{class: c, level: level, n: 1}}, opt: l.opt, at: l.at, mask: l.mask, need: c.Need, host: c.PerNode, size: c.size}
}

// release makes pods of the class be without a place again.
func (s *solver) release(c *class, pods []int) {
	placed := c.pods[:int64(len(c.pods))-c.left]
	for _, pod := range pods {
		s.places[pod] = Place{Machine: -1}
		last := len(placed) - 1
		i := slices.Index(placed, pod)
		placed[i], placed[last] = placed[last], placed[i]
		placed = placed[:last]
		c.left++
	}
	slices.Sort(c.pods[int64(len(c.pods))-c.left:])
}
