package pack

import (
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// domain is what a node has as a topology key: a value, or no such label.
type domain struct {
	value string
	known bool
}

// String tells domains apart.
func (d domain) String() string {
	if d.known {
		return d.value
	}
	return "\x01"
}

func domainsKey(domains []domain) string {
	parts := make([]string, len(domains))
	for i, d := range domains {
		parts[i] = d.String()
	}
	return strings.Join(parts, "\x00")
}

// cell is a combination of topology domains in which machines can be bought.
type cell struct {
	domains  []domain // in the order of the keys that were asked for
	requires match.Requirements
	pinned   *options // with these requirements; see pinnedTo
}

type cellKey struct {
	options int
	keys    string
}

// cellsOf lists the combinations of domains of the keys in which the options can
// be bought.
func (s *solver) cellsOf(o *options, keys []string) []cell {
	id := cellKey{o.id, strings.Join(keys, "\x00")}
	if known, ok := s.cells[id]; ok {
		return known
	}
	seen := map[string][]domain{}
	type place struct{ provisioner, place int }
	places := map[place]bool{}
	// Labels that no type has are the same on all machines of a Provisioner.
	byPlace := !slices.ContainsFunc(keys, func(key string) bool {
		return !ofOffering(key) && key != api.LabelProvisioner && s.originOf(key).some
	})
	for k := range o.columns.all {
		if s.effort.over() {
			return nil
		}
		c := &s.columns[k]
		if in := (place{c.provisioner, c.place}); byPlace && places[in] {
			continue
		} else if byPlace {
			places[in] = true
		}
		for _, domains := range s.combinations(o, c, keys) {
			seen[domainsKey(domains)] = domains
		}
	}
	var out []cell
	for _, joined := range sortedKeys(seen) {
		c := cell{domains: seen[joined], requires: o.requires}
		for i, key := range keys {
			c.requires = c.requires.With(key, c.domains[i].set())
		}
		out = append(out, c)
	}
	s.cells[id] = out
	return out
}

// pinnedTo returns the options with one of their cells, made once.
func (s *solver) pinnedTo(o *options, at *cell) *options {
	if at.pinned == nil {
		at.pinned = s.optionsFor(at.requires, o.tolerations, tolerationKey(o.tolerations), o.honour)
	}
	return at.pinned
}

// set is what a node's label must be to be in the domain.
func (d domain) set() match.Set {
	if d.known {
		return match.Only(d.value)
	}
	return match.Missing()
}

// combinations lists the domains of the keys that a column's nodes can be in.
func (s *solver) combinations(o *options, c *column, keys []string) [][]domain {
	choices, n := make([][]domain, len(keys)), 1
	for i, key := range keys {
		choices[i] = s.domainsOf(o.residual[c.provisioner], c, key)
		n *= len(choices[i])
		s.effort.spend(domainSteps*len(choices[i]) + n)
		if s.effort.over() {
			return nil
		}
	}
	s.effort.spend(n * domainSteps * len(keys))
	out := make([][]domain, 0, n)
	for i := range n {
		one := make([]domain, len(keys))
		for k, of := range choices {
			one[k] = of[i%len(of)]
			i /= len(of)
		}
		out = append(out, one)
	}
	return out
}

// domainSteps is the effort of finding a machine's domain of a key, and of telling a
// combination of domains from others.
const domainSteps = 8

// domainsOf lists what nodes of a column with the residual can have as a key.
func (s *solver) domainsOf(residual int, c *column, key string) []domain {
	one := func(value string) []domain { return []domain{{value, true}} }
	switch key {
	case api.LabelZone:
		return one(c.offering.Zone)
	case api.LabelCapacityType:
		return one(c.offering.CapacityType)
	case api.LabelZoneID:
		return one(c.offering.ZoneID)
	case api.LabelProvisioner:
		return one(s.sellers[c.provisioner].Spec.Name)
	}
	set, asked := s.residuals[residual].Get(key)
	values, choice := c.typ.Labels[key]
	switch {
	case choice && asked:
		values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !set.Has(v) })
	case choice:
	case !asked:
		return []domain{{}}
	default:
		value, ok := set.Pick()
		if !ok {
			return []domain{{}}
		}
		if values, choice = set.Values(); !choice {
			values = []string{value}
		}
	}
	out := make([]domain, len(values))
	for i, v := range values {
		out[i] = domain{v, true}
	}
	return out
}
