// Package amount holds resource quantities as integers. Kubernetes Quantities
// are converted once, at the border.
package amount

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Share is the largest part that the list takes of any resource of a room.
func (l List) Share(room List) float64 {
	share := 0.0
	for name, v := range l {
		if room[name] > 0 {
			share = max(share, float64(v)/float64(room[name]))
		}
	}
	return share
}

// Names of the resources that every node has, as Kubernetes spells them.
const (
	CPU              = string(corev1.ResourceCPU)
	Memory           = string(corev1.ResourceMemory)
	EphemeralStorage = string(corev1.ResourceEphemeralStorage)
	Pods             = string(corev1.ResourcePods)
)

// Nodes is what limits call the number of nodes: each node counts as one of it, whatever
// capacity it reports.
const Nodes = "nodes"

// Extended reports whether a resource is one that a node has only once somebody announces it.
func Extended(name string) bool { return strings.Contains(name, "/") }

// List maps a resource's name to an amount: thousandths of a core for CPU,
// bytes for memory, ephemeral storage and huge pages, a count for everything
// else. A missing name means zero. Lists are treated as immutable once shared.
type List map[string]int64

// FromResourceList converts Quantities, rounding up to the unit of each resource.
func FromResourceList(in corev1.ResourceList) List {
	if len(in) == 0 {
		return nil
	}
	out := make(List, len(in))
	for name, q := range in {
		out[string(name)] = FromQuantity(string(name), q)
	}
	return out
}

// Most is the largest amount that is distinguished from larger ones: no machine has as much.
const Most = 1 << 53

// far is where sums stay, so that they do not overflow: anybody may give a node any number of pods
// that ask for Most.
const far = 1 << 61

// Add returns the sum of two amounts or sums of such.
func Add(a, b int64) int64 { return max(-far, min(far, a+b)) }

// Product returns n times an amount.
func Product(n, v int64) int64 {
	if math.Abs(float64(n)*float64(v)) >= far {
		return far * int64(cmp.Compare(n, 0)*cmp.Compare(v, 0))
	}
	return n * v
}

// FromQuantity converts one Quantity, rounding up to the resource's unit. There is no
// less than nothing, and beyond 2^53 units all amounts are alike.
func FromQuantity(name string, q resource.Quantity) int64 {
	switch {
	case q.Sign() <= 0:
		return 0
	case q.AsApproximateFloat64() > 2*Most: // to compare figures with large exponents takes long
		return Most
	case q.CmpInt64(Most) >= 0:
		return Most
	case name == CPU:
		return min(Most, q.MilliValue())
	}
	return q.Value()
}

// Quantity converts an amount back, in the format that Kubernetes uses for the resource.
func Quantity(name string, v int64) resource.Quantity {
	switch {
	case name == CPU:
		return *resource.NewMilliQuantity(v, resource.DecimalSI)
	case inBytes(name):
		return *resource.NewQuantity(v, resource.BinarySI)
	}
	return *resource.NewQuantity(v, resource.DecimalSI)
}

// Rounded converts an amount for people to read: bytes are whole mebibytes, rounded
// down, where there is one.
func Rounded(name string, v int64) resource.Quantity {
	if inBytes(name) && v >= 1<<20 {
		v &^= 1<<20 - 1
	}
	return Quantity(name, v)
}

// MarshalJSON writes the amounts as Rounded converts them: {"cpu":"3920m","memory":"3286Mi"}.
func (l List) MarshalJSON() ([]byte, error) {
	out := make(map[string]string, len(l))
	for name, v := range l {
		q := Rounded(name, v)
		out[name] = q.String()
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads Quantities.
func (l *List) UnmarshalJSON(data []byte) error {
	var in corev1.ResourceList
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*l = FromResourceList(in)
	return nil
}

// ResourceList converts all amounts back.
func (l List) ResourceList() corev1.ResourceList {
	out := make(corev1.ResourceList, len(l))
	for name, v := range l {
		out[corev1.ResourceName(name)] = Quantity(name, v)
	}
	return out
}

// Plus returns the sum of both lists.
func (l List) Plus(o List) List { return l.with(o, Add) }

// OfNode returns what a node of that capacity counts against limits: the capacity, and
// one of Nodes.
func (l List) OfNode() List { return l.Plus(List{Nodes: 1}) }

// Minus returns l less o. Amounts may become negative.
func (l List) Minus(o List) List { return l.with(o, func(a, b int64) int64 { return Add(a, -b) }) }

// Times returns n times each amount.
func (l List) Times(n float64) List {
	out := make(List, len(l))
	for name, v := range l {
		out[name] = int64(max(-far, min(far, float64(v)*n)))
	}
	return out
}

// Max returns the larger amount of each resource.
func (l List) Max(o List) List { return l.with(o, func(a, b int64) int64 { return max(a, b) }) }

// with returns a copy of l in which each amount of o is combined with that of l by the function.
func (l List) with(o List, of func(a, b int64) int64) List {
	out := maps.Clone(l)
	if out == nil {
		out = make(List, len(o))
	}
	for name, v := range o {
		out[name] = of(out[name], v)
	}
	return out
}

// Fits reports whether each positive amount is at most that of room.
func (l List) Fits(room List) bool {
	for name, v := range l {
		if v > 0 && v > room[name] {
			return false
		}
	}
	return true
}

// Names returns the resource names in order.
func (l List) Names() []string {
	return slices.Sorted(maps.Keys(l))
}
