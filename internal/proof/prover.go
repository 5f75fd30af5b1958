// Package proof states an assignment as the problem of its lower bound.
package proof

import (
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bound"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// Prover proves how much cheaper an assignment could be at most.
type Prover struct{ *assign.Assignment }

// LowerBound returns a price that no layout which places the same pods under the same
// requirements can undercut; 0 where nothing is proven.
func (pr Prover) LowerBound() offer.Price {
	pr.Effort.Others()
	classes := pr.placedClasses()
	if len(classes) == 0 || len(pr.Machines()) == 0 {
		return 0
	}
	b := pr.newProblem(classes, nil)
	zones := b.alternatives()
	out, spent := bound.Price(&b.Problem)
	if float64(out) < pr.Price() && len(zones) > 1 {
		least := int64(math.MaxInt64)
		for _, only := range zones {
			of := pr.newProblem(classes, only)
			of.Operations = min(b.Operations/2, max(0, b.Operations-spent)) / len(zones)
			price, _ := bound.Price(&of.Problem)
			least = min(least, price)
		}
		out = max(out, least)
	}
	return offer.Price(out)
}

// Price is that of the machines together.
func (pr Prover) Price() float64 {
	sum := int64(0)
	for _, m := range pr.Machines() {
		sum += pr.Offerings[m.Offering].Price
	}
	return float64(sum)
}

// placedClass is a number of pods of a class that have a place at a level, and the
// offerings that could have been bought for them.
type placedClass struct {
	classAt
	n    int64
	opt  *model.Options
	mask model.Bitset
	// least is the lowest weight of a Provisioner from which the plan buys for them.
	least int32
	// lump is how many pods have to be on one node together: all, or 1.
	lump int64
	// others say what the pods may use by their other node selector terms.
	others []placedClass
	first  model.Bitset // see highest
}

type classAt struct {
	class *assign.Class
	level assign.Level
}

// need returns what a lump needs.
func (p *placedClass) need() []int64 {
	if p.lump == 1 {
		return p.class.Need
	}
	out := make([]int64, len(p.class.Need))
	model.AddTimes(out, p.class.Need, p.lump)
	return out
}

// placedClasses lists the classes with pods that have a place. The domain that a
// pod was planned in was our choice, so the offerings of all domains count.
func (pr Prover) placedClasses() []placedClass {
	at := map[classAt]int{}
	var out []placedClass
	add := func(of classAt, n int64, g *assign.PodGroup) *placedClass {
		i, ok := at[of]
		if !ok {
			i = len(out)
			at[of] = i
			out = append(out, pr.placedClass(of, g))
		}
		out[i].n += n
		return &out[i]
	}
	for _, m := range pr.Machines() {
		for _, it := range m.Placed {
			p := add(classAt{it.Class, it.Level}, it.N, it.Group)
			p.least = min(p.least, m.Pool.Weight)
			if !p.mask.Has(m.Offering) && !pr.Offerings[m.Offering].Special {
				// It took room that was left on a machine of a type that is not bought for it.
				p.mask = pr.Fitting(it.Class.Need, it.Class.PerNode, true, p.opt)
				p.mask.Add(m.Offering)
			}
		}
	}
	for _, p := range pr.OnNodes() {
		add(classAt{p.Class, p.Level}, p.N, nil)
	}
	pr.findLumps(out)
	return out
}

func (pr Prover) placedClass(of classAt, g *assign.PodGroup) placedClass {
	out := pr.byTerm(of, g)
	for place := range of.class.Places {
		if place == of.level.Place {
			continue
		}
		at := classAt{of.class, assign.Level{Place: place, Relaxed: of.level.Relaxed}}
		requires, _ := of.class.RequiresAt(at.level)
		if _, bad := requires.Unmeetable(); !bad {
			out.others = append(out.others, pr.byTerm(at, nil))
		}
	}
	return out
}

// byTerm says what the pods may use by the node selector term of the level.
func (pr Prover) byTerm(of classAt, g *assign.PodGroup) placedClass {
	c := of.class
	requires, honour := c.RequiresAt(of.level)
	out := placedClass{classAt: of, least: math.MaxInt32, lump: 1}
	out.opt = pr.OptionsFor(requires, c.Template.Tolerations, c.Tolerates, honour)
	if g != nil && len(g.Parts) == 1 && g.Opt == out.opt && (c.AllowDevices || !g.Mask.Meets(pr.Special)) {
		out.mask = g.Mask
	} else {
		out.mask = pr.Fitting(c.Need, c.PerNode, c.AllowDevices, out.opt)
	}
	return out
}

// findLumps finds classes all pods of which have to be on one node: each must be with
// others of its group, and no other pod belongs to that.
func (pr Prover) findLumps(placed []placedClass) {
	for i := range placed {
		p := &placed[i]
		if len(p.class.Follows()) == 0 || !pr.onOne(p) {
			continue
		}
		alone := !slices.ContainsFunc(p.class.Follows(), func(f *topology.NodeAffinity) bool {
			others := slices.ContainsFunc(placed, func(o placedClass) bool {
				return o.classAt != p.classAt && o.class.Belongs(f.Group())
			})
			return !f.Self() || others || pr.Start.Tallies[f.Group()].Total > 0 || pr.State.CountsDaemons(f.Group())
		})
		if alone {
			p.lump, p.mask = p.n, p.mask.Clone()
			pr.KeepRoomy(p.mask, p.need())
		}
	}
}

// onOne reports whether one node or machine has all pods of a class.
func (pr Prover) onOne(p *placedClass) bool {
	all := func(of *assign.Placement) bool { return of.Class == p.class && of.Level == p.level && of.N == p.n }
	for i := range pr.OnNodes() {
		if all(&pr.OnNodes()[i].Placement) {
			return true
		}
	}
	return slices.ContainsFunc(pr.Machines(), func(m *assign.Machine) bool {
		return slices.ContainsFunc(m.Placed, func(of assign.Placement) bool { return all(&of) })
	})
}

// weighed returns the offerings of the Provisioners that the class may be bought for from
// by their weights: those of the highest weight that can take it, in each domain unless the
// class is free to choose one, and those of lower weights of which it is known what they may be
// paid, or where limits bind or the plan has gone down to them.
func (b *problem) weighed(p *placedClass) model.Bitset {
	a := b.s
	out := b.highest(p).Clone()
	for i, tier := range a.Tiers() {
		if b.paid[i] || b.tied(p) || tier[0].Weight >= p.least {
			for _, pool := range tier {
				out.Join(pool.Mask)
			}
		}
	}
	return out
}

// highest returns the offerings of the highest weight that can take the class, in each domain
// unless the class is free to choose one, and those of lower weights where limits bind.
func (b *problem) highest(p *placedClass) model.Bitset {
	if p.first != nil {
		return p.first
	}
	a := b.s
	p.first = model.NewBitset(len(a.Offerings))
	if len(p.class.Keys) == 0 || b.choosesZone(p) {
		a.AddHighest(p.first, p.mask)
		return p.first
	}
	for _, at := range a.CombinationsOf(p.opt, p.class.Keys) {
		within := a.PinnedTo(p.opt, &at).Offerings.Clone()
		within.Keep(p.mask)
		a.AddHighest(p.first, within)
	}
	return p.first
}

// tied reports whether the class shares nodes with another one, so that it is for both
// to say which Provisioner can take them.
func (b *problem) tied(p *placedClass) bool {
	return len(p.class.Follows()) > 0 && p.lump == 1 || slices.ContainsFunc(b.followers, func(o *assign.Class) bool {
		return o != p.class && b.s.FollowsClass(o, p.class)
	})
}
