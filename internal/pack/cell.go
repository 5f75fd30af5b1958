package pack

import (
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// cell is a combination of topology domains in which machines can be bought.
type cell struct {
	values   []string // in the order of the keys that were asked for
	requires match.Requirements
}

type cellKey struct {
	options int
	keys    string
}

// cellsOf lists the combinations of values of the keys in which the options can
// be bought.
func (s *solver) cellsOf(o *options, keys []string) []cell {
	id := cellKey{o.id, strings.Join(keys, "\x00")}
	if known, ok := s.cells[id]; ok {
		return known
	}
	seen := map[string][]string{}
	for k := range o.columns.all {
		for _, values := range s.combinations(o, &s.columns[k], keys) {
			seen[strings.Join(values, "\x00")] = values
		}
	}
	var out []cell
	for _, joined := range sortedKeys(seen) {
		c := cell{values: seen[joined], requires: o.requires}
		for i, key := range keys {
			c.requires = c.requires.With(key, match.Only(c.values[i]))
		}
		out = append(out, c)
	}
	s.cells[id] = out
	return out
}

// combinations lists the values of the keys that a column's nodes can have.
func (s *solver) combinations(o *options, c *column, keys []string) [][]string {
	out := [][]string{nil}
	for _, key := range keys {
		var next [][]string
		for _, value := range s.valuesOf(o, c, key) {
			for _, prefix := range out {
				next = append(next, append(slices.Clone(prefix), value))
			}
		}
		out = next
	}
	return out
}

func (s *solver) valuesOf(o *options, c *column, key string) []string {
	switch key {
	case api.LabelZone:
		return []string{c.offering.Zone}
	case api.LabelCapacityType:
		return []string{c.offering.CapacityType}
	case api.LabelZoneID:
		return []string{c.offering.ZoneID}
	case api.LabelProvisioner:
		return []string{s.sellers[c.provisioner].Spec.Name}
	}
	set, asked := s.residuals[o.residual[c.provisioner]].Get(key)
	if values, ok := c.typ.Labels[key]; ok {
		if !asked {
			return values
		}
		return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !set.Has(v) })
	}
	values, _ := set.Values()
	return values
}
