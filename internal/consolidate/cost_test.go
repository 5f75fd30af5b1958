package consolidate

import (
	"slices"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
)

func weight(deletion, priority int32, replicas int) float64 {
	return Weight(&cluster.Pod{DeletionCost: deletion, Template: &cluster.Template{Priority: priority}}, replicas, false)
}

func TestWeight(t *testing.T) {
	if got := weight(0, 0, 2); got != 1 { // CONS-047
		t.Errorf("a usual pod counts %v, want 1", got)
	}
	if a, b, c := weight(101, 0, 2), weight(100, 0, 2), weight(99, 0, 2); a <= b || b <= c { // CONS-050
		t.Errorf("deletion costs 101, 100 and 99 count %v, %v and %v", a, b, c)
	}
	if got := weight(0, -1, 2); got >= 1 { // CONS-052
		t.Errorf("a priority of -1 counts %v, want less than 1", got)
	}
	if got := weight(-1<<31, -1<<31, 2); got != 0 {
		t.Errorf("the least is %v, want 0", got)
	}
	if got := weight(1<<31-1, 1<<31-1, 2); got != mostWeight {
		t.Errorf("the most is %v, want %d", got, mostWeight)
	}
	if got := weight(0, 0, 1); got != alone {
		t.Errorf("a single replica counts %v, want %d", got, alone)
	}
}

// A pod that was moved lately costs more, on top of all else.
func TestWeightOfMovedPods(t *testing.T) {
	p := &cluster.Pod{Template: &cluster.Template{}}
	for replicas, want := range map[int]float64{1: alone * again, 2: again} {
		if got := Weight(p, replicas, true); got != want {
			t.Errorf("one of %d counts %v, want %v", replicas, got, want)
		}
	}
}

// A pod that nobody misses while it moves costs a tenth, also where it is the only one.
func TestWeightOfCoveredPods(t *testing.T) {
	for _, replicas := range []int{1, 5} {
		if got := Weight(&cluster.Pod{Covered: true, Template: &cluster.Template{}}, replicas, false); got != covered {
			t.Errorf("one of %d counts %v, want %v", replicas, got, covered)
		}
	}
}

// The prices value no machine above what it costs, and together they are what the best
// machines for the demand cost.
func TestUnitPrices(t *testing.T) {
	typ := func(name string, cpu, gib int64, price offer.Price) offer.InstanceType {
		return offer.InstanceType{
			Name: name, Capacity: amount.List{amount.CPU: cpu * 1000, amount.Memory: gib << 30},
			Offerings: []offer.Offering{{Zone: "a", CapacityType: api.CapacityOnDemand, Price: price}},
		}
	}
	gpu := typ("gpu", 8, 32, 1_000_000)
	gpu.Capacity["nvidia.com/gpu"] = 2
	types := []offer.InstanceType{typ("c", 2, 4, 85_000), typ("m", 2, 8, 96_000), typ("r", 2, 16, 126_000), gpu}
	p := &api.Provisioner{}
	p.Name = "default"
	r := NewUnitPrices([]pack.Provisioner{{Spec: p, Types: types}}, amount.List{amount.CPU: 2000, amount.Memory: 6 << 30})
	for _, typ := range types {
		has := typ.Capacity.Minus(amount.List{"nvidia.com/gpu": typ.Capacity["nvidia.com/gpu"]})
		if v := r.Value(has); v > typ.Offerings[0].Price+1 {
			t.Errorf("%s is worth %d, and costs %d", typ.Name, v, typ.Offerings[0].Price)
		}
	}
	// Half of the machines are c, half are m.
	if v := r.Value(amount.List{amount.CPU: 2000, amount.Memory: 6 << 30}); v < 90_000 || v > 91_000 {
		t.Errorf("the demand is worth %d, want the mean of c and m", v)
	}
	if v := r.Value(amount.List{amount.CPU: 100, "nvidia.com/gpu": 1}); v != 500_000 {
		t.Errorf("a GPU is worth %d, want half of its machine", v)
	}
}

// Room in a capacity reservation does not make resources cheap: it is paid for whether or not it is used.
func TestUnitPricesOfReservations(t *testing.T) {
	typ := offer.InstanceType{
		Name: "m", Capacity: amount.List{amount.CPU: 2000, amount.Memory: 8 << 30},
		Offerings: []offer.Offering{{Zone: "a", CapacityType: api.CapacityOnDemand, Price: 96_000}},
	}
	reserved := typ
	reserved.Offerings = append(slices.Clone(typ.Offerings), offer.Offering{
		Zone: "a", CapacityType: api.CapacityReserved, Reservation: "cr-1", Left: 5, Price: offer.ReservedPrice(96_000),
	})
	unknown := reserved // its on-demand price is not known
	unknown.Name, unknown.Offerings = "unknown", slices.Clone(reserved.Offerings[1:])
	only := &api.Provisioner{}
	only.Spec.Requirements = []api.Requirement{{Key: api.LabelCapacityType, Operator: api.OpIn, Values: []string{api.CapacityReserved}}}
	for name, all := range map[string][]pack.Provisioner{
		"beside other offerings": {{Spec: &api.Provisioner{}, Types: []offer.InstanceType{reserved, unknown}}},
		"of another Provisioner": {{Spec: &api.Provisioner{}, Types: []offer.InstanceType{typ}}, {Spec: only, Types: []offer.InstanceType{reserved, unknown}}},
		"alone":                  {{Spec: only, Types: []offer.InstanceType{reserved, unknown}}},
	} {
		r := NewUnitPrices(all, typ.Capacity)
		if v := r.Value(typ.Capacity); v < 95_999 || v > 96_001 {
			t.Errorf("%s: the machine is worth %d, want its on-demand price", name, v)
		}
	}
}

// TestDemandBeyondAll: what any number of pods ask for stays a number that nothing exceeds.
func TestDemandBeyondAll(t *testing.T) {
	s := &cluster.Snapshot{}
	for range 3000 {
		s.Pods = append(s.Pods, cluster.Pod{NodeName: "n", Template: &cluster.Template{Requests: amount.List{amount.CPU: amount.Most}}})
	}
	if got := Demand(s)[amount.CPU]; got < amount.Most {
		t.Errorf("pods ask for %d together", got)
	}
}
