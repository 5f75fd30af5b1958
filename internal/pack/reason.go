package pack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// diagnose says why a class has no place: what excludes the Provisioners, most
// of them first, and the nearest miss last.
func (s *solver) diagnose(c *class) string {
	if len(s.sellers) == 0 {
		return "there is no Provisioner"
	}
	requires, honour := c.requires(c.level)
	if key, bad := requires.Unmeetable(); bad {
		return fmt.Sprintf("the pod's own requirements on %s contradict each other", key)
	}
	o := s.optionsFor(requires, c.template.Tolerations, c.tolerates, honour)
	texts := map[string][]string{}
	kinds := map[string]match.Kind{}
	for i, p := range s.sellers {
		miss := o.miss[i]
		if !miss.Missed() {
			miss = s.whyNot(c, o, p)
		}
		text := miss.String()
		texts[text] = append(texts[text], p.Spec.Name)
		kinds[text] = miss.Kind
	}
	order := sortedKeys(texts)
	slices.SortStableFunc(order, func(a, b string) int { return int(kinds[a]) - int(kinds[b]) })
	parts := make([]string, len(order))
	for i, text := range order {
		parts[i] = subject(texts[text], len(s.sellers), kinds[text]) + text
	}
	return strings.Join(parts, "; ")
}

// subject names who misses: one by name, several by number.
func subject(names []string, of int, kind match.Kind) string {
	switch {
	case kind >= match.Topology || kind == match.Unsupported || kind == match.Port:
		return ""
	case len(names) == 1:
		return "provisioner " + names[0] + " "
	case len(names) == of:
		return fmt.Sprintf("each of the %d provisioners ", of)
	}
	return fmt.Sprintf("%d of %d provisioners (%s): each ", len(names), of, strings.Join(names, ", "))
}

// whyNot says why no column of a seller that has the right ones was bought.
func (s *solver) whyNot(c *class, o *options, p *seller) match.Miss {
	var largest *column
	short, lack := -1, int64(0)
	held := false
	for k := range o.columns.all {
		if k < p.columns[0] || k >= p.columns[1] {
			continue
		}
		col := &s.columns[k]
		if fits(c.need, col.room) {
			held = true
			break
		}
		if r, by := worstLack(c.need, col.room); largest == nil || by < lack {
			largest, short, lack = col, r, by
		}
	}
	if !held {
		return s.resourceMiss(c, o, p, short)
	}
	if s.fittingOf(c, o, p).empty() {
		return match.Miss{Kind: match.Port, Want: "a DaemonSet keeps the pod from every node: it takes the same host port or repels the pod"}
	}
	if miss := s.limitMiss(c, o, p); miss.Missed() {
		return miss
	}
	return match.Miss{Kind: match.Topology, Want: s.topologyText(c)}
}

// fittingOf returns the columns of one seller that hold the class.
func (s *solver) fittingOf(c *class, o *options, p *seller) bitset {
	out := s.fitting(c.need, c.host, c.devices, o)
	out.keep(p.mask)
	return out
}

// worstLack returns the resource of which the room lacks the largest share of
// the need, in thousandths.
func worstLack(need, room []int64) (resource int, by int64) {
	for r, n := range need {
		if n > room[r] {
			if share := int64(1000 * float64(n-max(room[r], 0)) / float64(n)); share >= by {
				resource, by = r, share
			}
		}
	}
	return resource, by
}

func (s *solver) resourceMiss(c *class, o *options, p *seller, r int) match.Miss {
	most, whole := int64(0), int64(0)
	for k := range o.columns.all {
		if k >= p.columns[0] && k < p.columns[1] {
			most = max(most, s.columns[k].room[r])
			whole = max(whole, s.columns[k].typ.Allocatable()[s.space.names[r]])
		}
	}
	m := match.Miss{Kind: match.Resource, Key: s.space.names[r], Want: quantity(s.space.names[r], c.need[r]), Have: quantity(s.space.names[r], most)}
	if most < c.need[r] && whole >= c.need[r] {
		m.Have += " once DaemonSets run"
	}
	if most >= c.need[r] {
		m.Have += ", but then lacks another resource"
	}
	return m
}

func quantity(name string, v int64) string {
	q := amount.Quantity(name, v)
	return q.String()
}

func (s *solver) limitMiss(c *class, o *options, p *seller) match.Miss {
	left := s.budgets()[p.index]
	if left == nil {
		return match.Miss{}
	}
	for k := range s.fittingOf(c, o, p).all {
		if copies(s.columns[k].capacity, left, 1) > 0 {
			return match.Miss{}
		}
	}
	for r, name := range s.space.names {
		limit, ok := p.limits[name]
		if !ok {
			continue
		}
		least := int64(plenty)
		for k := range s.fittingOf(c, o, p).all {
			least = min(least, s.columns[k].capacity[r])
		}
		if least > left[r] {
			return match.Miss{Kind: match.Limit, Key: name, Want: quantity(name, limit), Have: quantity(name, limit-left[r])}
		}
	}
	return match.Miss{Kind: match.Limit, Key: "resources", Want: "all", Have: "too many together"}
}

// topologyText says which constraint on other pods leaves no domain.
func (s *solver) topologyText(c *class) string {
	for _, f := range c.follows {
		if s.groups.list[f.group].total == 0 {
			return "pod affinity over " + s.groups.list[f.group].key + ": no node has a pod that it asks for and room for this one"
		}
	}
	for _, b := range c.attracts {
		if g := s.groups.list[b.group]; b.drop < 0 && g.total == 0 && !b.self {
			return "pod affinity over " + g.key + ": no pod that it asks for has a place"
		}
	}
	var keys []string
	for i := range c.spreads {
		keys = append(keys, "topology spread over "+s.groups.list[c.spreads[i].group].key)
	}
	for _, b := range c.attracts {
		keys = append(keys, "pod affinity over "+s.groups.list[b.group].key)
	}
	for _, b := range c.repels {
		keys = append(keys, "pod anti-affinity over "+s.groups.list[b.group].key)
	}
	if len(keys) == 0 {
		for _, id := range c.member {
			if g := s.groups.list[id]; len(g.repel) > 0 {
				return "other pods' anti-affinity over " + g.key + " keeps it out of every domain"
			}
		}
		return "constraints on other pods leave no node for it"
	}
	slices.Sort(keys)
	return strings.Join(slices.Compact(keys), " and ") + " allows no domain that has room"
}
