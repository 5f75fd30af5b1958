package pack

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// register finds what a class demands of other pods and of domains, and adds the
// groups that this speaks of.
func (gs *groups) register(c *class) {
	t := c.Template
	for i, p := range c.Prefers {
		c.addDrop(drop{text: "preferred node affinity " + p.Requirements.String(), weight: p.Weight, prefer: i})
	}
	for _, p := range t.HostPorts {
		c.host = addTouch(c.host, touch{group: gs.addPort(p), cap: 1, entry: unbounded})
	}
	for _, of := range gs.attachments(c.Needs) {
		c.host = addTouch(c.host, of)
	}
	terms := model.PodTerms(t.Affinity)
	together, err := gs.foundBy(t, requiredAffinity(terms)...)
	if err != nil {
		c.never = match.Miss{Kind: match.Unsupported, Want: err.Error()}
		return
	}
	for _, term := range terms {
		gs.registerTerm(c, term, together)
	}
	c.sortDrops()
	for i := range t.Spread {
		gs.registerSpread(c, &t.Spread[i])
	}
}

// stepsToRegister is the effort of reading one of a pod's constraints.
const stepsToRegister = 200

// stepsToRelate is the effort of looking at one constraint because of another.
const stepsToRelate = 16

// registering is the effort that register takes: some of it grows with the square of
// the constraints, since what a pod counts depends on all of them.
func (c *class) registering() int {
	terms, places := model.PodTerms(c.Template.Affinity), 0
	for _, r := range c.Places {
		places += r.Size()
	}
	together := len(requiredAffinity(terms))
	return stepsToRegister*(len(c.Prefers)+len(c.Template.HostPorts)+len(terms)+len(c.Template.Spread)) +
		stepsToRelate*(together*together+len(c.Template.Spread)*len(c.Template.Spread)) + model.StepsToSpell*len(c.Template.Spread)*places
}

// requiredAffinity returns the terms that a pod must satisfy together to count for
// any of them.
func requiredAffinity(terms []model.PodTerm) []model.PodTerm {
	return slices.DeleteFunc(slices.Clone(terms), func(t model.PodTerm) bool { return t.Anti || !t.Required() })
}

// addDrop adds a preference and returns its id.
func (c *class) addDrop(d drop) int {
	d.id = len(c.drops)
	c.drops = append(c.drops, d)
	return d.id
}

// sortDrops orders the preferences by weight, and makes the bonds, which know
// them by id, refer to their new positions.
func (c *class) sortDrops() {
	slices.SortStableFunc(c.drops, func(a, b drop) int { return cmp.Compare(a.weight, b.weight) })
	position := make([]int, len(c.drops))
	for i, d := range c.drops {
		position[d.id] = i
	}
	for _, bonds := range [][]bond{c.repels, c.attracts} {
		for i := range bonds {
			if bonds[i].drop >= 0 {
				bonds[i].drop = position[bonds[i].drop]
			}
		}
	}
}

func (gs *groups) registerTerm(c *class, term model.PodTerm, together found) {
	pods := together
	if term.Anti || !term.Required() {
		var err error
		if pods, err = gs.foundBy(c.Template, term); err != nil {
			c.never = match.Miss{Kind: match.Unsupported, Want: err.Error()}
			return
		}
	}
	id := gs.addTerm(term.TopologyKey, pods)
	byHost := term.TopologyKey == corev1.LabelHostname
	b := bond{group: id, drop: -1}
	switch {
	case byHost && !term.Required():
		c.soft = append(c.soft, softTouch{touch: touch{group: id}, text: term.Text(), want: !term.Anti})
	case byHost && term.Anti:
		c.host = addTouch(c.host, touch{group: id, cap: 0, entry: unbounded})
	case byHost:
		c.follows = append(c.follows, b)
	default:
		if !term.Required() {
			b.drop = c.addDrop(drop{text: term.Text(), weight: term.Weight, prefer: -1})
		}
		bonds := &c.attracts
		if term.Anti {
			bonds = &c.repels
		}
		*bonds = append(*bonds, b)
	}
}

