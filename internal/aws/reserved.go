package aws

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/lookup"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// reasonReservationsUnknown is the reason of the condition that shows that reservations cannot be looked up.
const reasonReservationsUnknown = "ReservationsUnknown"

// reservedAlone reports whether a Provisioner buys nothing but machines in capacity reservations.
func reservedAlone(p *api.Provisioner) bool {
	return !slices.ContainsFunc([]string{api.CapacityOnDemand, api.CapacitySpot}, func(capacityType string) bool {
		return !slices.ContainsFunc(p.Spec.Requirements, func(r api.Requirement) bool {
			named := slices.Contains(r.Values, capacityType)
			return api.NormalizeLabel(r.Key) == api.LabelCapacityType && (r.Operator == api.OpIn && !named || r.Operator == api.OpNotIn && named)
		})
	})
}

// unsupported says of the reservations into which machines cannot be launched why that is so, and reports whether there
// are no others.
func (r *resolved) unsupported() (why []string, all bool) {
	for i := range r.reservations {
		if text := r.reservations[i].Unsupported(); text != "" {
			why = append(why, text)
		}
	}
	return why, len(why) == len(r.reservations)
}

// addReserved adds the offerings of the profile's capacity reservations to the instance types.
func (c *Cloud) addReserved(all []offer.InstanceType, r *resolved, room map[string]lookup.Subnet) {
	platform := types.CapacityReservationInstancePlatformLinuxUnix
	if r.windows() {
		platform = types.CapacityReservationInstancePlatformWindows
	}
	for i := range r.reservations {
		of := &r.reservations[i]
		at, known := slices.BinarySearchFunc(all, of.InstanceType, func(t offer.InstanceType, name string) int { return cmp.Compare(t.Name, name) })
		if !known || of.Unsupported() != "" || of.Platform != platform || !slices.Contains(r.zones(), of.Zone) {
			continue
		}
		t := &all[at]
		o := offer.Offering{Zone: of.Zone, CapacityType: api.CapacityReserved, Reservation: of.ID, Left: of.Left, Price: offer.ReservedPrice(0)}
		if other := t.OfferingIn(of.Zone, api.CapacityOnDemand); other != nil {
			o.ZoneID, o.Price = other.ZoneID, offer.ReservedPrice(other.Price)
		}
		_, free := room[of.Zone]
		switch {
		case !free:
			o.Unavailable = "no free address in a subnet of " + of.Zone
		case of.Left == 0:
			o.Unavailable = "capacity reservation " + of.ID + " is full"
		default:
			candidate := offer.Candidate{InstanceType: t.Name, Zone: of.Zone, CapacityType: api.CapacityReserved, Reservation: of.ID}
			o.Unavailable = c.shortages.reason(candidate, r.setup, t.Capacity[amount.CPU]/1000)
		}
		t.Offerings = append(t.Offerings, o)
		t.Sort()
	}
}

// reservationSpec says into which capacity reservation EC2 puts the machines of a launch
// template: into that of their offering; into none if the EC2NodeClass selects reservations
// and the offering is an on-demand one; otherwise nil, which leaves it to EC2.
func reservationSpec(b build) *types.LaunchTemplateCapacityReservationSpecificationRequest {
	switch {
	case b.reservation != "":
		return &types.LaunchTemplateCapacityReservationSpecificationRequest{
			CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: &b.reservation},
		}
	case b.unreserved:
		return &types.LaunchTemplateCapacityReservationSpecificationRequest{CapacityReservationPreference: types.CapacityReservationPreferenceNone}
	}
	return nil
}
