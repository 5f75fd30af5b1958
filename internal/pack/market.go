package pack

import (
	"slices"

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
	place    int // index of offer.Index.Places
}

// shape is what columns have in common: the type, the Provisioner and the DaemonSets.
type shape struct {
	number      int // index of solver.shapes
	provisioner int
	typ         *offer.InstanceType
	model       int     // the type's index among those of the Provisioner
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
	goods   *offer.Index
	weight  int32
	has     match.Requirements
	limits  amount.List // those that constrain the solution
	had     amount.List // capacity of its nodes, where it has limits
	columns [2]int      // range of its columns
	mask    bitset      // the same as a set
	// residual is what its machines' labels must be before any pod is on them.
	residual int
	// checked are keys that podOverrides leave to each pod.
	checked []string
}

func newSeller(p *Provisioner, index int, binding amount.List) *seller {
	s := &seller{Provisioner: p, index: index, limits: binding, has: match.ForProvisioner(p.Spec)}
	if s.goods = p.Index; s.goods == nil {
		s.goods = offer.NewIndex(p.Types)
	}
	if p.Spec.Spec.Weight != nil {
		s.weight = *p.Spec.Spec.Weight
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
	types, places := typesAllowed(own, p.goods), placesAllowed(own, p.goods)
	shapes := s.newShapes(p)
	s.columns = slices.Grow(s.columns, len(p.goods.Ranked))
	for _, at := range p.goods.Ranked {
		if !types[at.Type] || !places[at.Place] {
			continue
		}
		o := &p.Types[at.Type].Offerings[at.Offering]
		if o.Unavailable != "" {
			continue
		}
		of := &shapes[at.Type]
		if of.number < 0 {
			of.number = len(s.shapes)
			s.shapes = append(s.shapes, of)
		}
		s.columns = append(s.columns, column{of, o, int64(o.Price), int(at.Place)})
	}
}

// newShapes returns the shapes of the seller's types on which no DaemonSets run. They
// are numbered when the first column of theirs is there.
func (s *solver) newShapes(p *seller) []shape {
	shapes, width := make([]shape, len(p.Types)), len(s.space.names)
	vectors := make([]int64, 2*width*len(p.Types))
	for i := range shapes {
		shapes[i] = shape{
			number: -1, provisioner: p.index, typ: &p.Types[i], model: i, special: p.goods.Special[i],
			capacity: vectors[:width:width], room: vectors[width : 2*width : 2*width],
		}
		vectors = vectors[2*width:]
	}
	for k, name := range s.space.names {
		has, less := p.goods.Capacity[name], p.goods.Overhead[name]
		for i := range has {
			shapes[i].capacity[k], shapes[i].room[k] = has[i], has[i]
		}
		for i := range less {
			shapes[i].room[k] = max(0, shapes[i].room[k]-less[i])
		}
	}
	return shapes
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

// typesAllowed reports, by type, whether its labels can satisfy the requirements.
// Labels that do not follow from the type, and those of the offering, are not looked at.
func typesAllowed(r match.Requirements, of *offer.Index) []bool {
	out := make([]bool, len(of.Special))
	for i := range out {
		out[i] = true
	}
	for _, q := range r {
		if ofOffering(q.Key) {
			continue
		}
		values, _ := of.Label(q.Key)
		allowed := make([]bool, len(values.Lists))
		for i, list := range values.Lists {
			allowed[i] = q.Set.HasAny(list)
		}
		allowed[0] = !api.WellKnown(q.Key) || q.Set.HasMissing()
		for i, list := range values.Of {
			out[i] = out[i] && allowed[list]
		}
	}
	return out
}

func ofOffering(key string) bool {
	return key == api.LabelZone || key == api.LabelCapacityType || key == api.LabelZoneID
}

func offeringAllows(r match.Requirements, o *offer.Offering) bool { return offeringTest(r)(o) }

// placesAllowed reports, by place, whether its offerings meet the requirements.
func placesAllowed(r match.Requirements, of *offer.Index) []bool {
	out, allows := make([]bool, len(of.Places)), offeringTest(r)
	for i := range of.Places {
		out[i] = allows(&of.Places[i])
	}
	return out
}

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
