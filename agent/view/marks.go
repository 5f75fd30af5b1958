package view

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Marks marks offerings as unavailable in a copy of a market. A market is large, and many Provisioners may share one:
// their copies share what is not marked.
type Marks struct {
	Types  []offer.InstanceType
	copied map[int]bool // types whose offerings are a copy; nil while the list is none
}

// NewMarks returns the marks of a list of types, which is not changed.
func NewMarks(types []offer.InstanceType) *Marks { return &Marks{Types: types} }

// Find marks the offerings of a type in a zone with a capacity type.
func (m *Marks) Find(instanceType, zone, capacityType, why string) {
	i, ok := slices.BinarySearchFunc(m.Types, instanceType, func(t offer.InstanceType, name string) int { return cmp.Compare(t.Name, name) })
	if !ok {
		return
	}
	for j, o := range m.Types[i].Offerings {
		if o.Zone == zone && o.CapacityType == capacityType {
			m.Mark(i, j, why)
		}
	}
}

// Mark marks an offering by its index, unless it is unavailable already or there is no reason.
func (m *Marks) Mark(i, j int, why string) {
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
