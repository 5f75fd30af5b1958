package model

import (
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/labelset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// A Provisioner may leave open which of several values of a user's label its machines get.
// Where DaemonSets select by such a label, a machine of one value runs others than a machine
// of another value. So these are different offerings: which DaemonSets run is known of each.

// maxLabelChoices bounds how many offerings one becomes. Beyond it, and for labels of which
// the Provisioner does not list the values, a DaemonSet is taken to run on whatever it may run
// on.
const maxLabelChoices = 8

// labelChoicesOf lists what the open labels of a pool's machines may be limited to, so that
// machines of one label choice run the same DaemonSets: to nothing where that is so anyway.
func (s *Supply) labelChoicesOf(p *Pool) []match.Requirements {
	out := []match.Requirements{nil}
	for _, q := range p.Requirements {
		_, ofTypes := p.Catalogue.Label(q.Key)
		if ofTypes || api.WellKnown(q.Key) || slices.Contains(p.Overridable, q.Key) {
			continue
		}
		parts := s.partsOf(q)
		if len(parts) < 2 || len(parts)*len(out) > maxLabelChoices {
			continue
		}
		var more []match.Requirements
		for _, of := range out {
			for _, values := range parts {
				more = append(more, of.With(q.Key, labelset.Only(values...)))
			}
		}
		out = more
	}
	return out
}

// partsOf parts the values that are required of a label into those that DaemonSets do not
// tell apart, in the order of the first of each. It returns nothing where any value will do.
func (s *Supply) partsOf(q match.Requirement) [][]string {
	values, listed := q.Set.Values()
	if !listed {
		return nil
	}
	var out [][]string
	part := map[string]int{}
	for _, v := range values {
		var key strings.Builder
		for i := range s.DaemonSets {
			for _, place := range s.DaemonSets[i].places {
				set, asked := place.Get(q.Key)
				key.WriteByte(boolByte(!asked || set.Has(v)))
			}
		}
		i, known := part[key.String()]
		if !known {
			i = len(out)
			part[key.String()] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], v)
	}
	return out
}

// allows reports whether the open labels of an offering can meet the requirements.
func (o *Offering) allows(r match.Requirements) bool {
	return !slices.ContainsFunc(o.LabelChoice, func(q match.Requirement) bool {
		set, asked := r.Get(q.Key)
		return asked && set.Intersect(q.Set).Empty()
	})
}

// limited returns what a label of the offering's machines can be, of a set.
func (o *Offering) limited(key string, set labelset.Set) labelset.Set {
	if own, ok := o.LabelChoice.Get(key); ok {
		return set.Intersect(own)
	}
	return set
}

// limits reports whether a label choice limits a label.
func (s *Supply) limits(key string) bool {
	return slices.ContainsFunc(s.Selling, func(p *Pool) bool {
		_, ok := s.Offerings[p.Offerings[0]].LabelChoice.Get(key)
		return ok
	})
}