func (gs *groups) registerSpread(c *class, s *corev1.TopologySpreadConstraint) {
	id, err := gs.addSpread(c.Template, s, c.Places)
	if err != nil {
		c.never = match.Miss{Kind: match.Unsupported, Want: err.Error()}
		return
	}
	gs.list[id].spread = true
	soft := s.WhenUnsatisfiable == corev1.ScheduleAnyway
	text := "topology spread over " + s.TopologyKey
	switch {
	case s.TopologyKey == corev1.LabelHostname && soft:
		c.soft = append(c.soft, softTouch{touch: touch{group: id, cap: int64(s.MaxSkew)}, text: text})
	case s.TopologyKey == corev1.LabelHostname:
		c.host = addTouch(c.host, touch{group: id, cap: int64(s.MaxSkew), entry: int64(s.MaxSkew)})
		c.apart = append(c.apart, hostSpread{group: id, relative: s.MinDomains == nil || *s.MinDomains <= 1})
	default:
		sp := spread{group: id, maxSkew: int64(s.MaxSkew), minDomains: 1, drop: -1}
		if s.MinDomains != nil {
			sp.minDomains = int(*s.MinDomains)
		}
		if soft {
			sp.drop = c.addDrop(drop{text: text, prefer: -1})
		}
		c.spreads = append(c.spreads, sp)
	}
}

// settle finds, once all groups are known, which ones a class belongs to.
func (gs *groups) settle(c *class) {
	belongs := gs.membership(c.Template)
	for i := range c.host {
		t := &c.host[i]
		if belongs[t.group] {
			t.self = 1
			t.cap = max(t.cap, 1) // a pod stands itself
		}
	}
	for i := range c.soft {
		if belongs[c.soft[i].group] {
			c.soft[i].self = 1
		}
	}
	for i := range c.spreads {
		if belongs[c.spreads[i].group] {
			c.spreads[i].self = 1
		}
	}
	for _, bonds := range [][]bond{c.repels, c.attracts, c.follows} {
		for i := range bonds {
			bonds[i].self = belongs[bonds[i].group]
		}
	}
	for id, in := range belongs {
		if !in {
			continue
		}
		if g := gs.list[id]; g.key != corev1.LabelHostname {
			c.member = append(c.member, id)
			c.keys = append(c.keys, g.key)
			c.keys = append(c.keys, g.labelled...)
		} else {
			c.host = addTouch(c.host, touch{group: id, self: 1, cap: unbounded, entry: unbounded})
		}
	}
	for _, s := range c.spreads {
		c.keys = append(c.keys, gs.list[s.group].key)
	}
	for _, b := range slices.Concat(c.repels, c.attracts) {
		c.keys = append(c.keys, gs.list[b.group].key)
	}
	slices.Sort(c.keys)
	c.keys = slices.Compact(c.keys)
	c.keys = slices.DeleteFunc(c.keys, func(key string) bool { return key == corev1.LabelHostname })
}

// registerRunning adds the groups that a running pod's anti-affinity and ports
// speak of.
func (gs *groups) registerRunning(t *cluster.Template, r *resident) {
	for _, p := range t.HostPorts {
		r.host = addTouch(r.host, touch{group: gs.addPort(p), cap: 1, entry: unbounded})
	}
	for _, term := range model.PodTerms(t.Affinity) {
		if !term.Anti || !term.Required() {
			continue
		}
		// What cannot be parsed was refused by the API server when the pod was made.
		if pods, err := gs.foundBy(t, term); err == nil {
			r.anti = append(r.anti, gs.addTerm(term.TopologyKey, pods))
		}
	}
}

// settleRunning finds, once all groups are known, which ones a running pod
// belongs to.
func (gs *groups) settleRunning(t *cluster.Template, r *resident) {
	for _, id := range r.anti {
		if gs.list[id].key == corev1.LabelHostname {
			r.host = addTouch(r.host, touch{group: id, entry: unbounded})
		} else {
			r.repels = append(r.repels, id)
		}
	}
	belongs := gs.membership(t)
	for i := range r.host {
		if h := &r.host[i]; belongs[h.group] {
			h.self, h.cap = 1, max(h.cap, 1)
		}
	}
	for id, in := range belongs {
		if !in {
			continue
		}
		if gs.list[id].key != corev1.LabelHostname {
			r.member = append(r.member, id)
		} else {
			r.host = addTouch(r.host, touch{group: id, self: 1, cap: unbounded, entry: unbounded})
		}
	}
}
