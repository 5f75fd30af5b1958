package place

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// Pods with a required affinity over the host name must share a node with others.
// Those for which no node that exists has both the others and room are bundled
// with pods that are pending too: all followers, and one pod of each class that
// they follow. A bundle that no machine holds is split into several, as long as
// there are pods to follow for each.

// Bundle places the followers among the classes: on nodes that exist, or else in
// pod groups of items that are bought for together. Those that come later may be followed, too.
func (pl *Placer) Bundle(open, later []*assign.Class) []*assign.PodGroup {
	var followers []*assign.Class
	var groups []*assign.PodGroup
	for _, c := range open {
		if len(c.Follows()) > 0 {
			groups = append(groups, pl.place(c, c.Level)...)
			if c.Open() > 0 {
				followers = append(followers, c)
			}
		}
	}
	targets := slices.Concat(open, later)
	for len(followers) > 0 {
		var together []*assign.Class
		together, followers = pl.component(followers, targets)
		groups = append(groups, pl.bundleGroups(together, targets)...)
	}
	return groups
}

// component splits off the followers that are tied to the first one, because
// one follows the other or both follow the same class.
func (pl *Placer) component(followers, open []*assign.Class) (together, rest []*assign.Class) {
	together = append(together, followers[0])
	rest = append(rest, followers[1:]...)
	for grown := true; grown; {
		grown = false
		for i, c := range rest {
			if slices.ContainsFunc(together, func(t *assign.Class) bool { return pl.tied(c, t, open) }) {
				together = append(together, c)
				rest = slices.Delete(rest, i, i+1)
				grown = true
				break
			}
		}
	}
	return together, rest
}

func (pl *Placer) tied(a, b *assign.Class, open []*assign.Class) bool {
	if pl.FollowsClass(a, b) || pl.FollowsClass(b, a) {
		return true
	}
	return slices.ContainsFunc(open, func(c *assign.Class) bool { return pl.FollowsClass(a, c) && pl.FollowsClass(b, c) })
}

// bundleGroups returns the pod groups of one component: for all its pods, or for those for
// which there is a way.
func (pl *Placer) bundleGroups(together, open []*assign.Class) []*assign.PodGroup {
	targets, most, ok := pl.targets(together, open)
	if ok && pl.itemOnNode(share(together, targets, 1, 0)) {
		return nil
	}
	for times := int64(1); ok && times <= most; times += max(1, times/2) {
		if groups := pl.split(together, targets, times); groups != nil {
			for _, g := range groups {
				g.Book()
			}
			return groups
		}
	}
	return pl.bundleSome(together, open)
}

