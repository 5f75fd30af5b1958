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
	rank        int // of the type, among those of the Provisioner
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

// appendColumns adds what the seller's own requirements allow. Overridable keys are
// left to the pods' requirements.
func (s *seller) appendColumns(columns []column, sp *space) []column {
	if s.Closed != "" || s.Spec.DeletionTimestamp != nil {
		return columns
	}
	var own match.Requirements
	for _, q := range s.has {
		if !slices.Contains(s.checked, q.Key) {
			own = append(own, q)
		}
	}
	ranks := ranksOf(s.Types)
	sold := s.sold(own, ranks)
	models := make([]column, len(s.Types)) // by rank
	columns = slices.Grow(columns, len(sold))
	for _, item := range sold {
		c := &models[item.rank]
		if c.typ == nil {
			t := &s.Types[item.typ]
			*c = column{provisioner: s.index, typ: t, rank: item.rank, capacity: sp.vector(t.Capacity), room: sp.roomOf(t), special: special(t)}
		}
		c.offering = &c.typ.Offerings[item.offering]
		c.price = item.price
		columns = append(columns, *c)
	}
	return columns
}

// sale is one thing that a seller sells.
type sale struct {
	price               int64
	rank, typ, offering int // of the type: its rank and index; index of the offering
}

// sold lists what the seller's own requirements allow by price, then by the rank of
// the type, then in the order of its offerings.
func (s *seller) sold(own match.Requirements, ranks []int) []sale {
	count := 0
	for i := range s.Types {
		count += len(s.Types[i].Offerings)
	}
	out := make([]sale, 0, count)
	allows := offeringTest(own)
	for i := range s.Types {
		t := &s.Types[i]
		if _, ok := typeAllows(own, t); !ok {
			continue
		}
		for j := range t.Offerings {
			if o := &t.Offerings[j]; o.Unavailable == "" && allows(o) {
				out = append(out, sale{int64(o.Price), ranks[i], i, j})
			}
		}
	}
	slices.SortFunc(out, func(a, b sale) int {
		if a.price != b.price {
			return cmp.Compare(a.price, b.price)
		}
		if a.rank != b.rank {
			return a.rank - b.rank
		}
		return a.offering - b.offering
	})
	return out
}

// roomOf returns what a machine of the type has for pods.
func (s *space) roomOf(t *offer.InstanceType) []int64 {
	room := s.vector(t.Capacity)
	for k, name := range s.names {
		room[k] = max(0, room[k]-t.Overhead[name])
		if strings.HasPrefix(name, attachPrefix) {
			room[k] = plenty
		}
	}
	return room
}

// ranksOf numbers the types in the order in which they are preferred at the same
// price.
func ranksOf(types []offer.InstanceType) []int {
	type key struct {
		at, generation int
		special        bool
		capacity       [3]int64
	}
	keys := make([]key, len(types))
	for i := range types {
		t := &types[i]
		keys[i] = key{i, generation(t), special(t), [3]int64{t.Capacity[amount.CPU], t.Capacity[amount.Memory], t.Capacity[amount.Pods]}}
	}
	slices.SortFunc(keys, func(a, b key) int {
		if c := cmp.Or(cmpBool(a.special, b.special), cmp.Compare(b.generation, a.generation)); c != 0 {
			return c
		}
		return cmp.Or(slices.Compare(b.capacity[:], a.capacity[:]), strings.Compare(types[a.at].Name, types[b.at].Name))
	})
	out := make([]int, len(types))
	for rank, k := range keys {
		out[k.at] = rank
	}
	return out
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

func offeringAllows(r match.Requirements, o *offer.Offering) bool { return offeringTest(r)(o) }

// offeringTest returns whether offerings meet the requirements, which are looked
// up once.
func offeringTest(r match.Requirements) func(*offer.Offering) bool {
	zone, byZone := r.Get(api.LabelZone)
	capacity, byCapacity := r.Get(api.LabelCapacityType)
	id, byID := r.Get(api.LabelZoneID)
	return func(o *offer.Offering) bool {
		return (!byZone || zone.Has(o.Zone)) && (!byCapacity || capacity.Has(o.CapacityType)) && (!byID || id.Has(o.ZoneID))
	}
}
