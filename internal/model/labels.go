package model

import (
	"maps"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// origin is what decides a label of a machine.
type origin struct {
	some       bool // some type has it
	byOffering bool // the type and the offering decide it alone
}

// originOf tells what decides a label. The type and the offering alone do where no type
// leaves a choice of it, and it is well known or some type has it.
func (s *Supply) originOf(key string) origin {
	switch {
	case offer.DecidesLabel(key):
		return origin{byOffering: true}
	case key == api.LabelProvisioner:
		return origin{}
	}
	if out, known := s.origins[key]; known {
		return out
	}
	out := origin{byOffering: true}
	for _, p := range s.Selling {
		values, some := p.Catalogue.Label(key)
		out.some, out.byOffering = out.some || some, out.byOffering && values.Single
	}
	out.byOffering = out.byOffering && (out.some || api.WellKnown(key))
	s.origins[key] = out
	return out
}

// LabelsOf returns the labels, apart from the host name, that a machine of an offering
// with a residual will have.
func (s *Supply) LabelsOf(offering, residual int) map[string]string {
	id := [2]int{offering, residual}
	if known, ok := s.labelled[id]; ok {
		return known
	}
	o := &s.Offerings[offering]
	out := map[string]string{}
	for key := range o.Type.Labels {
		if value, ok := o.Type.Label(key); ok {
			out[key] = value
		}
	}
	maps.Copy(out, s.ChosenLabels(offering, residual))
	out[api.LabelZone] = o.Offer.Zone
	out[api.LabelCapacityType] = o.Offer.CapacityType
	out[api.LabelProvisioner] = s.Pools[o.Pool].Spec.Name
	if o.Offer.ZoneID != "" {
		out[api.LabelZoneID] = o.Offer.ZoneID
	}
	api.SetReservationLabels(out, o.Offer.Reservation)
	s.labelled[id] = out
	return out
}

// ChosenLabels returns the part of LabelsOf that the residual decides: for each of its
// keys, the first of the offering's values that it allows, or, where the offering's type
// says nothing about the key, a value that it allows. A key of which it allows no such
// value is left out.
func (s *Supply) ChosenLabels(offering, residual int) map[string]string {
	out := map[string]string{}
	for _, q := range s.residuals[residual] {
		set := s.Offerings[offering].limited(q.Key, q.Set)
		if values, ok := s.Offerings[offering].Type.Labels[q.Key]; ok {
			for _, v := range values {
				if set.Has(v) {
					out[q.Key] = v
					break
				}
			}
			continue
		}
		if value, ok := set.Pick(); ok {
			out[q.Key] = value
		}
	}
	return out
}
