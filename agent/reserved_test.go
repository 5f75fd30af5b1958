package agent

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/stock"
)

// withReservation is the catalogue of a world with room for so many c5.large in the
// capacity reservation cr-1.
func withReservation(left int64) sim.Options {
	types := stock.Catalogue()
	at := slices.IndexFunc(types, func(t offer.InstanceType) bool { return t.Name == "c5.large" })
	t := &types[at]
	t.Offerings = append(t.Offerings, offer.Offering{
		Zone: t.Offerings[0].Zone, ZoneID: t.Offerings[0].ZoneID, CapacityType: api.CapacityReserved, Reservation: "cr-1", Left: left, Price: offer.ReservedPrice(t.Offerings[0].Price),
	})
	t.Sort()
	return sim.Options{Types: types}
}

func reservedPool(capacityTypes ...string) *api.Provisioner {
	pool := testProvisioner("pool", func(s *api.ProvisionerSpec) {
		s.Requirements = []api.Requirement{
			{Key: api.LabelCapacityType, Operator: api.OpIn, Values: capacityTypes},
			{Key: api.LabelInstanceType, Operator: api.OpIn, Values: []string{"c5.large"}},
		}
	})
	pool.Source = &api.Origin{APIVersion: "karpenter.sh/v1", Kind: api.NodePoolKind}
	return pool
}

// byReservation counts the nodes by their capacity type and the reservation that they name.
func (r *rig) byReservation() map[string]int {
	out := map[string]int{}
	for _, n := range r.ours() {
		out[strings.TrimSpace(n.Labels[api.LabelCapacityType]+" "+n.Labels[api.LabelReservationID])]++
	}
	return out
}

// TestBoundOfReserved: without the nodes, what these occupy in a reservation can be bought again, so that the
// bound on the price is not that of on-demand machines.
func TestBoundOfReserved(t *testing.T) {
	for name, also := range map[string][]string{"reserved alone": nil, "also on demand": {api.CapacityOnDemand}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, withReservation(2), func(r *rig) {
				r.Apply(reservedPool(append(also, api.CapacityReserved)...))
				a := r.start(Options{}, nil)
				r.Deploy(sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("1500m", "1Gi")})
				r.until("the pods run", r.allRun("web", 2))
				time.Sleep(time.Minute)
				if s := a.Status(); s.Bound == nil || s.Bound.Pods != 2 || s.Bound.Rebought <= 0 || s.Bound.Rebought > s.HourlyPrice || s.Bound.HourlyPrice > s.HourlyPrice {
					t.Errorf("price %f, bound %+v", s.HourlyPrice, s.Bound)
				}
			})
		})
	}
}

// A NodePool buys from its reservation first, and on demand when that is full. Where it may
// buy nothing else, the other pods wait. When the reservation ends, its nodes become
// on-demand nodes, with the price of these.
func TestReservationFirst(t *testing.T) {
	inBubble(t, withReservation(2), func(r *rig) {
		r.Apply(reservedPool(api.CapacityReserved, api.CapacityOnDemand))
		r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("1500m", "1Gi")})
		r.until("the first pods run", r.allRun("web", 2))
		if got := r.byReservation(); got["reserved cr-1"] != 2 || len(got) != 1 {
			t.Errorf("%v", got)
		}
		for _, n := range r.ours() {
			if price := offer.PriceOf(n.Annotations); price <= 0 || price > 100 || n.Labels[api.LabelReservationType] != "default" {
				t.Errorf("node %s costs %d, labels %v", n.Name, price, n.Labels)
			}
		}
		r.Deploy(sim.Workload{Name: "more", Replicas: 2, Spec: sim.Requests("1500m", "1Gi")})
		r.until("the others run", r.allRun("more", 2))
		if got := r.byReservation(); got["reserved cr-1"] != 2 || got["on-demand"] != 2 {
			t.Errorf("%v", got)
		}
		r.EndReservation("cr-1")
		r.until("the nodes are on-demand nodes", func() bool { return r.byReservation()["on-demand"] == 4 })
		for _, n := range r.ours() {
			if offer.PriceOf(n.Annotations) < 10_000 {
				t.Errorf("node %s costs %v", n.Name, n.Annotations[api.AnnotationHourlyPrice])
			}
		}
		if got := r.Events(event.ReservationEnded); len(got) != 2 {
			t.Errorf("%+v", got)
		}
	})
}

func TestReservationAlone(t *testing.T) {
	inBubble(t, withReservation(1), func(r *rig) {
		r.Apply(reservedPool(api.CapacityReserved))
		r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("1500m", "1Gi")})
		r.until("the pod without a place says why", func() bool {
			return slices.ContainsFunc(r.Events(event.Unplaceable), func(e sim.Event) bool { return strings.Contains(e.Message, "capacity reservation cr-1") })
		})
		if got := r.byReservation(); got["reserved cr-1"] != 1 || len(got) != 1 {
			t.Errorf("%v", got)
		}
	})
}
