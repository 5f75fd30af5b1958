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

// zoneBalance balances the zones of an assignment's machines.
type zoneBalance struct{ *assign.Assignment }

// balanceZones moves machines between zones of equal price. It comes before the plan is
// confirmed, since machines make zones count for spreads.
func (s zoneBalance) balanceZones() {
	machines := s.Machines()
	choices, free := make([][]int, len(machines)), false
	for i, m := range machines {
		choices[i] = s.zoneChoices(m)
		free = free || len(choices[i]) > 1
	}
	if !free {
		return
	}
	t := s.zonesTaken()
	order := make([]int, len(machines))
	for i, m := range machines {
		order[i] = i
		if len(choices[i]) == 1 {
			t.add(s, m)
		}
	}
	first := func(i int) int { return slices.Min(machines[i].Pods) }
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(machines[a].Offering, machines[b].Offering), cmp.Compare(first(a), first(b)))
	})
	for _, i := range order {
		if m := machines[i]; len(choices[i]) > 1 {
			s.Move(i, t.best(s, m, choices[i]))
			t.add(s, m)
		}
	}
}

// zoneChoices lists the offerings of the machine's type, capacity type and price, one of each
// zone that it may be in as it is.
func (s zoneBalance) zoneChoices(m *assign.Machine) []int {
	own, on := &s.Offerings[m.Offering], signatureOf(s.Market, m)
	var out []int
	for _, k := range s.SamePriced(m.Offering) {
		col := &s.Offerings[k]
		if k == m.Offering || col.Offer.CapacityType == own.Offer.CapacityType && own.Offer.Reservation == "" && m.Mask.Has(k) &&
			model.Fits(m.Used, col.Room) && s.LeavesChoice(m.Residual, col) && sameSignature(s.Market, k, m, on) {
			out = append(out, k)
		}
	}
	return out
}

// inZone is a Provisioner, or the owner of pods, in a zone.
type inZone struct{ zone, namespace, kind, name string }

// zonesTaken is what zones have already: machines by Provisioner and pods by owner.
type zonesTaken map[inZone]int64

// zonesTaken counts the nodes that stay, with the pods that they have and get.
func (s zoneBalance) zonesTaken() zonesTaken {
	t, zones := zonesTaken{}, map[string]string{}
	for _, n := range slices.Concat(s.Supply.Nodes, s.Closed) {
		zones[n.Name] = n.Labels[api.LabelZone]
		t[inZone{zone: zones[n.Name], name: n.Provisioner}]++
	}
	for i := range s.Problem.Snapshot.Pods {
		if p := &s.Problem.Snapshot.Pods[i]; p.State != cluster.PodPending {
			t[ownerIn(zones[p.NodeName], p)]++
		}
	}
	for _, placed := range s.OnNodes() {
		for _, i := range placed.Pods {
			t[ownerIn(zones[placed.Node.Name], s.Problem.Pods[i].Pod)]++
		}
	}
	return t
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
func (s zoneBalance) replicasOn(m *assign.Machine) []replicas {
	var out []replicas
	for _, i := range m.Pods {
		p := s.Problem.Pods[i].Pod
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

func (t zonesTaken) add(s zoneBalance, m *assign.Machine) {
	zone := s.Offerings[m.Offering].Offer.Zone
	t[inZone{zone: zone, name: m.Pool.Spec.Name}]++
	for _, r := range s.replicasOn(m) {
		t[ownerIn(zone, r.of)] += r.n
	}
}

// best returns the offering of the zone that the machine's workloads and then its Provisioner
// have least of.
func (t zonesTaken) best(s zoneBalance, m *assign.Machine, choices []int) int {
	on := s.replicasOn(m)
	beside := func(k int) (pods, machines int64) {
		zone := s.Offerings[k].Offer.Zone
		for _, r := range on {
			pods += r.n * t[ownerIn(zone, r.of)]
		}
		return pods, t[inZone{zone: zone, name: m.Pool.Spec.Name}]
	}
	return slices.MinFunc(choices, func(a, b int) int {
		x, n := beside(a)
		y, k := beside(b)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(n, k), cmp.Compare(a, b))
	})
}
