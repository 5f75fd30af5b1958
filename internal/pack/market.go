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
	*shape
	offering *offer.Offering
	price    int64
}

// shape is what columns have in common: the type, the Provisioner and the DaemonSets.
type shape struct {
	number      int // index of solver.shapes
	provisioner int
	typ         *offer.InstanceType
	model       int // the type's index among those of the Provisioner
	generation  int
	capacity    []int64 // what counts against limits
	room        []int64 // what pods can have once the DaemonSets run
	special     bool    // has devices or is bare metal
	// daemons are indices of the solver's DaemonSets that will run on it.
	daemons []int
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

// addColumns adds what the seller's own requirements allow. Overridable keys are
// left to the pods' requirements.
func (s *solver) addColumns(p *seller) {
	if p.Closed != "" || p.Spec.DeletionTimestamp != nil {
		return
	}
	var own match.Requirements
	for _, q := range p.has {
		if q.Key != api.LabelProvisioner && !slices.Contains(p.checked, q.Key) { // no type has that one
			own = append(own, q)
		}
	}
	sales, sold := s.salesOf(p, own)
	s.columns = slices.Grow(s.columns, len(sold))
	for _, of := range sales {
		for _, o := range sold[of.from:of.to] {
			s.columns = append(s.columns, column{of.shape, o, of.price})
		}
	}
}

// sale is what a seller sells of one type at one price: a range of offerings.
type sale struct {
	*shape
	price    int64
	from, to int
}

// salesOf lists what the requirements allow in the order in which it is preferred, and
// the offerings that the sales speak of.
func (s *solver) salesOf(p *seller, own match.Requirements) ([]sale, []*offer.Offering) {
	sales, sold := make([]sale, 0, len(p.Types)), make([]*offer.Offering, 0, 4*len(p.Types))
	allows := offeringTest(own)
	for i := range p.Types {
		t := &p.Types[i]
		if _, ok := typeAllows(own, t); !ok {
			continue
		}
		var of *shape
		for j := range t.Offerings {
			o := &t.Offerings[j]
			if o.Unavailable != "" || !allows(o) {
				continue
			}
			if of == nil {
				of = s.newShape(p, i)
			}
			if last := len(sales) - 1; last < 0 || sales[last].shape != of || sales[last].price != int64(o.Price) {
				sales = append(sales, sale{of, int64(o.Price), len(sold), len(sold)})
			}
			sold = append(sold, o)
			sales[len(sales)-1].to++
		}
	}
	slices.SortFunc(sales, func(a, b sale) int {
		switch {
		case a.price != b.price:
			return cmp.Compare(a.price, b.price)
		case a.shape != b.shape:
			return s.prefer(a.shape, b.shape)
		}
		return a.from - b.from
	})
	return sales, sold
}

// newShape adds the shape of a type of the seller on which no DaemonSets run.
func (s *solver) newShape(p *seller, model int) *shape {
	t := &p.Types[model]
	capacity := s.space.vector(t.Capacity)
	out := &shape{
		number: len(s.shapes), provisioner: p.index, typ: t, model: model, generation: generation(t),
		capacity: capacity, room: s.space.roomOf(t, capacity), special: special(t),
	}
	s.shapes = append(s.shapes, out)
	return out
}

// roomOf returns what a machine of the type, which has so much, has for pods.
func (s *space) roomOf(t *offer.InstanceType, capacity []int64) []int64 {
	room := slices.Clone(capacity)
	for name, v := range t.Overhead {
		if k, ok := s.index[name]; ok {
			room[k] = max(0, room[k]-v)
		}
	}
	for _, k := range s.volumes {
		room[k] = plenty
	}
	return room
}

// prefer tells which shape is preferred at the same price.
func (s *solver) prefer(a, b *shape) int {
	if c := cmp.Or(cmpBool(a.special, b.special), cmp.Compare(b.generation, a.generation)); c != 0 {
		return c
	}
	for _, name := range [...]string{amount.CPU, amount.Memory, amount.Pods} {
		if k := s.space.index[name]; a.capacity[k] != b.capacity[k] {
			return cmp.Compare(b.capacity[k], a.capacity[k])
		}
	}
	return strings.Compare(a.typ.Name, b.typ.Name)
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
