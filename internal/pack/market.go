package pack

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// column is one thing that can be bought: an offering of an instance type with
// one Provisioner. Columns are sorted by Provisioner, then by preference: price,
// newer generation, larger, name, zone, capacity type.
type column struct {
	provisioner int
	typ         *offer.InstanceType
	offering    *offer.Offering
	price       int64
	capacity    []int64 // what counts against limits
	room        []int64 // what pods can have once the DaemonSets run
	special     bool    // has devices or is bare metal
	// daemons are indices of the solver's DaemonSets that will run on it.
	daemons []int
	shape   int // columns of one shape have equal room, daemons and Provisioner
}

// seller is a Provisioner that may buy, with what it says about its nodes.
type seller struct {
	*Provisioner
	index   int
	weight  int32
	has     match.Requirements
	limits  amount.List
	used    []int64 // capacity of its nodes, by the solver's space
	columns [2]int  // range of its columns
	mask    bitset  // the same as a set
	// residual is what its machines' labels must be before any pod is on them.
	residual int
	// checked are keys that podOverrides leave to each pod.
	checked []string
}

func newSeller(p *Provisioner, index int) *seller {
	s := &seller{Provisioner: p, index: index, has: match.ForProvisioner(p.Spec)}
	if p.Spec.Spec.Weight != nil {
		s.weight = *p.Spec.Spec.Weight
	}
	if l := p.Spec.Spec.Limits; l != nil {
		s.limits = amount.FromResourceList(l.Resources)
	}
	for _, key := range p.Spec.Spec.PodOverrides {
		s.checked = append(s.checked, api.NormalizeLabel(key))
	}
	slices.Sort(s.checked)
	return s
}

// columnsOf lists what the seller's own requirements allow. Overridable keys are
// left to the pods' requirements.
func (s *seller) columnsOf(sp *space) []column {
	if s.Closed != "" || s.Spec.DeletionTimestamp != nil {
		return nil
	}
	var own match.Requirements
	for _, q := range s.has {
		if !slices.Contains(s.checked, q.Key) {
			own = append(own, q)
		}
	}
	var out []column
	for i := range s.Types {
		t := &s.Types[i]
		if _, ok := typeAllows(own, t); !ok {
			continue
		}
		capacity, room := sp.vector(t.Capacity), sp.vector(t.Allocatable())
		for k, name := range sp.names {
			if strings.HasPrefix(name, attachPrefix) {
				room[k] = plenty
			}
		}
		for j := range t.Offerings {
			o := &t.Offerings[j]
			if o.Unavailable == "" && offeringAllows(own, o) {
				out = append(out, column{provisioner: s.index, typ: t, offering: o, price: int64(o.Price), capacity: capacity, room: room, special: special(t)})
			}
		}
	}
	slices.SortStableFunc(out, compareColumns)
	return out
}

func compareColumns(a, b column) int {
	if c := cmp.Or(cmp.Compare(a.price, b.price), cmpBool(a.special, b.special), cmp.Compare(generation(b.typ), generation(a.typ))); c != 0 {
		return c
	}
	for _, name := range []string{amount.CPU, amount.Memory, amount.Pods} {
		if c := cmp.Compare(b.typ.Capacity[name], a.typ.Capacity[name]); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(a.typ.Name, b.typ.Name), cmp.Compare(a.offering.Zone, b.offering.Zone), cmp.Compare(a.offering.CapacityType, b.offering.CapacityType))
}

func cmpBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func generation(t *offer.InstanceType) int {
	value, _ := t.Label(api.LabelInstanceGeneration)
	n, _ := strconv.Atoi(value) // 0 for a cloud that does not number its types
	return n
}

// special reports whether a type has devices or is bare metal: it is bought only
// for pods that ask for that, or that fit nothing else.
func special(t *offer.InstanceType) bool {
	if size, _ := t.Label(api.LabelInstanceSize); strings.HasPrefix(size, "metal") {
		return true
	}
	for name, v := range t.Capacity {
		if v > 0 && device(name) {
			return true
		}
	}
	return false
}

// device reports whether a resource is a device rather than part of every node.
func device(resource string) bool {
	switch resource {
	case amount.CPU, amount.Memory, amount.Pods, amount.EphemeralStorage:
		return false
	}
	return !strings.HasPrefix(resource, "hugepages-") && !strings.HasPrefix(resource, "vpc.amazonaws.com/")
}

// asksForSpecial reports whether the requirements name what only some special
// types have, or types by name.
func asksForSpecial(r match.Requirements) bool {
	for _, q := range r {
		values, listed := q.Set.Values()
		if !listed || len(values) == 0 {
			continue
		}
		switch q.Key {
		case api.LabelInstanceType, api.LabelInstanceFamily, api.LabelInstanceSize,
			api.LabelInstanceGPUName, api.LabelInstanceGPUManufacturer, api.LabelInstanceGPUCount, api.LabelInstanceGPUMemory,
			api.LabelInstanceAcceleratorName, api.LabelInstanceAcceleratorMaker, api.LabelInstanceAcceleratorCount:
			return true
		}
	}
	return false
}

// typeAllows reports whether the type's labels can satisfy the requirements, and
// the first that they cannot. Labels that do not follow from the type, and those
// of the offering, are not looked at.
func typeAllows(r match.Requirements, t *offer.InstanceType) (match.Requirement, bool) {
	for _, q := range r {
		if ofOffering(q.Key) {
			continue
		}
		if values, ok := t.Labels[q.Key]; ok {
			if !q.Set.HasAny(values) {
				return q, false
			}
		} else if api.WellKnown(q.Key) && !q.Set.HasMissing() {
			return q, false
		}
	}
	return match.Requirement{}, true
}

func ofOffering(key string) bool {
	return key == api.LabelZone || key == api.LabelCapacityType || key == api.LabelZoneID
}

func offeringAllows(r match.Requirements, o *offer.Offering) bool {
	return allowsValue(r, api.LabelZone, o.Zone) && allowsValue(r, api.LabelCapacityType, o.CapacityType) && allowsValue(r, api.LabelZoneID, o.ZoneID)
}

func allowsValue(r match.Requirements, key, value string) bool {
	set, ok := r.Get(key)
	return !ok || set.Has(value)
}
