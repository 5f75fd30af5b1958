package pack

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// register finds what a class demands of other pods and of domains, and adds the
// groups that this speaks of.
func (gs *groups) register(c *class) {
	t := c.template
	for i, p := range c.prefers {
		c.addDrop(drop{text: "preferred node affinity " + p.Requirements.String(), weight: p.Weight, prefer: i})
	}
	for _, p := range t.HostPorts {
		c.host = append(c.host, touch{group: gs.addPort(p), cap: 1})
	}
	if a := t.Affinity; a != nil {
		gs.registerAffinity(c, a)
		gs.registerAnti(c, a)
	}
	c.sortDrops()
	for i := range t.Spread {
		gs.registerSpread(c, &t.Spread[i])
	}
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

func (gs *groups) registerAffinity(c *class, a *corev1.Affinity) {
	if a.PodAffinity == nil {
		return
	}
	for i := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		term := &a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[i]
		id, ok := gs.term(c, term)
		if !ok {
			continue
		}
		if term.TopologyKey == corev1.LabelHostname {
			c.follows = append(c.follows, bond{group: id, drop: -1})
		} else {
			c.attracts = append(c.attracts, bond{group: id, drop: -1})
		}
	}
	for i := range a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		p := &a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution[i]
		id, ok := gs.term(c, &p.PodAffinityTerm)
		if !ok {
			continue
		}
		text := fmt.Sprintf("preferred pod affinity over %s", p.PodAffinityTerm.TopologyKey)
		if p.PodAffinityTerm.TopologyKey == corev1.LabelHostname {
			c.soft = append(c.soft, softTouch{touch: touch{group: id}, text: text, want: true})
		} else {
			c.attracts = append(c.attracts, bond{group: id, drop: c.addDrop(drop{text: text, weight: p.Weight, prefer: -1})})
		}
	}
}

func (gs *groups) registerAnti(c *class, a *corev1.Affinity) {
	if a.PodAntiAffinity == nil {
		return
	}
	for i := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		term := &a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[i]
		id, ok := gs.term(c, term)
		if !ok {
			continue
		}
		if term.TopologyKey == corev1.LabelHostname {
			c.host = append(c.host, touch{group: id, cap: 0})
		} else {
			c.repels = append(c.repels, bond{group: id, drop: -1})
		}
	}
	for i := range a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		p := &a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[i]
		id, ok := gs.term(c, &p.PodAffinityTerm)
		if !ok {
			continue
		}
		text := fmt.Sprintf("preferred pod anti-affinity over %s", p.PodAffinityTerm.TopologyKey)
		if p.PodAffinityTerm.TopologyKey == corev1.LabelHostname {
			c.soft = append(c.soft, softTouch{touch: touch{group: id}, text: text})
		} else {
			c.repels = append(c.repels, bond{group: id, drop: c.addDrop(drop{text: text, weight: p.Weight, prefer: -1})})
		}
	}
}

func (gs *groups) term(c *class, term *corev1.PodAffinityTerm) (int, bool) {
	id, err := gs.addTerm(c.template, term)
	if err != nil {
		c.never = match.Miss{Kind: match.Unsupported, Want: err.Error()}
		return 0, false
	}
	return id, true
}

func (gs *groups) registerSpread(c *class, s *corev1.TopologySpreadConstraint) {
	id, err := gs.addSpread(c.template, s, c.places)
	if err != nil {
		c.never = match.Miss{Kind: match.Unsupported, Want: err.Error()}
		return
	}
	soft := s.WhenUnsatisfiable == corev1.ScheduleAnyway
	text := "topology spread over " + s.TopologyKey
	switch {
	case s.TopologyKey == corev1.LabelHostname && soft:
		c.soft = append(c.soft, softTouch{touch: touch{group: id, cap: int64(s.MaxSkew)}, text: text})
	case s.TopologyKey == corev1.LabelHostname:
		c.host = append(c.host, touch{group: id, cap: int64(s.MaxSkew)})
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
	belongs := gs.membership(c.template)
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
		} else if !slices.ContainsFunc(c.host, func(t touch) bool { return t.group == id }) {
			c.host = append(c.host, touch{group: id, self: 1, cap: unbounded})
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
}

// membership returns, by group, whether the pods of a template belong to it.
func (gs *groups) membership(t *cluster.Template) []bool {
	out := make([]bool, len(gs.list))
	for i, g := range gs.list {
		out[i] = g.matches(t)
	}
	return out
}

// registerRunning adds the groups that a running pod's anti-affinity and ports
// speak of.
func (gs *groups) registerRunning(t *cluster.Template, r *runner) {
	for _, p := range t.HostPorts {
		r.host = append(r.host, touch{group: gs.addPort(p), cap: 1})
	}
	if t.Affinity == nil || t.Affinity.PodAntiAffinity == nil {
		return
	}
	terms := t.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	for i := range terms {
		// What cannot be parsed was refused by the API server when the pod was made.
		if id, err := gs.addTerm(t, &terms[i]); err == nil {
			r.anti = append(r.anti, id)
		}
	}
}

// settleRunning finds, once all groups are known, which ones a running pod
// belongs to.
func (gs *groups) settleRunning(t *cluster.Template, r *runner) {
	belongs := gs.membership(t)
	for _, id := range r.anti {
		if gs.list[id].key == corev1.LabelHostname {
			r.host = append(r.host, touch{group: id})
		} else {
			r.repels = append(r.repels, id)
		}
	}
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
		} else if !slices.ContainsFunc(r.host, func(h touch) bool { return h.group == id }) {
			r.host = append(r.host, touch{group: id, self: 1, cap: unbounded})
		}
	}
}
