// Package offer describes what can be bought: machines by instance type, zone
// and capacity type, with their size, what they keep for themselves, and price.
package offer

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// InstanceType is a machine as one Provisioner would buy it: its capacity and
// overhead already reflect that Provisioner's kubelet settings and node profile.
type InstanceType struct {
	Name string
	// Labels holds the values that a label of its nodes may take (arch, os,
	// instance-family and so on), each list sorted. A key that is not there is a
	// label that the node will not have. Zone and capacity type belong to Offerings.
	Labels map[string][]string
	// Capacity is what the kubelet will report as capacity.
	Capacity amount.List
	// Overhead is capacity that pods cannot have: kube-reserved, system-reserved
	// and eviction thresholds.
	Overhead amount.List
	// Offerings are sorted by zone, then capacity type, then reservation.
	Offerings []Offering
}

// Allocatable returns the capacity that pods can have.
func (t *InstanceType) Allocatable() amount.List {
	out := t.Capacity.Minus(t.Overhead)
	for name, v := range out {
		out[name] = max(v, 0)
	}
	return out
}

// Label returns the value of a label that has exactly one.
func (t *InstanceType) Label(key string) (string, bool) {
	if v := t.Labels[key]; len(v) == 1 {
		return v[0], true
	}
	return "", false
}

// OfferingIn returns an offering of a capacity type in a zone; nil for none. Of those of several
// capacity reservations, which cost the same, it returns the first.
func (t *InstanceType) OfferingIn(zone, capacityType string) *Offering {
	i := slices.IndexFunc(t.Offerings, func(o Offering) bool { return o.Zone == zone && o.CapacityType == capacityType })
	if i < 0 {
		return nil
	}
	return &t.Offerings[i]
}

// Offering is one way to buy an instance type.
type Offering struct {
	Zone         string
	ZoneID       string // the zone's id, the same in every account; may be empty
	CapacityType string // api.CapacitySpot, api.CapacityOnDemand or api.CapacityReserved
	Price        Price  // 0: it is not known, and the offering is unavailable
	// Reservation is the id of the capacity reservation that an offering of
	// api.CapacityReserved buys from, and Left how many machines may still be launched
	// into it. Both are zero for other offerings.
	Reservation string
	Left        int64
	// Unavailable is why it cannot be bought now ("insufficient capacity until
	// 12:03:20"); empty when it can.
	Unavailable string
}

// DecidesLabel reports whether a label of a machine follows from its offering, not from its
// type.
func DecidesLabel(key string) bool {
	switch key {
	case api.LabelZone, api.LabelCapacityType, api.LabelZoneID, api.LabelReservationID, api.LabelReservationType:
		return true
	}
	return false
}

// Label returns the value of such a label, or false where a machine does not have it.
func (o *Offering) Label(key string) (string, bool) {
	switch key {
	case api.LabelZone:
		return o.Zone, true
	case api.LabelZoneID:
		return o.ZoneID, true
	case api.LabelCapacityType:
		return o.CapacityType, true
	case api.LabelReservationID:
		return o.Reservation, o.Reservation != ""
	case api.LabelReservationType:
		if o.Reservation != "" {
			return api.ReservationDefault, true
		}
	}
	return "", false
}

// Price is an amount of money in micro-dollars per hour.
type Price int64

// Dollars returns the price in dollars per hour.
func (p Price) Dollars() float64 { return float64(p) / 1e6 }

// PriceOf returns the price that the agent has recorded in a node's annotations, or 0 if there is none. It ignores
// negative values and values above about half a million dollars per hour, because the agent does not write such
// values.
func PriceOf(annotations map[string]string) Price {
	price, err := strconv.ParseUint(annotations[api.AnnotationHourlyPrice], 10, 39)
	if err != nil {
		return 0 // ParseUint returns the nearest number if it is out of range
	}
	return Price(price)
}

// Sort puts the offerings into their canonical order.
func (t *InstanceType) Sort() {
	slices.SortFunc(t.Offerings, func(a, b Offering) int {
		return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.CapacityType, b.CapacityType), cmp.Compare(a.Reservation, b.Reservation))
	})
}

// ReservedPrice is what a machine in a capacity reservation costs, of which the on-demand
// price is given. The reservation is paid for whether or not it is used, so that the
// machine costs next to nothing more. It is above zero and grows with the on-demand price,
// so that of two reservations a pod gets the smaller machine, and machines of no type are free.
func ReservedPrice(onDemand Price) Price { return max(1, onDemand/reservedShare) }

// reservedShare is so large that a spot machine never costs as little as a reserved one,
// and so small that prices of types differ in whole micro-dollars.
const reservedShare = 10_000

// ReservationResource names a pseudo-resource of a capacity reservation. Each machine uses one unit, and as many units
// are left as machines may still be launched into the reservation.
func ReservationResource(id string) string { return reservationPrefix + id }

// IsReservation reports whether a resource is that of a capacity reservation.
func IsReservation(resource string) bool { return strings.HasPrefix(resource, reservationPrefix) }

const reservationPrefix = "capacity reservation "
