package assign

import (
	"fmt"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// TestRegions: pod groups are bought for together if they compete for offerings or for a limit, and
// may share a machine with each other or with a third one.
func TestRegions(t *testing.T) {
	zones := []*model.Options{{ID: 0, Offerings: model.NewBitset(4)}, {ID: 1, Offerings: model.NewBitset(4)}}
	for k := range 4 {
		zones[k/2].Offerings.Add(k)
	}
	pool := &model.Pool{Mask: model.NewBitset(4)}
	pool.Mask.Join(zones[0].Offerings)
	pool.Mask.Join(zones[1].Offerings)
	group := func(zone int, perNode ...topology.PerNode) *PodGroup {
		return &PodGroup{Opt: zones[zone], PerNode: perNode}
	}
	// A tenant's pods belong to one group, and tolerate no pods of the other one.
	tenant := func(zone, own int) *PodGroup {
		perNode := []topology.PerNode{{Group: 0}, {Group: 1}}
		perNode[own] = topology.PerNode{Group: own, Self: 1, Cap: topology.NoCap, Entry: topology.NoCap}
		return group(zone, perNode...)
	}
	for _, tt := range []struct {
		name   string
		groups []*PodGroup
		limits RemainingLimits
		want   string
	}{
		{"one zone", []*PodGroup{group(0), group(0)}, RemainingLimits{nil}, "[2]"},
		{"two zones", []*PodGroup{group(0), group(1), group(0)}, RemainingLimits{nil}, "[2 1]"},
		{"two zones and a limit", []*PodGroup{group(0), group(1), group(0)}, RemainingLimits{{1}}, "[3]"},
		{"two tenants", []*PodGroup{tenant(0, 0), tenant(0, 1), tenant(0, 0)}, RemainingLimits{nil}, "[2 1]"},
		{"two tenants and a limit", []*PodGroup{tenant(0, 0), tenant(0, 1)}, RemainingLimits{{1}}, "[2]"},
		{"two tenants and one that both may share with", []*PodGroup{tenant(0, 0), tenant(0, 1), group(0)}, RemainingLimits{nil}, "[3]"},
		{"tenants of two zones", []*PodGroup{tenant(0, 0), tenant(1, 0), tenant(0, 1)}, RemainingLimits{nil}, "[1 1 1]"},
	} {
		var sizes []int
		for _, region := range Regions(tt.groups, []*model.Pool{pool}, tt.limits) {
			sizes = append(sizes, len(region))
		}
		if got := fmt.Sprint(sizes); got != tt.want {
			t.Errorf("%s: regions of %s pod groups, want %s", tt.name, got, tt.want)
		}
	}
}
