package pack

import "slices"

// restoreSpread is the last check of spreads: where limits or capacity left
// domains uneven, pods beyond what the spread allows lose their place again,
// those on machines before those on nodes that exist.
func (s *solver) restoreSpread() {
	for s.withdrawOne() {
	}
	s.machines = slices.DeleteFunc(s.machines, func(m *machine) bool { return len(m.pods) == 0 })
	s.onNodes = slices.DeleteFunc(s.onNodes, func(p nodePlacement) bool { return p.n == 0 })
}

// withdrawOne takes the place of one pod that is beyond its spread.
func (s *solver) withdrawOne() bool {
	for i, v := range slices.Backward(s.machines) {
		for k, p := range v.placed {
			if key := s.overSpread(p, p.lot.at); key != "" {
				s.withdraw(i, k, key)
				return true
			}
		}
	}
	for i := len(s.onNodes) - 1; i >= 0; i-- {
		p := &s.onNodes[i]
		at := spotOver(p.class.keys, p.node)
		if key := s.overSpread(p.placement, at); key != "" {
			requires, _ := p.class.requires(p.level)
			s.enter(p.class, at, requires, -1, p.node)
			addTimes(p.node.free, p.class.need, 1)
			s.strand(p.pods[p.n-1], key)
			p.n--
			return true
		}
	}
	return false
}

// overSpread returns the topology key over which the domain has more pods than
// the class's spread allows.
func (s *solver) overSpread(p placement, at *spot) string {
	if at == nil || p.n == 0 || p.lot != nil && len(p.lot.parts) > 1 {
		return ""
	}
	_, dropped := p.class.alternative(p.level)
	for i := range p.class.spreads {
		sp := &p.class.spreads[i]
		if sp.drop >= 0 && sp.drop < dropped || sp.self == 0 {
			continue
		}
		g := s.groups.list[sp.group]
		if value, ok := at.value(g.key); ok && g.count[value]-s.fewest(p.class, sp) > sp.maxSkew {
			return g.key
		}
	}
	return ""
}

// withdraw takes one pod of a placement off a machine.
func (s *solver) withdraw(i, k int, key string) {
	m := s.machines[i].clone()
	m.pods, m.placed = slices.Clone(m.pods), slices.Clone(m.placed)
	end := 0
	for _, p := range m.placed[:k+1] {
		end += int(p.n)
	}
	s.strand(m.pods[end-1], key)
	m.pods = slices.Delete(m.pods, end-1, end)
	m.placed[k].n--
	l := m.placed[k].lot
	j := slices.IndexFunc(m.items, func(it item) bool { return it.lot == l })
	m.items[j].n--
	addTimes(m.used, l.need, -1)
	s.machines[i] = m
	s.leave(l, 1)
}

// strand leaves a pod without a place.
func (s *solver) strand(pod int, key string) {
	s.places[pod] = Place{Machine: -1, Reason: "topology spread over " + key + " would be exceeded: other domains have no room"}
}
