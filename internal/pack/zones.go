package pack

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// On demand a type costs the same in all zones, and then which zone a machine is bought in
// is free. A zone that fails should take as few pods of a workload with it as possible, and
// as few machines of a Provisioner: each machine that could be in several zones goes where
// its workloads have the fewest pods, then where its Provisioner has the fewest machines.

// balanceZones moves machines between zones of equal price. It comes before the plan is
// confirmed, since machines make zones count for spreads.
func balanceZones(a *assign.Assignment) {
	machines := a.Machines()
	choices, free := make([][]int, len(machines)), false
	for i, m := range machines {
		choices[i] = zoneChoices(a, m)
		free = free || len(choices[i]) > 1
	}
	if !free {
		return
	}
	o := occupancyOf(a)
	order := make([]int, len(machines))
	for i, m := range machines {
		order[i] = i
		if len(choices[i]) == 1 {
			o.add(a, m)
		}
	}
	first := func(i int) int { return slices.Min(machines[i].Pods) }
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(machines[i].Offering, machines[j].Offering), cmp.Compare(first(i), first(j)))
	})
	for _, i := range order {
		if m := machines[i]; len(choices[i]) > 1 {
			a.Move(i, o.best(a, m, choices[i]))
			o.add(a, m)
		}
	}
}

// zoneChoices lists the offerings of the machine's type, capacity type and price, one of each
// zone that it may be in as it is.
func zoneChoices(a *assign.Assignment, m *assign.Machine) []int {
	own, on := &a.Offerings[m.Offering], signatureOf(a.Market, m)
	var out []int
	for _, k := range a.SamePriced(m.Offering) {
		o := &a.Offerings[k]
		if k == m.Offering || o.Offer.CapacityType == own.Offer.CapacityType && own.Offer.Reservation == "" && m.Mask.Has(k) &&
			model.Fits(m.Used, o.Room) && a.LeavesChoice(m.Residual, o) && sameSignature(a.Market, k, m, on) {
			out = append(out, k)
		}
	}
	return out
}

// inZone is a Provisioner, or the owner of pods, in a zone.
type inZone struct{ zone, namespace, kind, name string }

// occupancy is what zones have already: machines by Provisioner and pods by owner.
type occupancy map[inZone]int64

// occupancyOf counts the nodes that stay, with the pods that they have and get.
func occupancyOf(a *assign.Assignment) occupancy {
	o, zones := occupancy{}, map[string]string{}
	for _, n := range slices.Concat(a.Supply.Nodes, a.Closed) {
		zones[n.Name] = n.Labels[api.LabelZone]
		o[inZone{zone: zones[n.Name], name: n.Provisioner}]++
	}
	for i := range a.Problem.Snapshot.Pods {
		if p := &a.Problem.Snapshot.Pods[i]; p.State != cluster.PodPending {
			o[ownerIn(zones[p.NodeName], p)]++
		}
	}
	for _, placed := range a.OnNodes() {
		for _, i := range placed.Pods {
			o[ownerIn(zones[placed.Node.Name], a.Problem.Pods[i].Pod)]++
		}
	}
	return o
}

func ownerIn(zone string, p *cluster.Pod) inZone {
	return inZone{zone, p.Namespace, p.Owner.Kind, p.Owner.Name}
}

// replicas is a number of pods of one owner.
type replicas struct {
	of *cluster.Pod // one of them
	n  int64
}

// replicasOn counts the machine's pods by owner. Pods without one are no replicas.
func replicasOn(a *assign.Assignment, m *assign.Machine) []replicas {
	var out []replicas
	for _, i := range m.Pods {
		p := a.Problem.Pods[i].Pod
		last := len(out) - 1
		switch {
		case p.Owner.Kind == "":
		case last >= 0 && out[last].of.Owner == p.Owner && out[last].of.Namespace == p.Namespace:
			out[last].n++
		default:
			out = append(out, replicas{p, 1})
		}
	}
	return out
}

func (o occupancy) add(a *assign.Assignment, m *assign.Machine) {
	zone := a.Offerings[m.Offering].Offer.Zone
	o[inZone{zone: zone, name: m.Pool.Spec.Name}]++
	for _, r := range replicasOn(a, m) {
		o[ownerIn(zone, r.of)] += r.n
	}
}

// best returns the offering of the zone that the machine's workloads and then its Provisioner
// have least of.
func (o occupancy) best(a *assign.Assignment, m *assign.Machine, choices []int) int {
	on := replicasOn(a, m)
	beside := func(k int) (pods, machines int64) {
		zone := a.Offerings[k].Offer.Zone
		for _, r := range on {
			pods += r.n * o[ownerIn(zone, r.of)]
		}
		return pods, o[inZone{zone: zone, name: m.Pool.Spec.Name}]
	}
	return slices.MinFunc(choices, func(i, j int) int {
		x, n := beside(i)
		y, k := beside(j)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(n, k), cmp.Compare(i, j))
	})
}
