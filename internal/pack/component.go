package pack

import "slices"

// Pods that a constraint ties together are one component: their classes have to do with
// the same groups. What happens in one component does not matter to another, so that
// only those are confirmed of which a pod may be refused.

// components tell which groups belong together, by the first of each.
type components []int

func (s *solver) components() components {
	out := make(components, len(s.groups.list))
	for i := range out {
		out[i] = i
	}
	for _, c := range s.classes {
		out.join(c.groups())
	}
	for i := range s.daemons {
		out.join(s.daemons[i].groups())
	}
	for _, r := range s.running {
		out.join(r.groups())
	}
	return out
}

// of returns the first group of a component.
func (t components) of(group int) int {
	for t[group] != group {
		t[group] = t[t[group]]
		group = t[group]
	}
	return group
}

func (t components) join(groups []int) {
	for _, g := range groups {
		a, b := t.of(g), t.of(groups[0])
		t[max(a, b)] = min(a, b)
	}
}

// groups lists the groups that the class has to do with.
func (c *class) groups() []int {
	out := groupsOf(c.host, c.member, c.exact)
	for _, bonds := range [][]bond{c.follows, c.repels, c.attracts} {
		for _, b := range bonds {
			out = append(out, b.group)
		}
	}
	for i := range c.spreads {
		out = append(out, c.spreads[i].group)
	}
	for i := range c.apart {
		out = append(out, c.apart[i].group)
	}
	return out
}

func (r *resident) groups() []int {
	return append(append(groupsOf(r.host, r.member, nil), r.repels...), r.anti...)
}

func groupsOf(host []touch, member []int, exact []touch) []int {
	out := slices.Clone(member)
	for _, list := range [][]touch{host, exact} {
		for _, t := range list {
			out = append(out, t.group)
		}
	}
	return out
}

// doubt lists the classes of which a pod may be refused where it is planned.
type doubt map[*class]bool

// doubted finds the components that must be replayed: where pods have no place, a lot was
// not bought that had been counted, pods come together, or groups look at what is not
// known before a machine's type is. In the others kube-scheduler takes every pod where
// it is planned if they come in the order in which they were placed: each was let in
// after those before it, of which none was taken back.
func (s *solver) doubted() doubt {
	together, marked := s.components(), make([]bool, len(s.groups.list))
	mark := func(groups []int) {
		for _, g := range groups {
			marked[together.of(g)] = true
		}
	}
	for i, g := range s.groups.list {
		if g.selective() {
			mark([]int{i})
		}
	}
	for i := range s.daemons {
		if s.daemons[i].counted() {
			mark(s.daemons[i].groups())
		}
	}
	planned := map[string][]string{}
	for _, c := range s.classes {
		if c.left > 0 && !c.never.Missed() || c.tookBack || c.refusals > 0 || len(c.follows) > 0 || s.surprised(c, planned) {
			mark(c.groups())
		}
	}
	out := doubt{}
	for _, c := range s.classes {
		if slices.ContainsFunc(c.groups(), func(g int) bool { return marked[together.of(g)] }) {
			out[c] = true
		}
	}
	return out
}

// surprised reports whether machines are planned in domains that a spread of the class
// did not know of. What is planned is kept by topology key.
func (s *solver) surprised(c *class, planned map[string][]string) bool {
	for i := range c.spreads {
		key, known := s.groups.list[c.spreads[i].group].key, s.domains(c, &c.spreads[i])
		if planned[key] == nil {
			planned[key] = s.plannedValues(key)
		}
		if slices.ContainsFunc(planned[key], func(v string) bool { return !slices.Contains(known, v) }) {
			return true
		}
	}
	return false
}
