package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// Pods with a required affinity over the host name must share a node with others.
// Those for which no node that exists has both the others and room are bundled
// with pods that are pending too: all followers, and one pod of each class that
// they follow. A bundle that no machine holds is split into several, as long as
// there are pods to follow for each.

// bundle places the followers among the classes: on nodes that exist, or else in
// lots of loads that are bought for together. Those that come later may be followed, too.
func (s *placer) bundle(open, later []*class) []*lot {
	var followers []*class
	var lots []*lot
	for _, c := range open {
		if len(c.Follows()) > 0 {
			lots = append(lots, s.place(c, c.level)...)
			if c.open() > 0 {
				followers = append(followers, c)
			}
		}
	}
	targets := slices.Concat(open, later)
	for len(followers) > 0 {
		var together []*class
		together, followers = s.component(followers, targets)
		lots = append(lots, s.bundleLots(together, targets)...)
	}
	return lots
}

// component splits off the followers that are tied to the first one, because
// one follows the other or both follow the same class.
func (s *placer) component(followers, open []*class) (together, rest []*class) {
	together = append(together, followers[0])
	rest = append(rest, followers[1:]...)
	for grown := true; grown; {
		grown = false
		for i, c := range rest {
			if slices.ContainsFunc(together, func(t *class) bool { return s.tied(c, t, open) }) {
				together = append(together, c)
				rest = slices.Delete(rest, i, i+1)
				grown = true
				break
			}
		}
	}
	return together, rest
}

func (s *placer) tied(a, b *class, open []*class) bool {
	if s.followsClass(a, b) || s.followsClass(b, a) {
		return true
	}
	return slices.ContainsFunc(open, func(c *class) bool { return s.followsClass(a, c) && s.followsClass(b, c) })
}

// bundleLots returns the lots of one component: for all its pods, or for those for
// which there is a way.
func (s *placer) bundleLots(together, open []*class) []*lot {
	targets, most, ok := s.targets(together, open)
	if ok && s.loadOnNode(share(together, targets, 1, 0)) {
		return nil
	}
	for times := int64(1); ok && times <= most; times += max(1, times/2) {
		if lots := s.split(together, targets, times); lots != nil {
			for _, l := range lots {
				l.book()
			}
			return lots
		}
	}
	return s.bundleSome(together, open)
}

// targets returns the classes of which every bundle needs a pod, and how many
// bundles there can be at most.
func (s *placer) targets(together, open []*class) (targets []*class, most int64, ok bool) {
	most = 1 << 40
	for _, c := range together {
		for _, f := range c.Follows() {
			g := s.state.List[f.Group()]
			has := func(t *class) bool { return g.Matches(t.Template) }
			switch i := slices.IndexFunc(open, func(t *class) bool { return len(t.Follows()) == 0 && t.open() > 0 && has(t) }); {
			case slices.ContainsFunc(targets, has):
			case i >= 0:
				targets = append(targets, open[i])
				most = min(most, open[i].open())
			case slices.ContainsFunc(together, has):
				if g.Total > 0 && f.Self() {
					return nil, 0, false // only the first pod of a group may be without company
				}
				most = 1
			default:
				return nil, 0, false
			}
		}
	}
	for _, c := range together {
		most = min(most, max(1, c.left))
	}
	return targets, most, true
}

// split distributes the followers over so many bundles, each with one pod of each
// target; nil where one of them fits nowhere.
func (s *placer) split(together, targets []*class, times int64) []*lot {
	var lots []*lot
	for i := range times {
		l := s.load(share(together, targets, times, i))
		if l == nil {
			for _, l := range lots {
				s.leave(l, l.n)
			}
			return nil
		}
		if len(lots) > 0 && lots[len(lots)-1].equal(l) {
			lots[len(lots)-1].n++
		} else {
			lots = append(lots, l)
		}
	}
	return lots
}

// share returns the parts of bundle i of so many: an even share of the followers
// and one pod of each target.
func share(together, targets []*class, times, i int64) []part {
	var parts []part
	for _, c := range together {
		if n := (c.open() + times - 1 - i) / times; n > 0 {
			parts = append(parts, part{class: c, level: c.level, n: n})
		}
	}
	for _, c := range targets {
		parts = append(parts, part{class: c, level: c.level, n: 1})
	}
	return parts
}

// loadOnNode places one load on a node that exists, if there is one for it.
func (s *placer) loadOnNode(parts []part) bool {
	for i, n := range s.nodes {
		if !s.takes(parts, i) {
			continue
		}
		l := &lot{parts: parts, opt: s.jointOptions(parts, nil), at: topology.AssignmentOf(keysOf(parts), n.Node)}
		if !s.enterAll(l) {
			continue
		}
		for _, p := range parts {
			s.put(p.class, n, p.level, p.n)
		}
		return true
	}
	return false
}

