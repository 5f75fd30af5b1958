package model

import (
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/labelset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Domain is what a node has as a topology key: a value, or no such label.
type Domain struct {
	Value string
	Known bool
}

// String tells domains apart.
func (d Domain) String() string {
	if d.Known {
		return d.Value
	}
	return "\x01"
}

// DomainsKey tells combinations of domains apart.
func DomainsKey(domains []Domain) string {
	parts := make([]string, len(domains))
	for i, d := range domains {
		parts[i] = d.String()
	}
	return strings.Join(parts, "\x00")
}

// DomainCombination is a combination of topology domains in which machines can be bought.
type DomainCombination struct {
	Domains  []Domain // in the order of the keys that were asked for
	requires match.Requirements
	pinned   *Options // with these requirements; see PinnedTo
}

type combinationKey struct {
	options int
	keys    string
}

// CombinationsOf lists the combinations of domains of the keys in which the options can
// be bought. It finds them once, but for options of items, for which hardly anybody asks again.
func (s *Supply) CombinationsOf(o *Options, keys []string) []DomainCombination {
	id := combinationKey{o.ID, strings.Join(keys, "\x00")}
	if known, ok := s.byKeys[id]; ok {
		return known
	}
	seen := map[string][]Domain{}
	type place struct{ provisioner, place, labels int }
	places := map[place]bool{}
	// Labels that no type has are the same on all machines of a Provisioner and label choice.
	byPlace := !slices.ContainsFunc(keys, func(key string) bool {
		return !offer.DecidesLabel(key) && key != api.LabelProvisioner && s.originOf(key).some
	})
	for k := range o.Offerings.All {
		if s.Effort.Over() {
			return nil
		}
		c := &s.Offerings[k]
		if in := (place{c.Pool, c.Place, c.LabelChoiceIndex}); byPlace && places[in] {
			continue
		} else if byPlace {
			places[in] = true
		}
		for _, domains := range s.combinations(o, c, keys) {
			seen[DomainsKey(domains)] = domains
		}
	}
	if s.Effort.Over() {
		return nil // some are missing
	}
	var out []DomainCombination
	for _, joined := range SortedKeys(seen) {
		c := DomainCombination{Domains: seen[joined], requires: o.Requires}
		for i, key := range keys {
			c.requires = c.requires.With(key, c.Domains[i].Set())
		}
		out = append(out, c)
	}
	if o.ID >= 0 { // each pass numbers those of items itself
		s.byKeys[id] = out
	}
	return out
}

// PinnedTo returns the options in one of their combinations of domains, made once.
func (s *Supply) PinnedTo(o *Options, at *DomainCombination) *Options {
	if at.pinned == nil {
		at.pinned = s.OptionsFor(at.requires, o.tolerations, TolerationKey(o.tolerations), o.Honour)
	}
	return at.pinned
}

// Set is what a node's label must be to be in the domain.
func (d Domain) Set() labelset.Set {
	if d.Known {
		return labelset.Only(d.Value)
	}
	return labelset.Missing()
}

// combinations lists the domains of the keys that an offering's nodes can be in.
func (s *Supply) combinations(o *Options, c *Offering, keys []string) [][]Domain {
	choices, n := make([][]Domain, len(keys)), 1
	for i, key := range keys {
		choices[i] = s.domainsOf(o.Residual[c.Pool], c, key)
		n *= len(choices[i])
		s.Effort.Spend(domainSteps*len(choices[i]) + n)
		if s.Effort.Over() {
			return nil
		}
	}
	s.Effort.Spend(n * domainSteps * len(keys))
	out := make([][]Domain, 0, n)
	for i := range n {
		one := make([]Domain, len(keys))
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

// domainsOf lists what nodes of an offering with the residual can have as a key.
func (s *Supply) domainsOf(residual int, c *Offering, key string) []Domain {
	if offer.DecidesLabel(key) {
		value, ok := c.Offer.Label(key)
		return []Domain{{value, ok}}
	} else if key == api.LabelProvisioner {
		return []Domain{{s.Pools[c.Pool].Spec.Name, true}}
	}
	set, asked := s.residuals[residual].Get(key)
	set = c.limited(key, set)
	values, choice := c.Type.Labels[key]
	switch {
	case choice && asked:
		values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !set.Has(v) })
	case choice:
	case !asked:
		return []Domain{{}}
	default:
		value, ok := set.Pick()
		if !ok {
			return []Domain{{}}
		}
		if values, choice = set.Values(); !choice {
			values = []string{value}
		}
	}
	out := make([]Domain, len(values))
	for i, v := range values {
		out[i] = Domain{v, true}
	}
	return out
}
