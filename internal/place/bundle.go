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
			if c.Open() > 0 && !c.Missing.Missed() {
				followers = append(followers, c)
			}
		}
	}
	members := membersOf(followers, slices.Concat(open, later))
	for _, together := range pl.components(followers, members) {
		groups = append(groups, pl.bundleGroups(together, members)...)
	}
	return groups
}

// members are the classes whose pods belong to a group that others must share a node with.
type members map[int][]*assign.Class

// membersOf returns the members, among the classes, of what the followers follow.
func membersOf(followers, classes []*assign.Class) members {
	followed := map[int]bool{}
	for _, c := range followers {
		for _, f := range c.Follows() {
			followed[f.Group()] = true
		}
	}
	out := members{}
	for _, c := range classes {
		for _, p := range c.PerNode {
			if p.Self > 0 && followed[p.Group] {
				out[p.Group] = append(out[p.Group], c)
			}
		}
	}
	return out
}

// ties lists the groups that have members and that the class follows or belongs to.
func (m members) ties(c *assign.Class) []int {
	var out []int
	for _, f := range c.Follows() {
		if len(m[f.Group()]) > 0 {
			out = append(out, f.Group())
		}
	}
	for _, p := range c.PerNode {
		if p.Self > 0 && len(m[p.Group]) > 0 {
			out = append(out, p.Group)
		}
	}
	return out
}

// components tells followers apart that have nothing to do with each other: neither follows
// the other, nor do both follow the same class.
func (pl *Placer) components(followers []*assign.Class, of members) [][]*assign.Class {
	tied := assign.NewComponents(len(pl.State.List))
	for _, c := range followers {
		tied.Join(of.ties(c))
	}
	for _, classes := range of {
		for _, c := range classes {
			tied.Join(of.ties(c))
		}
	}
	var out [][]*assign.Class
	known := map[int]int{}
	for _, c := range followers {
		ties := of.ties(c)
		if len(ties) == 0 {
			out = append(out, []*assign.Class{c})
			continue
		}
		first := tied.Of(ties[0])
		at, ok := known[first]
		if !ok {
			at, known[first] = len(out), len(out)
			out = append(out, nil)
		}
		out[at] = append(out[at], c)
	}
	return out
}

// bundleGroups returns the pod groups of one component: for all its pods, or for those for
// which there is a way.
func (pl *Placer) bundleGroups(together []*assign.Class, of members) []*assign.PodGroup {
	pl.Effort.Begin(together[0].Account)
	targets, most, ok := pl.targets(together, of)
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
	return pl.bundleSome(together, of)
}

// targets returns the classes of which every bundle needs a pod, and how many
// bundles there can be at most.
func (pl *Placer) targets(together []*assign.Class, of members) (targets []*assign.Class, most int64, ok bool) {
	most = 1 << 40
	for _, c := range together {
		for _, f := range c.Follows() {
			pl.Effort.Spend(len(together) + len(of[f.Group()]))
			has := func(t *assign.Class) bool { return t.Belongs(f.Group()) }
			switch i := slices.IndexFunc(of[f.Group()], func(t *assign.Class) bool { return len(t.Follows()) == 0 && t.Open() > 0 }); {
			case slices.ContainsFunc(targets, has):
			case i >= 0:
				target := of[f.Group()][i]
				targets, most = append(targets, target), min(most, target.Open())
			case slices.ContainsFunc(together, has):
				if pl.State.List[f.Group()].Total > 0 && f.Self() {
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
		var g *assign.PodGroup
		if pl.mayGoOn(together[0]) {
			g = pl.item(share(together, targets, times, i))
		}
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
		if pl.mayGoOn(parts[0].Class) && pl.onNode(parts, i) {
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
		pl.Effort.Spend(model.StepsToMatch + len(p.Class.PerNode))
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
		g.Size += float64(float64(p.N) * p.Class.Size)
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
	for _, at := range pl.CombinationsOf(pl.jointOptions(g.Parts, nil), keys) {
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

// stepsToJoin is the effort of what one part requires beside others.
const stepsToJoin = 16

// jointOptions returns what all parts may use together, with further requirements.
func (pl *Placer) jointOptions(parts []assign.Part, pin match.Requirements) *model.Options {
	pl.joint++
	pl.Effort.Spend(len(parts) * (stepsToJoin + len(pl.Offerings)/64 + len(pl.Pools)))
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
