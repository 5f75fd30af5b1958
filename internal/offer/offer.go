// Package offer describes what can be bought: machines by instance type, zone
// and capacity type, with their size, what they keep for themselves, and price.
package offer

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
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
	// Offerings are sorted by zone, then capacity type.
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

// Offering is one way to buy an instance type.
type Offering struct {
	Zone         string
	ZoneID       string // the zone's id, the same in every account; may be empty
	CapacityType string // api.CapacitySpot or api.CapacityOnDemand
	Price        Price
	// Unavailable is why it cannot be bought now ("insufficient capacity until
	// 12:03:20"); empty when it can.
	Unavailable string
}

// Price is an amount of money in micro-dollars per hour.
type Price int64

// Dollars returns the price in dollars per hour.
func (p Price) Dollars() float64 { return float64(p) / 1e6 }

// Sort puts the offerings into their canonical order.
func (t *InstanceType) Sort() {
	slices.SortFunc(t.Offerings, func(a, b Offering) int {
		return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.CapacityType, b.CapacityType))
	})
}