// takes reports whether a node matches and has room for all parts together.
func (s *placer) takes(parts []part, i int) bool {
	n := s.nodes[i]
	if n.HostLess() {
		return false
	}
	need, h := make([]int64, len(n.free)), slices.Clone(n.Counts)
	for _, p := range parts {
		requires, honour := p.class.requires(p.level)
		if !s.Matches(s.OptionsFor(requires, p.class.Template.Tolerations, p.class.Tolerates, honour), i) {
			return false
		}
		model.AddTimes(need, p.class.Need, p.n)
		if h.Room(p.class.PerNode, p.n) < p.n {
			return false
		}
		h = h.Plus(p.class.PerNode, p.n)
	}
	return model.Fits(need, n.free)
}

// keysOf lists the topology keys, other than the host name, that matter to the parts.
func keysOf(parts []part) []string {
	var keys []string
	for _, p := range parts {
		keys = append(keys, p.class.Keys...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// load returns a lot of one load of the parts, in a domain where all may be.
func (s *placer) load(parts []part) *lot {
	l := &lot{parts: parts, n: 1, need: make([]int64, len(s.Space.Names))}
	var h topology.NodeCounts
	devices := false
	for _, p := range parts {
		model.AddTimes(l.need, p.class.Need, p.n)
		l.size += float64(p.n) * p.class.size
		devices = devices || p.class.devices
		if h.Room(p.class.PerNode, p.n) < p.n {
			return nil
		}
		h = h.Plus(p.class.PerNode, p.n)
	}
	l.host = h.Together()
	keys := keysOf(parts)
	if len(keys) == 0 {
		l.opt = s.jointOptions(parts, nil)
		l.mask = s.fitting(l.need, l.host, devices, l.opt)
		if _, ok := s.bargainOf(l.mask, s.budgets()); !ok {
			l.limit(!l.mask.Empty())
			return nil
		}
		return l
	}
	return s.loadInDomain(l, keys, devices)
}

// loadInDomain gives the load the cheapest domain that its parts may enter.
func (s *placer) loadInDomain(l *lot, keys []string, devices bool) *lot {
	var best *lot
	var price bargain
	left := s.budgets()
	s.Effort.Begin(l.parts[0].class.Account)
	for _, at := range s.CellsOf(s.jointOptions(l.parts, nil), keys) {
		try := *l
		try.at = &topology.Assignment{Keys: keys, Domains: at.Domains}
		var pin match.Requirements
		for i, key := range keys {
			pin = pin.With(key, at.Domains[i].Set())
		}
		try.opt = s.jointOptions(l.parts, pin)
		if try.mask = s.fitting(l.need, l.host, devices, try.opt); try.mask.Empty() {
			continue
		}
		p, ok := s.bargainOf(try.mask, left)
		if !ok {
			l.limit(true)
			continue
		}
		if (best == nil || p.compare(price) < 0) && s.enterAll(&try) {
			s.leave(&try, 1)
			best, price = &try, p
		}
	}
	if best != nil {
		s.enterAll(best)
	}
	return best
}

// enterAll counts the parts of one load in its domain, pod by pod; it takes all
// back and reports false where one may not enter.
func (s *placer) enterAll(l *lot) bool {
	entered := make([]int64, len(l.parts))
	for i, p := range l.parts {
		for range p.n {
			if _, ok := s.admits(p.class, l.at, p.level.relaxed); !ok {
				for k, n := range entered {
					s.state.Enter(l.parts[k].class.Rules, l.at, l.opt.Requires, -n)
				}
				return false
			}
			s.state.Enter(p.class.Rules, l.at, l.opt.Requires, 1)
			entered[i]++
		}
	}
	return true
}

// jointOptions returns what all parts may use together, with further requirements.
func (s *placer) jointOptions(parts []part, pin match.Requirements) *model.Options {
	s.joint++
	none := model.NewBitset(len(s.Offerings))
	out := &model.Options{Offerings: none.Clone(), Any: none.Clone(), Residual: make([]int, len(s.Pools)), ID: -s.joint}
	for i, p := range parts {
		requires, honour := p.class.requires(p.level)
		requires = requires.And(pin)
		if _, bad := requires.Unmeetable(); bad {
			return &model.Options{Offerings: none, Any: none, Residual: out.Residual, ID: out.ID}
		}
		o := s.OptionsFor(requires, p.class.Template.Tolerations, p.class.Tolerates, honour)
		out.Special = out.Special || o.Special
		out.Requires = out.Requires.And(requires)
		if i == 0 {
			copy(out.Offerings, o.Offerings)
			copy(out.Any, o.Any)
			copy(out.Residual, o.Residual)
			continue
		}
		out.Offerings.Keep(o.Offerings)
		out.Any.Keep(o.Any)
		for k := range out.Residual {
			merged, ok := s.Merge(out.Residual[k], o.Residual[k])
			if !ok {
				out.Offerings.Remove(s.Pools[k].Mask)
				out.Any.Remove(s.Pools[k].Mask)
				continue
			}
			out.Residual[k] = merged
		}
	}
	return out
}
