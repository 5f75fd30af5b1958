package view

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// MarketCopy is a market from which offerings are withheld. A market is large, and many Provisioners may share one: their
// copies share the types of which nothing is withheld.
type MarketCopy struct {
	Types  []offer.InstanceType
	copied map[int]bool // types whose offerings are a copy; nil while the list is none
}

// CopyMarket returns a copy of a list of types, which is not changed.
func CopyMarket(types []offer.InstanceType) *MarketCopy { return &MarketCopy{Types: types} }

// Withhold makes the offerings of a type in a zone with a capacity type unavailable.
func (m *MarketCopy) Withhold(instanceType, zone, capacityType, why string) {
	i, ok := slices.BinarySearchFunc(m.Types, instanceType, func(t offer.InstanceType, name string) int { return cmp.Compare(t.Name, name) })
	if !ok {
		return
	}
	for j, o := range m.Types[i].Offerings {
		if o.Zone == zone && o.CapacityType == capacityType {
			m.WithholdAt(i, j, why)
		}
	}
}

// WithholdAt makes the offering j of the type i unavailable, unless it is already or there is no reason.
func (m *MarketCopy) WithholdAt(i, j int, why string) {
	if why == "" || m.Types[i].Offerings[j].Unavailable != "" {
		return
	}
	if m.copied == nil {
		m.Types, m.copied = slices.Clone(m.Types), map[int]bool{}
	}
	if !m.copied[i] {
		m.Types[i].Offerings, m.copied[i] = slices.Clone(m.Types[i].Offerings), true
	}
	m.Types[i].Offerings[j].Unavailable = why
}
