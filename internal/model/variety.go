package model

import (
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/labelset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// A requirement with minValues asks that a launch request offers several types, or
// families, whichever of them is bought in the end. So each offering of such a Provisioner
// is planned together with others that cost as much or more, and has only the room that all
// of these have: what is planned for it fits on any of them, and pods may be on it only if
// they may be on all of them. They are chosen so that little room is lost, or, where that leaves
// none for some pods, so that these have room. What a capacity reservation has is there whatever the choice, so that it is offered alone, as by Karpenter.

// varieties chooses what is offered together.
type varieties struct {
	*Supply
	pool *Pool
	// values of the labels that are demanded, by demand and type.
	values [][][]string
	// asked are what pods require of types. Types that differ in it are not mixed, unless
	// there is no other way.
	asked match.Requirements
}

// vary makes sure that what is planned for Provisioners with minValues leaves a choice.
func (s *Supply) vary(classes []*Class) {
	var all []*varieties
	for _, p := range s.Pools {
		if p.MinValues = p.Spec.MinValues(); len(p.MinValues) == 0 || p.Offerings[0] == p.Offerings[1] {
			continue
		}
		s.varied = true
		v := &varieties{Supply: s, pool: p, asked: askedOfTypes(classes)}
		v.note()
		v.choose()
		all = append(all, v)
	}
	if !s.varied {
		return
	}
	s.varyFor(classes, all)
	clear(s.options) // what DaemonSets may be on does not depend on what is offered together
	s.Shapes = nil
	seen := map[*Shape]bool{}
	for k := range s.Offerings {
		for _, of := range []*Shape{s.Offerings[k].Shape, s.Offerings[k].Bare} {
			if of != nil && !seen[of] {
				seen[of], of.Number = true, len(s.Shapes)
				s.Shapes = append(s.Shapes, of)
			}
		}
	}
}

// askedOfTypes lists what pods require or prefer of labels that types have, and what they
// are spread over, each once.
func askedOfTypes(classes []*Class) match.Requirements {
	var out match.Requirements
	known := map[string]bool{}
	add := func(of match.Requirements) {
		for _, q := range of {
			one := match.Requirements{q}
			if key := one.String(); !offer.DecidesLabel(q.Key) && !known[key] {
				known[key] = true
				out = append(out, q)
			}
		}
	}
	for _, c := range classes {
		for _, place := range c.Places {
			add(place)
		}
		for _, p := range c.Prefers {
			add(p.Requirements)
		}
		for _, key := range topologyKeys(c.Template) {
			add(match.Requirements{{Key: key, Set: labelset.Any()}})
		}
	}
	return out
}

func topologyKeys(t *cluster.Template) []string {
	var out []string
	for i := range t.Spread {
		out = append(out, api.NormalizeLabel(t.Spread[i].TopologyKey))
	}
	return out
}

// note looks up the values of the labels that are demanded.
func (v *varieties) note() {
	p := v.pool
	allows := offeringTest(p.Requirements)
	for _, demand := range p.MinValues {
		of := make([][]string, len(p.Types))
		for i := range p.Types {
			if t := &p.Types[i]; !offer.DecidesLabel(demand.Key) {
				of[i] = t.Labels[demand.Key]
				continue
			}
			for j := range p.Types[i].Offerings {
				if o := &p.Types[i].Offerings[j]; o.Unavailable == "" && allows(o) {
					value, _ := o.Label(demand.Key)
					of[i] = append(of[i], value)
				}
			}
		}
		v.values = append(v.values, of)
	}
}

// choose gives each offering the others that are offered with it, and the room that all
// of them have.
func (v *varieties) choose() {
	var all []int
	for k := v.pool.Offerings[0]; k < v.pool.Offerings[1]; k++ {
		all = append(all, k)
	}
	with := v.among(all)
	for _, k := range all {
		v.Offerings[k].With = with(k)
	}
	for _, k := range all {
		o := &v.Offerings[k]
		o.Bare, o.Shape = o.Shape, v.shapeOf(o)
	}
}

// among returns what chooses some of these for an offering to be offered with it.
func (v *varieties) among(these []int) func(k int) []int {
	near, far := map[string][]int{}, map[string][]int{}
	for _, k := range these {
		o := &v.Offerings[k]
		far[v.wideKeyOf(o)] = append(far[v.wideKeyOf(o)], k)
		key := v.keyOf(o)
		near[key] = append(near[key], k)
	}
	return func(k int) []int {
		o := &v.Offerings[k]
		if o.Offer.Reservation != "" {
			return []int{k}
		}
		if with := v.with(k, near[v.keyOf(o)]); with != nil {
			return with
		}
		return v.with(k, far[v.wideKeyOf(o)])
	}
}

// varyFor makes sure that classes for which there is enough choice have room, as long as no other
// class loses its room by that.
func (s *Supply) varyFor(classes []*Class, all []*varieties) {
	for _, c := range classes {
		s.Effort.Begin(c.Account)
		if c.Never.Missed() || s.roomFor(c) {
			continue
		}
		harmless := func(k int, before *Offering) bool {
			return !s.Effort.Over() && !slices.ContainsFunc(classes, func(c *Class) bool {
				return !c.Never.Missed() && slices.ContainsFunc(s.optionsOf(c), func(o *Options) bool { return s.takes(o, c.Need, k, before) }) && !s.roomFor(c)
			})
		}
		for _, o := range s.optionsOf(c) {
			for _, v := range all {
				v.chooseFor(o, c.Need, harmless)
			}
		}
	}
	s.Effort.Others()
}

func (s *Supply) optionsOf(c *Class) []*Options {
	var out []*Options
	for _, place := range c.Places {
		out = append(out, s.OptionsFor(place, c.Template.Tolerations, c.Tolerates, false))
	}
	return out
}

// roomFor reports whether something that may be planned has room for a pod of the class, or nobody
// looks for it any longer.
func (s *Supply) roomFor(c *Class) bool {
	s.Effort.Spend(len(s.Offerings) / 8)
	for _, o := range s.optionsOf(c) {
		for k := range o.Any.All {
			if s.takes(o, c.Need, k, &s.Offerings[k]) {
				return true
			}
		}
	}
	return s.Effort.Over()
}

// takes reports whether offering k, as it is here, may be planned for a need with the options.
func (s *Supply) takes(o *Options, need []int64, k int, of *Offering) bool {
	return Fits(need, of.Room) && o.Any.Has(k) && (len(s.Pools[of.Pool].MinValues) == 0 || of.varies(o))
}

// chooseFor chooses once more what is offered with the cheapest offering of each place that has
// room for the need, from those that have, too.
func (v *varieties) chooseFor(o *Options, need []int64, harmless func(k int, before *Offering) bool) {
	var fit []int
	for k := range o.Any.Within(v.pool.Offerings) {
		if Fits(need, v.Offerings[k].All().Room) {
			fit = append(fit, k)
		}
	}
	v.Effort.Spend(len(fit))
	with, done, tooFew := v.among(fit), map[int]bool{}, map[string]bool{}
	for _, k := range fit {
		if v.Effort.Over() {
			return
		}
		of := &v.Offerings[k]
		if done[of.Place] || tooFew[v.wideKeyOf(of)] {
			continue
		}
		v.Effort.Spend(len(fit))
		before, chosen := *of, with(k)
		if chosen == nil {
			tooFew[v.wideKeyOf(of)] = true // nor are there for more expensive ones
			continue
		}
		of.With, of.Shape = chosen, of.Bare
		of.Shape = v.shapeOf(of)
		if done[of.Place] = harmless(k, &before); !done[of.Place] {
			*of = before
		}
	}
}

// wideKeyOf tells offerings apart that no request can ask for together.
func (v *varieties) wideKeyOf(o *Offering) string {
	return o.Offer.CapacityType + strconv.Itoa(o.LabelChoiceIndex)
}

// keyOf tells offerings apart that are not mixed.
func (v *varieties) keyOf(o *Offering) string {
	key := binary.AppendVarint(binary.AppendVarint(nil, int64(o.Place)), int64(o.LabelChoiceIndex))
	if o.Special {
		key = append(key, 'x')
	}
	for _, q := range v.asked {
		values := o.Type.Labels[q.Key]
		if all, listed := q.Set.Values(); !listed && len(all) == 0 && len(values) > 0 { // spread over it
			key = append(append(key, values[0]...), 0)
			continue
		}
		key = append(key, boolByte(len(values) > 0 && q.Set.HasAny(values) || len(values) == 0 && q.Set.HasMissing()))
	}
	return string(key)
}

// with returns k and those of its mates that are offered with it: first such as have all
// the room that it has, the cheapest first, then such as take the least of it away. Mates
// are in the order of their price. It returns nil where there is not enough choice.
func (v *varieties) with(k int, mates []int) []int {
	c := variety{varieties: v, seen: make([]map[string]bool, len(v.values))}
	c.add(k)
	var others []int
	for _, j := range mates {
		if j <= k {
			continue
		}
		if c.met() {
			return c.chosen
		}
		if v.loss(k, j) > 0 {
			others = append(others, j)
		} else if c.helps(j) {
			c.add(j)
		}
	}
	slices.SortStableFunc(others, func(a, b int) int { return int(v.loss(k, a) - v.loss(k, b)) })
	for _, j := range others {
		if c.met() {
			break
		}
		if c.helps(j) {
			c.add(j)
		}
	}
	if !c.met() {
		return nil
	}
	return c.chosen
}

// loss is the part of the room of k that j does not have, in millionths.
func (v *varieties) loss(k, j int) int64 {
	const whole = 1_000_000
	lost := int64(0)
	x, y := v.Offerings[k].All(), v.Offerings[j].All()
	for r, room := range x.Room {
		if has := max(0, y.Room[r]); room > has {
			lost = max(lost, int64(float64(whole)*float64(room-has)/float64(room)))
		}
	}
	return lost
}

// All is the shape with all its room, whatever must be offered with it.
func (o *Offering) All() *Shape {
	if o.Bare != nil {
		return o.Bare
	}
	return o.Shape
}

// shapeOf returns what is left of an offering's room, and what counts against limits,
// whichever of those that are offered with it is bought.
func (v *varieties) shapeOf(o *Offering) *Shape {
	out := *o.Shape
	out.Room, out.Capacity = make([]int64, len(o.Room)), slices.Clone(o.Capacity)
	if o.With == nil {
		return &out // nothing fits
	}
	copy(out.Room, o.Room)
	for _, j := range o.With {
		of := v.Offerings[j].All()
		for r := range out.Room {
			out.Room[r], out.Capacity[r] = min(out.Room[r], of.Room[r]), max(out.Capacity[r], of.Capacity[r])
		}
	}
	return &out
}

// variety is a choice while it is being made.
type variety struct {
	*varieties
	chosen []int
	seen   []map[string]bool // values, by demand
}

func (c *variety) add(k int) {
	c.chosen = append(c.chosen, k)
	for d, of := range c.values {
		if c.seen[d] == nil {
			c.seen[d] = map[string]bool{}
		}
		for _, value := range of[c.Offerings[k].TypeIndex] {
			c.seen[d][value] = true
		}
	}
}

func (c *variety) helps(k int) bool {
	for d, of := range c.values {
		if len(c.seen[d]) < c.pool.MinValues[d].Count && slices.ContainsFunc(of[c.Offerings[k].TypeIndex], func(value string) bool { return !c.seen[d][value] }) {
			return true
		}
	}
	return false
}

func (c *variety) met() bool { return c.unmet() < 0 }

// unmet returns the first demand that is not met, -1 where all are.
func (c *variety) unmet() int {
	for d := range c.values {
		if len(c.seen[d]) < c.pool.MinValues[d].Count {
			return d
		}
	}
	return -1
}

// keepVaried drops the offerings that cannot be planned because the options do not allow
// all that is offered with them.
func (s *Supply) keepVaried(o *Options) {
	if !s.varied {
		o.Any = o.Offerings
		return
	}
	o.Any = o.Offerings.Clone()
	for _, p := range s.Pools {
		if len(p.MinValues) == 0 {
			continue
		}
		for k := range o.Any.Within(p.Offerings) {
			if !s.Offerings[k].varies(o) {
				o.Offerings.Drop(k)
			}
		}
	}
}

// varies reports whether the options allow all that has to be offered with the offering.
func (o *Offering) varies(under *Options) bool {
	return o.With != nil && !slices.ContainsFunc(o.With, func(j int) bool { return !under.Any.Has(j) })
}

// VarietyMiss says which demand of a pool's minValues its offerings for the options and the
// need do not meet; nothing where none has room for the need, or nothing is demanded.
func (s *Supply) VarietyMiss(o *Options, p *Pool, need []int64) match.Miss {
	if len(p.MinValues) == 0 {
		return match.Miss{}
	}
	v := varieties{Supply: s, pool: p}
	v.note()
	c := variety{varieties: &v, seen: make([]map[string]bool, len(v.values))}
	for k := range o.Any.Within(p.Offerings) {
		if Fits(need, s.Offerings[k].All().Room) {
			c.add(k)
		}
	}
	if len(c.chosen) == 0 {
		return match.Miss{}
	}
	at := c.unmet()
	if at < 0 {
		return match.Miss{Kind: match.Variety, Key: p.MinValues[0].Key, Want: strconv.Itoa(p.MinValues[0].Count)} // not of one capacity type
	}
	return match.Miss{Kind: match.Variety, Key: p.MinValues[at].Key, Want: strconv.Itoa(p.MinValues[at].Count), Have: strconv.Itoa(len(c.seen[at]))}
}
