package model

import (
	"maps"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bitset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Bitset is a set of offerings or shapes by their indices.
type Bitset = bitset.Set

// NewBitset returns an empty set of indices below n.
func NewBitset(n int) Bitset { return bitset.New(n) }

// Supply is what may be bought for some pod, and what sets of requirements allow of it. Offerings that no pod can use
// are left out, so that they do not influence the plan. Copies may be changed, and share what was answered.
type Supply struct {
	Space      *Space
	Pools      []*Pool
	Selling    []*Pool // those that have something for some pod
	Offerings  []Offering
	Shapes     []*Shape
	Special    Bitset      // offerings that have devices or are bare metal
	DaemonSets []DaemonSet // DaemonSets that run anywhere
	LeftOut    []LeftOut   // those that some pool has no machine for
	Nodes      []*Node     // nodes that are room, in the order in which they are filled
	Closed     []*Node     // other nodes that stay, of which only the pods matter
	Effort     *Effort
	*answers

	varied bool // some pool has MinValues
}

// answers are what was asked of a Supply. They depend on what offerings and nodes are, not on the room that they have.
type answers struct {
	nodeLabels  map[string]bool   // keys of labels that some node has; see unlabelled
	origins     map[string]origin // of labels that were asked for
	options     map[string]*Options
	meet        map[string]Bitset // by pool and requirement
	residuals   []match.Requirements
	Choices     []bool // by residual: it is about labels that some types have, or label choices limit
	residualIDs map[string]int
	merged      map[[2]int]int
	byKeys      map[combinationKey][]DomainCombination
	labelled    map[[2]int]map[string]string // of machines, by offering and residual
}

func newAnswers() *answers {
	return &answers{
		origins: map[string]origin{}, options: map[string]*Options{}, meet: map[string]Bitset{}, residualIDs: map[string]int{},
		merged: map[[2]int]int{}, byKeys: map[combinationKey][]DomainCombination{}, labelled: map[[2]int]map[string]string{},
	}
}

// Extend adds resources behind the others, and says how much of each every machine has. Copies made before do not change.
func (s *Supply) Extend(names []string, each []int64) {
	s.Space = s.Space.with(names)
	none := make([]int64, len(names))
	s.DaemonSets = slices.Clone(s.DaemonSets)
	for i := range s.DaemonSets {
		s.DaemonSets[i].Need = slices.Concat(s.DaemonSets[i].Need, none)
	}
	extended := map[*Shape]*Shape{nil: nil}
	s.Shapes = slices.Clone(s.Shapes)
	for i, of := range s.Shapes {
		own := *of
		own.Capacity, own.Room = slices.Concat(of.Capacity, none), slices.Concat(of.Room, each)
		s.Shapes[i], extended[of] = &own, &own
	}
	s.Offerings = slices.Clone(s.Offerings)
	for k := range s.Offerings {
		o := &s.Offerings[k]
		o.Shape, o.Bare = extended[o.Shape], extended[o.Bare]
	}
}

// Offering is one thing that can be bought: an offering of an instance type with
// one Provisioner. Offerings are sorted by Provisioner, then by preference: price,
// newer generation, larger, name, zone, capacity type. As the cost is the price and the same
// amount for each, they are sorted by cost as well: whoever looks for the cheapest stops at the first
// that will do. A cost that differs from the price by more needs another order.
type Offering struct {
	*Shape
	Offer *offer.Offering
	Price int64 // what is paid
	Cost  int64 // what plans minimise: the price, and what a machine costs beyond it; for nodes in use, costOf in package decide
	Place int   // index of offer.Index.Places
	// LabelChoice is what labels that the Provisioner leaves open are limited to on its
	// machines; LabelChoiceIndex numbers those of a pool.
	LabelChoice      match.Requirements
	LabelChoiceIndex int
	// Where the Provisioner has minValues: what is offered with it, this one first, and the
	// shape with all its room, of which Shape has only what all of these have. Nil where
	// there is not enough choice, so that nothing has room.
	With []int
	Bare *Shape
}

// Shape is what offerings have in common: the type, the Provisioner and the DaemonSets.
type Shape struct {
	Number    int // index of Supply.Shapes
	Pool      int
	Type      *offer.InstanceType
	TypeIndex int     // the type's index among those of the Provisioner
	Capacity  []int64 // what counts against limits
	Room      []int64 // what pods can have once the DaemonSets run
	Special   bool    // has devices or is bare metal
	// DaemonSets are indices of Supply.DaemonSets that will run on it.
	DaemonSets []int
}

// Pool is a Provisioner that may buy, with what it says about its nodes.
type Pool struct {
	*Provisioner
	Number       int
	Catalogue    *offer.Index
	Weight       int32
	Requirements match.Requirements
	Limits       amount.List // those that constrain the solution
	// Most is the most that may be bought: the Provisioner's limits, and what is left of the
	// capacity reservations that it may buy from, by offer.ReservationResource. Nil for no end.
	Most      amount.List
	Has       amount.List // capacity of its nodes, where it has limits
	Offerings [2]int      // range of its offerings
	Mask      Bitset      // the same as a set
	Least     []int64     // of each resource, what each of its machines counts against limits at least
	// Residual is what its machines' labels must be before any pod is on them.
	Residual int
	// MinValues are what must be offered in a launch request.
	MinValues []api.MinValue
	// Overridable are keys that podOverrides leave to each pod.
	Overridable []string
}

func newPool(p *Provisioner, index int, binding amount.List) *Pool {
	s := &Pool{Provisioner: p, Number: index, Limits: binding, Requirements: match.ForProvisioner(p.Spec)}
	if s.Catalogue = p.Index; s.Catalogue == nil {
		s.Catalogue = offer.NewIndex(p.Types)
	}
	if p.Spec.Spec.Weight != nil {
		s.Weight = *p.Spec.Spec.Weight
	}
	for _, key := range p.Spec.Spec.PodOverrides {
		s.Overridable = append(s.Overridable, api.NormalizeLabel(key))
	}
	slices.Sort(s.Overridable)
	s.Most = s.most()
	return s
}

func (p *Pool) most() amount.List {
	var out amount.List
	if p.Spec.Spec.Limits != nil {
		out = amount.FromResourceList(p.Spec.Spec.Limits.Resources)
		// No cluster has as much, but machines that might be bought instead could add up to it.
		maps.DeleteFunc(out, func(_ string, limit int64) bool { return limit == amount.Most })
	}
	for _, at := range p.Catalogue.Reserved {
		if out == nil {
			out = amount.List{}
		}
		o := &p.Types[at.Type].Offerings[at.Offering]
		out[offer.ReservationResource(o.Reservation)] = o.Left
	}
	return out
}

// list lists what the pools sell and the classes can use.
func (s *Supply) list(classes []*Class, nodeCost offer.Price) {
	demands := demandsOf(classes)
	for _, p := range s.Pools {
		p.Offerings[0] = len(s.Offerings)
		s.addOfferings(p, demands)
		p.Offerings[1] = len(s.Offerings)
	}
	s.Selling = slices.DeleteFunc(slices.Clone(s.Pools), func(p *Pool) bool { return p.Offerings[0] == p.Offerings[1] })
	for _, p := range s.Selling {
		p.Residual = s.intern(s.residualOf(p.Requirements))
		p.Mask, p.Least = NewBitset(len(s.Offerings)), slices.Clone(s.Offerings[p.Offerings[0]].Capacity)
		for k := p.Offerings[0]; k < p.Offerings[1]; k++ {
			p.Mask.Add(k)
			for i, v := range s.Offerings[k].Capacity {
				p.Least[i] = min(p.Least[i], v)
			}
		}
	}
	s.Special = NewBitset(len(s.Offerings))
	for k := range s.Offerings {
		o := &s.Offerings[k]
		o.Cost = o.Price + int64(nodeCost)
		if o.Special {
			s.Special.Add(k)
		}
	}
}

// addOfferings adds what the pool's own requirements and some demand allow. Overridable
// keys are left to the pods' requirements.
func (s *Supply) addOfferings(p *Pool, demands []demand) {
	if p.Closed != "" || p.Spec.DeletionTimestamp != nil {
		return
	}
	var own match.Requirements
	for _, q := range p.Requirements {
		if q.Key != api.LabelProvisioner && !slices.Contains(p.Overridable, q.Key) { // no type has that one
			own = append(own, q)
		}
	}
	types, places := typesAllowed(own, p.Catalogue), placesAllowed(own, p.Catalogue)
	wanted := s.demandedOf(p, demands)
	if len(wanted) == 0 {
		return
	}
	shapes, choices := s.newShapes(p), s.labelChoicesOf(p)
	s.Offerings = slices.Grow(s.Offerings, len(p.Catalogue.Ranked)*len(choices))
	for _, at := range p.Catalogue.Ranked {
		if !types[at.Type] || !places[at.Place] || !wanted.has(at) {
			continue
		}
		o := &p.Types[at.Type].Offerings[at.Offering]
		if o.Unavailable != "" {
			continue
		}
		of := &shapes[at.Type]
		if o.Reservation != "" {
			of = s.reserved(of, o)
		}
		if of.Number < 0 {
			of.Number = len(s.Shapes)
			s.Shapes = append(s.Shapes, of)
		}
		for i, labels := range choices {
			s.Offerings = append(s.Offerings, Offering{Shape: of, Offer: o, Price: int64(o.Price), Place: int(at.Place), LabelChoice: labels, LabelChoiceIndex: i})
		}
	}
}

// newShapes returns the shapes of the pool's types on which no DaemonSets run. They
// are numbered when the first offering of theirs is there.
func (s *Supply) newShapes(p *Pool) []Shape {
	shapes, width := make([]Shape, len(p.Types)), len(s.Space.Names)
	vectors := make([]int64, 2*width*len(p.Types))
	for i := range shapes {
		shapes[i] = Shape{
			Number: -1, Pool: p.Number, Type: &p.Types[i], TypeIndex: i, Special: p.Catalogue.Special[i],
			Capacity: vectors[:width:width], Room: vectors[width : 2*width : 2*width],
		}
		vectors = vectors[2*width:]
	}
	for k, name := range s.Space.Names {
		has, less := p.Catalogue.Capacity[name], p.Catalogue.Overhead[name]
		for i := range has {
			shapes[i].Capacity[k], shapes[i].Room[k] = has[i], has[i]
		}
		for i := range less {
			shapes[i].Room[k] = max(0, shapes[i].Room[k]-less[i])
		}
	}
	return shapes
}

// reserved returns the shape as an offering of a capacity reservation has it: where what is
// left of the reservation counts, it is one less with each machine.
func (s *Supply) reserved(of *Shape, o *offer.Offering) *Shape {
	out := *of
	out.Number = -1
	if at, counts := s.Space.index[offer.ReservationResource(o.Reservation)]; counts {
		out.Capacity = slices.Clone(of.Capacity)
		out.Capacity[at] = 1
	}
	return &out
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
		if offer.DecidesLabel(q.Key) {
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
	r = slices.DeleteFunc(slices.Clone(r), func(q match.Requirement) bool { return !offer.DecidesLabel(q.Key) })
	return func(o *offer.Offering) bool {
		return !slices.ContainsFunc(r, func(q match.Requirement) bool {
			value, ok := o.Label(q.Key)
			return ok && !q.Set.Has(value) || !ok && !q.Set.HasMissing()
		})
	}
}
