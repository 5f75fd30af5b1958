package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
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
		m.class.Refusals++
		if m.site.Machine {
			s.Machines[m.site.Index] = s.withdrawFromMachine(s.Machines[m.site.Index], m)
		} else {
			s.withdrawFromNode(&s.OnNodes[m.place], m)
		}
	}
	if !some {
		return false
	}
	s.Machines = slices.DeleteFunc(s.Machines, func(m *assign.Machine) bool { return len(m.Pods) == 0 })
	s.OnNodes = slices.DeleteFunc(s.OnNodes, func(p assign.NodePlacement) bool { return p.N == 0 })
	for i, n := range s.ExistingNodes {
		n.Counts = slices.Clone(s.HostBefore[i])
	}
	for _, p := range s.OnNodes {
		p.Node.Counts = p.Node.Counts.Plus(p.Class.PerNode, p.N)
	}
	return true
}

func (s replayer) withdrawFromNode(p *assign.NodePlacement, m *move) {
	p.N -= m.left
	model.AddTimes(p.Node.Free, p.Class.Need, m.left)
	s.Release(p.Class, p.Pods[p.N:])
	p.Pods = p.Pods[:p.N]
}

func (s replayer) withdrawFromMachine(old *assign.Machine, m *move) *assign.Machine {
	out := old.Clone()
	out.Pods, out.Placed, out.Ahead = slices.Clone(old.Pods), slices.Clone(old.Placed), 0
	end := int64(0)
	for _, p := range out.Placed[:m.place+1] {
		end += p.N
	}
	s.Release(m.class, out.Pods[end-m.left:end])
	out.Pods = slices.Delete(out.Pods, int(end-m.left), int(end))
	p := &out.Placed[m.place]
	p.N -= m.left
	model.AddTimes(out.Used, p.Class.Need, -m.left)
	out.Itemise(p.Group)
	out.Host = s.State.DaemonCounts(&s.Offerings[out.Offering])
	for _, p := range out.Placed {
		out.Host = out.Host.Plus(p.Class.PerNode, p.N)
	}
	if len(out.Pods) > 0 {
		s.Refresh(out)
		left := s.Remaining()
		left.Spend(&s.Offerings[out.Offering], -1)
		s.Shrink(out, func(col *model.Offering) bool { return left.Affords(col, 1) > 0 })
	}
	return out
}
