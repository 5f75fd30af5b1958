package offer

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// Index says of a list of instance types what decisions want to know of all of
// them, in the order and form in which they look at it. It is made once for a list
// and does not say what is unavailable, so that it also holds for lists that differ
// in nothing else. It is shared: do not change it.
type Index struct {
	// Capacity and Overhead are amounts by resource, each by type. A resource that
	// no type has is not there. Capacity is what counts against limits: of amount.Nodes
	// each type has one.
	Capacity, Overhead map[string][]int64
	// Special types have devices or are bare metal.
	Special []bool
	// Generations are 0 where the cloud does not number its types.
	Generations []int
	// Ranked are all offerings: the cheaper first, of the same price those that are
	// not special, of a newer generation, larger, and then by name, zone and capacity type.
	Ranked []Ranked
	// Places are the zones, capacity types and reservations that offerings are in, of which they say
	// no more.
	Places []Offering
	// Reserved are the offerings of capacity reservations, in the order of the lists.
	Reserved []Ranked

	labels     map[string]*Values
	unlabelled *Values
}

// Values are what types have as a label.
type Values struct {
	// Lists are the different lists of values. The first is empty: that of types
	// without the label.
	Lists [][]string
	// Of says, by type, which of the lists it has.
	Of []int32
	// Single: no type has a choice of values.
	Single bool
	known  map[string]int32 // places in Lists, by content
}

func newValues(n int) *Values {
	return &Values{Lists: [][]string{nil}, Of: make([]int32, n), Single: true, known: map[string]int32{}}
}

// Label returns what the types have as a label, and whether any has it.
func (x *Index) Label(key string) (*Values, bool) {
	if v, ok := x.labels[key]; ok {
		return v, true
	}
	return x.unlabelled, false
}

// Ranked names an offering by its index in the lists, and its place by that in
// Index.Places.
type Ranked struct {
	Type, Offering, Place int32
}

// NewIndex returns the index of types that are sorted by name.
func NewIndex(types []InstanceType) *Index {
	x := &Index{
		Capacity: map[string][]int64{}, Overhead: map[string][]int64{}, labels: map[string]*Values{},
		unlabelled: newValues(len(types)),
		Special:    make([]bool, len(types)), Generations: make([]int, len(types)),
	}
	for i := range types {
		t := &types[i]
		x.Special[i], x.Generations[i] = t.special(), t.generation()
		note(x.Capacity, t.Capacity.OfNode(), i, len(types))
		note(x.Overhead, t.Overhead, i, len(types))
		for key, values := range t.Labels {
			x.label(key, values, i, len(types))
		}
		for j := range t.Offerings {
			at := Ranked{int32(i), int32(j), x.place(&t.Offerings[j])}
			x.Ranked = append(x.Ranked, at)
			if t.Offerings[j].Reservation != "" {
				x.Reserved = append(x.Reserved, at)
			}
		}
	}
	x.rank(types)
	return x
}

func note(amounts map[string][]int64, of amount.List, i, n int) {
	for name, v := range of {
		if amounts[name] == nil {
			amounts[name] = make([]int64, n)
		}
		amounts[name][i] = v
	}
}

func (x *Index) label(key string, values []string, i, n int) {
	v := x.labels[key]
	if v == nil {
		v = newValues(n)
		x.labels[key] = v
	}
	v.Single = v.Single && len(values) == 1
	if i > 0 && v.Of[i-1] > 0 && slices.Equal(values, v.Lists[v.Of[i-1]]) {
		v.Of[i] = v.Of[i-1] // as is usual within a family
		return
	}
	id := strings.Join(values, "\x00")
	at, ok := v.known[id]
	if !ok {
		at = int32(len(v.Lists))
		v.known[id] = at
		v.Lists = append(v.Lists, values)
	}
	v.Of[i] = at
}

func (x *Index) place(o *Offering) int32 {
	in := Offering{Zone: o.Zone, ZoneID: o.ZoneID, CapacityType: o.CapacityType, Reservation: o.Reservation}
	at := slices.Index(x.Places, in)
	if at < 0 {
		at = len(x.Places)
		x.Places = append(x.Places, in)
	}
	return int32(at)
}

func (x *Index) rank(types []InstanceType) {
	slices.SortFunc(x.Ranked, func(a, b Ranked) int {
		if p, q := a.price(types), b.price(types); p != q {
			return cmp.Compare(p, q)
		}
		if a.Type != b.Type {
			return x.prefer(a.Type, b.Type)
		}
		return int(a.Offering - b.Offering)
	})
}

func (r Ranked) price(types []InstanceType) Price { return types[r.Type].Offerings[r.Offering].Price }

// prefer tells which type is preferred at the same price. Types are sorted by name.
func (x *Index) prefer(a, b int32) int {
	if x.Special[a] != x.Special[b] {
		if x.Special[b] {
			return -1
		}
		return 1
	}
	if x.Generations[a] != x.Generations[b] {
		return cmp.Compare(x.Generations[b], x.Generations[a])
	}
	for _, name := range [...]string{amount.CPU, amount.Memory, amount.Pods} {
		if has := x.Capacity[name]; has != nil && has[a] != has[b] {
			return cmp.Compare(has[b], has[a])
		}
	}
	return int(a - b)
}

func (t *InstanceType) generation() int {
	value, _ := t.Label(api.LabelInstanceGeneration)
	n, _ := strconv.Atoi(value) // 0 for a cloud that does not number its types
	return n
}

// special reports whether a type has devices, also a fraction of a GPU, of which EC2 counts none,
// or is bare metal: it is bought only for pods that ask for that, or that fit nothing else.
func (t *InstanceType) special() bool {
	if size, _ := t.Label(api.LabelInstanceSize); strings.HasPrefix(size, "metal") {
		return true
	}
	if _, ok := t.Label(api.LabelInstanceGPUName); ok {
		return true
	}
	for name, v := range t.Capacity {
		if v > 0 && Device(name) {
			return true
		}
	}
	return false
}

// Device reports whether a resource is a device rather than part of every node.
func Device(resource string) bool {
	switch resource {
	case amount.CPU, amount.Memory, amount.Pods, amount.EphemeralStorage:
		return false
	}
	return !strings.HasPrefix(resource, "hugepages-") && !strings.HasPrefix(resource, "vpc.amazonaws.com/")
}
