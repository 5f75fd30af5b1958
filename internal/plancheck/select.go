// Package plancheck says what a Provisioner would do before it is applied: which machines it
// would buy, what is questionable about it, and which nodes it would replace.
package plancheck

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/labelset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Claim is a requirement and where it is written: a path such as spec.requirements[0], empty
// for a default.
type Claim struct {
	api.Requirement
	Path string
}

// Selection is what is left of a market under some requirements.
type Selection struct {
	// Types are those that meet all of them, each with the offerings that do.
	Types []offer.InstanceType
	// Last is the requirement that removed the last type; nil if some are left or
	// there were none to begin with.
	Last *Claim
	// Before are the types that it removed.
	Before []offer.InstanceType
}

// Select applies the claims one after another. Labels of the user's own do not
// choose a machine and are passed over. Claims with values that make no sense
// select nothing.
func Select(types []offer.InstanceType, claims []Claim) Selection {
	left := types
	for i := range claims {
		key := api.NormalizeLabel(claims[i].Key)
		if !api.WellKnown(key) {
			continue
		}
		set, err := labelset.New(claims[i].Operator, claims[i].Values)
		if err != nil {
			set = labelset.Set{}
		}
		next := narrow(left, key, set)
		if len(next) == 0 && len(left) > 0 {
			return Selection{Last: &claims[i], Before: left}
		}
		left = next
	}
	return Selection{Types: left}
}

// Nothing names the requirement that removed the last type.
func (s Selection) Nothing() string {
	return fmt.Sprintf("no instance type is left: %s removed the last %d (%s)", say(s.Last.Requirement), len(s.Before), names(s.Before))
}

// valuesOf lists what a type, or its offerings, can have as a label.
func valuesOf(t *offer.InstanceType, key string) []string {
	if !offer.DecidesLabel(key) {
		return t.Labels[key]
	}
	var out []string
	for _, o := range t.Offerings {
		if value, ok := o.Label(key); ok {
			out = append(out, value)
		}
	}
	return out
}

// narrow keeps the types with a label in the set. Zone and capacity type are
// labels of offerings.
func narrow(types []offer.InstanceType, key string, set labelset.Set) []offer.InstanceType {
	out := make([]offer.InstanceType, 0, len(types))
	for _, t := range types {
		if !offer.DecidesLabel(key) {
			values, ok := t.Labels[key]
			if ok && set.HasAny(values) || !ok && set.HasMissing() {
				out = append(out, t)
			}
			continue
		}
		t.Offerings = slices.DeleteFunc(slices.Clone(t.Offerings), func(o offer.Offering) bool {
			value, ok := o.Label(key)
			return ok && !set.Has(value) || !ok && !set.HasMissing()
		})
		if len(t.Offerings) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// distinct returns the values that types can have as a label, sorted.
func distinct(types []offer.InstanceType, key string) []string {
	var out []string
	for i := range types {
		out = append(out, valuesOf(&types[i], key)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Zones lists the zones of the selection, sorted.
func (s Selection) Zones() []string { return distinct(s.Types, api.LabelZone) }

// CapacityTypes lists the capacity types of the selection, sorted.
func (s Selection) CapacityTypes() []string { return distinct(s.Types, api.LabelCapacityType) }

// Claims returns what a Provisioner says about its machines, in the order in
// which it is written, and the defaults for the rest.
func Claims(p *api.Provisioner) []Claim {
	var out []Claim
	p.Spec.EachClaim(field.NewPath("spec"), func(at *field.Path, r api.Requirement) {
		out = append(out, Claim{r, at.String()})
	})
	for _, r := range p.Defaulted().Spec.Requirements[len(p.Spec.Requirements):] {
		out = append(out, Claim{Requirement: r})
	}
	return out
}
