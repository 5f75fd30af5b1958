package price

import (
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// sold returns a supply of two types: one with much CPU and one with much memory.
func sold(t *testing.T) *model.Model {
	t.Helper()
	machine := func(name string, cpu, memory int64, price offer.Price) offer.InstanceType {
		return offer.InstanceType{
			Name: name, Labels: map[string][]string{corev1.LabelInstanceTypeStable: {name}},
			Capacity:  amount.List{amount.CPU: cpu, amount.Memory: memory, amount.Pods: 100},
			Offerings: []offer.Offering{{Zone: "a", CapacityType: api.CapacityOnDemand, Price: price}},
		}
	}
	in := &model.Input{
		Snapshot: &cluster.Snapshot{}, Binding: make([]amount.List, 1),
		Provisioners: []model.Provisioner{{
			Spec:  &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
			Types: []offer.InstanceType{machine("cpu", 4000, 4, 100), machine("memory", 4000, 16, 160)},
		}},
		Pods: []model.Pod{{Pod: &cluster.Pod{Template: &cluster.Template{Requests: amount.List{amount.CPU: 1}}}}},
		Key:  func(b []byte, _ *cluster.Template, _ match.Needs) []byte { return b },
	}
	m := model.New(in, model.NewEffort(in.Pods, 0))
	if len(m.Offerings) != 2 || m.Space.Names[0] != amount.CPU {
		t.Fatalf("%d offerings of %q", len(m.Offerings), m.Space.Names)
	}
	return m
}

// TestPrice: pods that need both resources pay for CPU what the type with little memory
// costs, and for memory what more of it costs.
func TestPrice(t *testing.T) {
	m := sold(t)
	d := NewDemand(len(m.Space.Names))
	d.Add([]int64{1000, 3, 0}, 8) // three quarters of a machine of either type hold no more
	found := New(&m.Supply, []int{0, 1}).Price(d)
	for k, want := range []float64{100, 160} {
		value := float64(found.Dual[0]*float64(m.Offerings[k].Room[0])) + float64(found.Dual[1]*float64(d.usable(m.Offerings[k].Room[1], 1)))
		if value > want*(1+1e-9) {
			t.Errorf("the room of offering %d is worth %g, more than its price of %g", k, value, want)
		}
	}
	all := model.NewBitset(2)
	all.Add(0)
	if least, ok := found.Least(all); !ok || least < 1 || math.IsInf(least, 1) {
		t.Errorf("a unit of value costs %g on the type with little memory, want 1 or more", least)
	}
	if _, ok := found.Least(model.NewBitset(2)); ok {
		t.Error("nothing has a price per unit")
	}
}

func TestUsableRoomIsWholeGrains(t *testing.T) {
	d := NewDemand(2)
	d.Add([]int64{500, 0}, 3)
	d.Add([]int64{750, 0}, 1)
	if got := d.usable(1999, 0); got != 1750 {
		t.Errorf("got %d, want 1750: the needs are multiples of 250", got)
	}
	if got := d.usable(1999, 1); got != 0 {
		t.Errorf("got %d of a resource that nobody needs", got)
	}
}
