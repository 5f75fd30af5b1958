package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// withdraw takes the places of the pods that were not brought to them, and reports
// whether there are any. Machines that are left without a pod are not bought.
func (s replayer) withdraw(moves []*move) bool {
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

func (s replayer) withdrawFromNode(p *nodePlacement, m *move) {
	p.n -= m.left
	model.AddTimes(p.node.free, p.class.Need, m.left)
	s.release(p.class, p.pods[p.n:])
	p.pods = p.pods[:p.n]
}

func (s replayer) withdrawFromMachine(old *machine, m *move) *machine {
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
