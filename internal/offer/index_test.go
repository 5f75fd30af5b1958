package offer

import (
	"slices"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// TestIndexSaysWhatTheTypesSay: the index of the embedded catalogue agrees with it,
// type by type.
func TestIndexSaysWhatTheTypesSay(t *testing.T) {
	types := Embedded().Types(Settings{Region: "us-east-1"})
	x := NewIndex(types)
	offerings := 0
	for i := range types {
		typ := &types[i]
		offerings += len(typ.Offerings)
		for key, values := range typ.Labels {
			if v, ok := x.Label(key); !ok || !slices.Equal(v.Lists[v.Of[i]], values) {
				t.Errorf("%s: label %s is not %v", typ.Name, key, values)
			}
		}
		for _, key := range []string{api.LabelInstanceGPUName, api.LabelInstanceLocalNVMe} {
			v, _ := x.Label(key)
			if _, has := typ.Labels[key]; has != (v.Of[i] > 0) {
				t.Errorf("%s has label %s: %t", typ.Name, key, v.Of[i] > 0)
			}
		}
		for name, v := range typ.Capacity.OfNode() {
			if x.Capacity[name][i] != v {
				t.Errorf("%s has %d of %s, not %d", typ.Name, x.Capacity[name][i], name, v)
			}
		}
		for name, v := range typ.Overhead {
			if x.Overhead[name][i] != v {
				t.Errorf("%s keeps %d of %s, not %d", typ.Name, x.Overhead[name][i], name, v)
			}
		}
	}
	if len(x.Ranked) != offerings {
		t.Errorf("%d of %d offerings are ranked", len(x.Ranked), offerings)
	}
	for _, r := range x.Ranked {
		o, in := types[r.Type].Offerings[r.Offering], x.Places[r.Place]
		if want := (Offering{Zone: o.Zone, ZoneID: o.ZoneID, CapacityType: o.CapacityType}); in != want {
			t.Errorf("%s is in %+v, not %+v", types[r.Type].Name, in, want)
		}
	}
	if v, ok := x.Label("team"); ok || len(v.Of) != len(types) || slices.Max(v.Of) > 0 {
		t.Error("a label that no type has is there")
	}
}

// TestIndexRanks: price, devices, generation, size, name and place decide, in turn.
func TestIndexRanks(t *testing.T) {
	typ := func(name, generation string, capacity amount.List, prices ...Price) InstanceType {
		out := InstanceType{Name: name, Labels: map[string][]string{api.LabelInstanceGeneration: {generation}}, Capacity: capacity}
		for _, p := range prices {
			out.Offerings = append(out.Offerings, Offering{Price: p})
		}
		return out
	}
	small, large := amount.List{amount.CPU: 1000}, amount.List{amount.CPU: 2000}
	x := NewIndex([]InstanceType{
		typ("a", "5", amount.List{amount.CPU: 9000, "nvidia.com/gpu": 1}, 7),
		typ("b", "4", large, 7, 7),
		typ("c", "5", small, 7),
		typ("d", "5", large, 7),
		typ("e", "5", small, 7, 6),
	})
	want := []Ranked{{4, 1, 0}, {3, 0, 0}, {2, 0, 0}, {4, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 0, 0}}
	if !slices.Equal(x.Ranked, want) {
		t.Errorf("ranked %v, not %v", x.Ranked, want)
	}
	if v, _ := x.Label(api.LabelInstanceGeneration); !v.Single {
		t.Error("generations are a choice")
	}
}

// A machine with a fraction of a GPU, of which EC2 counts none, is no plain machine.
func TestIndexOfFractionalGPUs(t *testing.T) {
	types := Embedded().Types(Settings{Region: "us-east-1"})
	x := NewIndex(types)
	for name, want := range map[string]bool{"g6f.large": true, "gr6f.4xlarge": true, "m5.large": false} {
		i := slices.IndexFunc(types, func(t InstanceType) bool { return t.Name == name })
		if i < 0 || x.Special[i] != want {
			t.Errorf("%s: index %d, want special = %t", name, i, want)
		}
	}
}
