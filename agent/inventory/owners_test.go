package inventory

import (
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// A node belongs to the Provisioner that its machine was bought for, from the purchase
// on, whatever its labels say: limits count it before the cloud has listed it.
func TestNodesBelongToWhoBoughtThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := New(Ports{})
		inv.Bought(offer.Instance{ProviderID: "aws:///a/i-1", Provisioner: "default", LaunchID: "launch", State: offer.StatePending})
		s := &cluster.Snapshot{Nodes: []cluster.Node{{Name: "stripped", ProviderID: "aws:///a/i-1"}, {Name: "foreign", ProviderID: "aws:///a/i-2"}}}
		ours := func() bool {
			got := inv.Apply(s).Nodes
			return got[0].Provisioner == "default" && got[1].Provisioner == ""
		}
		if !ours() {
			t.Error("the node is not known by its machine after the purchase")
		}
		if inv.LostNode(&cluster.Snapshot{}) {
			inv.hasNode("aws:///a/i-1")
		} else {
			t.Error("a Node object that is deleted before the first look is not missed")
		}
		if !inv.LostNode(&cluster.Snapshot{}) {
			t.Error("a Node object that is made again, and deleted before the next look, is not missed")
		}
		if inv.learn(nil); !ours() {
			t.Error("the node is not known any more because its machine is not listed yet")
		}
		if time.Sleep(offer.ListingLag / 2); len(inv.leftOut()) != 1 {
			t.Error("the machine does not count any more")
		}
		if time.Sleep(offer.ListingLag); s.Nodes[0].Provisioner != "" {
			t.Error("the snapshot was changed")
		}
		if inv.learn(nil); ours() {
			t.Error("a machine without a node is remembered although it should be listed by now")
		}
	})
}

// A machine whose node goes while the cloud does not list it counts for as long as one that has just been bought.
func TestMinuteBeginsWithoutNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := New(Ports{})
		inv.Bought(offer.Instance{ProviderID: "aws:///a/i-1", Provisioner: "default", LaunchID: "launch", State: offer.StateRunning})
		inv.learn(nil)
		time.Sleep(2 * offer.ListingLag)
		inv.learn(nil)
		inv.LostNode(&cluster.Snapshot{})
		time.Sleep(offer.ListingLag / 2)
		if inv.learn(nil); len(inv.leftOut()) != 1 {
			t.Error("the machine does not count half a minute after its node went")
		}
		time.Sleep(offer.ListingLag)
		if inv.learn(nil); len(inv.leftOut()) != 0 {
			t.Error("the machine counts although nothing has shown it for more than a minute")
		}
	})
}

// A node gets back the labels that say what was bought, if it lacks them, but no reservation that it was not bought from.
func TestLabelsThatAMachineTells(t *testing.T) {
	all := map[string]string{
		api.LabelInstanceType: "c5.large", api.LabelZone: "a", api.LabelCapacityType: api.CapacityReserved,
		api.LabelReservationID: "cr-1", api.LabelReservationType: api.ReservationDefault,
	}
	reserved := offer.Instance{InstanceType: "c5.large", Zone: "a", CapacityType: api.CapacityReserved, Reservation: "cr-1"}
	bought := map[string]string{api.LabelInstanceType: "c5.large", api.LabelZone: "a", api.LabelCapacityType: api.CapacityOnDemand}
	for name, c := range map[string]struct {
		machine   offer.Instance
		has, want map[string]string
	}{
		"all are lost":                    {machine: reserved, want: all},
		"none is lost":                    {machine: reserved, has: all},
		"the machine is not known":        {},
		"the reservation has ended":       {machine: offer.Instance{InstanceType: "c5.large", Zone: "a", CapacityType: api.CapacityOnDemand}, has: all},
		"Karpenter bought it as another":  {machine: reserved, has: bought},
		"the reservation alone is lost":   {machine: reserved, has: map[string]string{api.LabelInstanceType: "c5.large", api.LabelZone: "a", api.LabelCapacityType: api.CapacityReserved}, want: map[string]string{api.LabelReservationID: "cr-1", api.LabelReservationType: api.ReservationDefault}},
		"another program has changed one": {machine: reserved, has: map[string]string{api.LabelInstanceType: "c5.large", api.LabelZone: "b", api.LabelCapacityType: api.CapacityOnDemand}},
	} {
		if got := lostLabels(&cluster.Node{Labels: c.has}, c.machine); !maps.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
