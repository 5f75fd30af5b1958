package pack

import (
	"cmp"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// relateHostSpreads lets spreads over host names go further by what every node has:
// of pods of DaemonSets, which a node that joins gets at once, and on nodes where these
// do not run of the plan's.
func (s *solver) relateHostSpreads() {
	for _, c := range s.classes {
		for i := range c.apart {
			if sp := &c.apart[i]; sp.relative && s.daemonsIn(sp.group) {
				t, least := touchOf(c.host, sp.group), s.leastOnNodes(sp.group)
				t.cap += least - sp.least
				t.entry += least - sp.least
				sp.least = least
			}
		}
		c.exact = slices.Clone(c.host)
		for _, sp := range c.apart {
			touchOf(c.exact, sp.group).cap = unbounded
		}
	}
}

func touchOf(list []touch, group int) *touch {
	i, _ := slices.BinarySearchFunc(list, group, func(t touch, group int) int { return cmp.Compare(t.group, group) })
	return &list[i]
}

// counted reports whether groups that are counted by domain look at the DaemonSet's pods.
func (d daemon) counted() bool { return len(d.member)+len(d.repels) > 0 }

// daemonsIn reports whether pods of DaemonSets belong to a group counted by node.
func (s *solver) daemonsIn(group int) bool {
	return slices.ContainsFunc(s.daemons, func(d daemon) bool {
		return slices.ContainsFunc(d.host, func(t touch) bool { return t.group == group && t.self > 0 })
	})
}

// leastOnNodes returns the fewest pods of a group that any node has, among those
// that count; of a node that may join once only DaemonSets run.
func (s *solver) leastOnNodes(group int) int64 {
	g := s.groups.list[group]
	least := int64(math.MaxInt64)
	for k := range s.countingColumns(g).All {
		count, _ := s.daemonHost(&s.Offerings[k]).get(group)
		least = min(least, count)
	}
	if least == math.MaxInt64 {
		return 0
	}
	for _, n := range slices.Concat(s.nodes, s.closed) {
		if !n.HostLess() && g.counts(n.Node) {
			count, _ := n.host.get(group)
			least = min(least, count)
		}
	}
	return least
}

// countingColumns returns the columns whose nodes count for a group.
func (s *solver) countingColumns(g *group) model.Bitset {
	tolerations := g.tolerations
	if tolerations == nil {
		tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}
	places := g.nodes
	if places == nil {
		places = []match.Requirements{nil}
	}
	out := model.NewBitset(len(s.Offerings))
	for _, place := range places {
		out.Join(s.OptionsFor(place, tolerations, model.TolerationKey(tolerations), false).Offerings)
	}
	return out
}

// mindDaemons leaves out of a lot the columns on which DaemonSets put pods that the
// class must not meet, and those on which they put none that it has to be with,
// where others have one.
func (s *solver) mindDaemons(l *lot, c *class) {
	for _, f := range c.follows {
		s.keepColumns(l, func(d *daemon) bool {
			return slices.ContainsFunc(d.host, func(t touch) bool { return t.group == f.group && t.self > 0 })
		})
	}
	for i := range s.daemons {
		if d := &s.daemons[i]; s.repel(c, d) {
			l.mask.Remove(d.On)
		}
	}
	for _, b := range c.attracts {
		in := func(d *daemon) bool { return slices.Contains(d.member, b.group) && d.On.Meets(l.mask) }
		if b.drop < 0 && slices.ContainsFunc(s.daemons, func(d daemon) bool { return in(&d) }) {
			s.keepColumns(l, in)
			l.lent = append(l.lent, b.group)
		}
	}
}

// keepColumns keeps the columns that one of the DaemonSets runs on.
func (s *solver) keepColumns(l *lot, which func(*daemon) bool) {
	keep := model.NewBitset(len(s.Offerings))
	for i := range s.daemons {
		if d := &s.daemons[i]; which(d) {
			keep.Join(d.On)
		}
	}
	l.mask.Keep(keep)
}

// repel reports whether a pod of the class and one of the DaemonSet must not be in
// one domain of a key other than the host name.
func (s *solver) repel(c *class, d *daemon) bool {
	return slices.ContainsFunc(c.repels, func(b bond) bool { return b.drop < 0 && slices.Contains(d.member, b.group) }) ||
		slices.ContainsFunc(d.repels, func(id int) bool { return slices.Contains(c.member, id) })
}