// targets returns the classes of which every bundle needs a pod, and how many
// bundles there can be at most.
func (pl *Placer) targets(together, open []*assign.Class) (targets []*assign.Class, most int64, ok bool) {
	most = 1 << 40
	for _, c := range together {
		for _, f := range c.Follows() {
			g := pl.State.List[f.Group()]
			has := func(t *assign.Class) bool { return g.Matches(t.Template) }
			switch i := slices.IndexFunc(open, func(t *assign.Class) bool { return len(t.Follows()) == 0 && t.Open() > 0 && has(t) }); {
			case slices.ContainsFunc(targets, has):
			case i >= 0:
				targets = append(targets, open[i])
				most = min(most, open[i].Open())
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
		most = min(most, max(1, c.Left))
	}
	return targets, most, true
}

// split distributes the followers over so many bundles, each with one pod of each
// target; nil where one of them fits nowhere.
func (pl *Placer) split(together, targets []*assign.Class, times int64) []*assign.PodGroup {
	var groups []*assign.PodGroup
	for i := range times {
		g := pl.item(share(together, targets, times, i))
		if g == nil {
			for _, g := range groups {
				pl.Uncount(g, g.N)
			}
			return nil
		}
		if len(groups) > 0 && groups[len(groups)-1].Equal(g) {
			groups[len(groups)-1].N++
		} else {
			groups = append(groups, g)
		}
	}
	return groups
}

// share returns the parts of bundle i of so many: an even share of the followers
// and one pod of each target.
func share(together, targets []*assign.Class, times, i int64) []assign.Part {
	var parts []assign.Part
	for _, c := range together {
		if n := (c.Open() + times - 1 - i) / times; n > 0 {
			parts = append(parts, assign.Part{Class: c, Level: c.Level, N: n})
		}
	}
	for _, c := range targets {
		parts = append(parts, assign.Part{Class: c, Level: c.Level, N: 1})
	}
	return parts
}

// itemOnNode places one item on a node that exists, if there is one for it.
func (pl *Placer) itemOnNode(parts []assign.Part) bool {
	for i := range pl.Existing() {
		if pl.onNode(parts, i) {
			pl.putAll(parts, i)
			return true
		}
	}
	return false
}

// takes reports whether a node matches and has room for all parts together.
func (pl *Placer) takes(parts []assign.Part, i int) bool {
	n := pl.Existing()[i]
	if n.HostLess() {
		return false
	}
	need, h := make([]int64, len(n.Free)), slices.Clone(n.Counts)
	for _, p := range parts {
		requires, honour := p.Class.RequiresAt(p.Level)
		if !pl.Matches(pl.OptionsFor(requires, p.Class.Template.Tolerations, p.Class.Tolerates, honour), i) {
			return false
		}
		model.AddTimes(need, p.Class.Need, p.N)
		if h.Room(p.Class.PerNode, p.N) < p.N {
			return false
		}
		h = h.Plus(p.Class.PerNode, p.N)
	}
	return model.Fits(need, n.Free)
}

// keysOf lists the topology keys, other than the host name, that matter to the parts.
func keysOf(parts []assign.Part) []string {
	var keys []string
	for _, p := range parts {
		keys = append(keys, p.Class.Keys...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// item returns a pod group of one item of the parts, in a domain where all may be.
func (pl *Placer) item(parts []assign.Part) *assign.PodGroup {
	g := &assign.PodGroup{Parts: parts, N: 1, Need: make([]int64, len(pl.Space.Names))}
	var h topology.NodeCounts
	devices := false
	for _, p := range parts {
		model.AddTimes(g.Need, p.Class.Need, p.N)
		g.Size += float64(p.N) * p.Class.Size
		devices = devices || p.Class.AllowDevices
		if h.Room(p.Class.PerNode, p.N) < p.N {
			return nil
		}
		h = h.Plus(p.Class.PerNode, p.N)
	}
	g.PerNode = h.Together()
	keys := keysOf(parts)
	if len(keys) == 0 {
		g.Opt = pl.jointOptions(parts, nil)
		g.Mask = pl.FittingItem(g, devices)
		if _, ok := pl.BestRank(g.Mask, pl.Remaining()); !ok {
			g.Limit(!g.Mask.Empty())
			return nil
		}
		return g
	}
	return pl.itemInDomain(g, keys, devices)
}

// itemInDomain gives the item the cheapest domain that its parts may enter.
func (pl *Placer) itemInDomain(g *assign.PodGroup, keys []string, devices bool) *assign.PodGroup {
	var best *assign.PodGroup
	var price assign.Rank
	left := pl.Remaining()
	pl.Effort.Begin(g.Parts[0].Class.Account)
	for _, at := range pl.CellsOf(pl.jointOptions(g.Parts, nil), keys) {
		try := *g
		try.At = &topology.DomainAssignment{Keys: keys, Domains: at.Domains}
		var pin match.Requirements
		for i, key := range keys {
			pin = pin.With(key, at.Domains[i].Set())
		}
		try.Opt = pl.jointOptions(g.Parts, pin)
		if try.Mask = pl.FittingItem(&try, devices); try.Mask.Empty() {
			continue
		}
		p, ok := pl.BestRank(try.Mask, left)
		if !ok {
			g.Limit(true)
			continue
		}
		p.Elsewhere = pl.elsewhere(g.Parts[0].Class, keys, at.Domains)
		if (best == nil || p.Compare(price) < 0) && pl.enterAll(&try) {
			pl.Uncount(&try, 1)
			best, price = &try, p
		}
	}
	if best != nil {
		pl.enterAll(best)
	}
	return best
}

// enterAll counts the parts of one item in its domain, pod by pod; it takes all
// back and reports false where one may not enter.
func (pl *Placer) enterAll(g *assign.PodGroup) bool {
	entered := make([]int64, len(g.Parts))
	for i, p := range g.Parts {
		for range p.N {
			if _, ok := pl.Admits(p.Class, g.At, p.Level.Relaxed); !ok {
				for k, n := range entered {
					pl.State.Enter(g.Parts[k].Class.Rules, g.At, g.Opt.Requires, -n)
				}
				return false
			}
			pl.State.Enter(p.Class.Rules, g.At, g.Opt.Requires, 1)
			entered[i]++
		}
	}
	return true
}

// jointOptions returns what all parts may use together, with further requirements.
func (pl *Placer) jointOptions(parts []assign.Part, pin match.Requirements) *model.Options {
	pl.joint++
	none := model.NewBitset(len(pl.Offerings))
	out := &model.Options{Offerings: none.Clone(), Any: none.Clone(), Residual: make([]int, len(pl.Pools)), ID: -pl.joint}
	for i, p := range parts {
		requires, honour := p.Class.RequiresAt(p.Level)
		requires = requires.And(pin)
		if _, bad := requires.Unmeetable(); bad {
			return &model.Options{Offerings: none, Any: none, Residual: out.Residual, ID: out.ID}
		}
		o := pl.OptionsFor(requires, p.Class.Template.Tolerations, p.Class.Tolerates, honour)
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
			merged, ok := pl.Merge(out.Residual[k], o.Residual[k])
			if !ok {
				out.Offerings.Remove(pl.Pools[k].Mask)
				out.Any.Remove(pl.Pools[k].Mask)
				continue
			}
			out.Residual[k] = merged
		}
	}
	return out
}
