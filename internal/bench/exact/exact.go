// Package exact finds the best plan of a tiny workload by trying all plans. It shares no
// code with the planners.
package exact

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/check"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Better looks for a plan that places more pods than the given one, or the same pods for
// less money. It returns the best one, which is the given one where there is none better. It
// takes at most the given number of steps, and reports whether they were enough to try all
// plans.
//
// Provisioners must have equal weights, pods no preferences, and types no devices, because with
// them a more expensive plan may be right.
func Better(w *workload.Workload, given *check.Plan, steps int) (best check.Plan, tried bool) {
	s := &search{work: w, steps: steps, holders: map[uint][]*machine{}, bindings: map[int]string{}}
	s.collect()
	s.keep(given)
	s.assign(0, 0)
	return s.best, s.steps > 0
}

// machine can be bought.
type machine struct {
	check.Machine
	room   amount.List
	limits amount.List // what it takes of the limits of its Provisioner
	admits uint        // the set of pods
}

// search gives one pod after the other a place on a node, on a machine, or none.
type search struct {
	work     *workload.Workload
	requests []amount.List // by pod
	pods     []int         // in the order in which they get places
	machines []machine     // by price
	// holders are the machines that can hold a set of pods, by the set.
	holders map[uint][]*machine

	room     []amount.List  // of nodes
	admits   []uint         // by node, the sets of pods that it admits
	bindings map[int]string // names of nodes, by pod
	sets     []uint         // the sets of pods that get a machine each

	without uint // the set of pods that get no place

	best  check.Plan
	price offer.Price
	left  uint // the set of pods without a place in the best plan
	steps int
}

// collect lists the pods, what can be bought for them, and the room of nodes.
func (s *search) collect() {
	for i, p := range s.work.Pods {
		s.pods, s.requests = append(s.pods, i), append(s.requests, check.Requests(p))
	}
	slices.SortStableFunc(s.pods, func(a, b int) int { return cmp.Compare(s.requests[b][amount.CPU], s.requests[a][amount.CPU]) })
	for _, n := range s.work.Nodes {
		room := check.Room(s.work, n)
		for _, p := range s.work.Running {
			if p.Spec.NodeName == n.Name {
				room = room.Minus(check.Requests(p))
			}
		}
		s.room, s.admits = append(s.room, room), append(s.admits, admitted(s.work, n))
	}
	for m, node := range check.ForSale(s.work) {
		if admits := admitted(s.work, node); admits != 0 {
			s.machines = append(s.machines, machine{Machine: m, room: check.Room(s.work, node), limits: ofLimits(s.work, node), admits: admits})
		}
	}
	slices.SortStableFunc(s.machines, func(a, b machine) int { return cmp.Compare(a.Price, b.Price) })
}

// ofLimits returns what a node takes of the limits of its Provisioner.
func ofLimits(w *workload.Workload, n *corev1.Node) amount.List {
	out, capacity := amount.List{}, amount.FromResourceList(n.Status.Capacity)
	for _, pool := range w.Pools() {
		if pool.Name == n.Labels[api.LabelProvisioner] && pool.Spec.Limits != nil {
			for name := range pool.Spec.Limits.Resources {
				out[string(name)] = capacity[string(name)]
			}
		}
	}
	return out
}

// admitted returns the set of pods that a node admits.
func admitted(w *workload.Workload, n *corev1.Node) uint {
	set := uint(0)
	for i, p := range w.Pods {
		if check.Admits(n, p) {
			set |= 1 << i
		}
	}
	return set
}

// assign tries the places of the pod at a position, and of those after it. Places have
// numbers: nodes, machines, none. Pods that are equal get them in rising order, because
// two of them may change their places.
func (s *search) assign(at, least int) {
	if s.steps--; s.steps <= 0 || !s.promising(at) {
		return
	}
	if at == len(s.pods) {
		s.buy(&check.Plan{Bindings: s.bindings}, 0)
		return
	}
	pod := s.pods[at]
	if at > 0 && !equal(s.work, s.pods[at-1], pod) {
		least = 0
	}
	nodes, machines := len(s.work.Nodes), len(s.sets)
	for place := least; place < nodes; place++ {
		s.bind(at, place)
	}
	for place := max(least, nodes); place < nodes+machines; place++ {
		s.sets[place-nodes] |= 1 << pod
		s.assign(at+1, place)
		s.sets[place-nodes] &^= 1 << pod
	}
	if least <= nodes+machines {
		s.sets = append(s.sets, 1<<pod)
		s.assign(at+1, nodes+machines)
		s.sets = s.sets[:machines]
	}
	if s.left > 0 {
		s.without |= 1 << pod
		s.assign(at+1, len(s.pods)+nodes)
		s.without &^= 1 << pod
	}
}

// bind puts the pod at a position on a node, if there is room for it.
func (s *search) bind(at, node int) {
	pod, was := s.pods[at], s.room[node]
	if s.admits[node]>>pod&1 == 0 || !s.requests[pod].Fits(was) {
		return
	}
	s.room[node], s.bindings[pod] = was.Minus(s.requests[pod]), s.work.Nodes[node].Name
	s.assign(at+1, node)
	s.room[node] = was
	delete(s.bindings, pod)
}

func equal(w *workload.Workload, a, b int) bool {
	return equality.Semantic.DeepEqual(w.Pods[a].Labels, w.Pods[b].Labels) && equality.Semantic.DeepEqual(w.Pods[a].Spec, w.Pods[b].Spec)
}

// promising reports whether what is assigned before a position can still be part of a
// better plan than the best one.
func (s *search) promising(at int) bool {
	price := offer.Price(0)
	for _, set := range s.sets {
		holders := s.holdersOf(set)
		if len(holders) == 0 {
			return false
		}
		price += holders[0].Price
	}
	return s.better(price)
}

// better reports whether a plan for all pods but those without a place would be better than
// the best one at a price.
func (s *search) better(price offer.Price) bool {
	return bits.OnesCount(s.without) < bits.OnesCount(s.left) || s.without == s.left && price < s.price
}

// keep makes a plan the best one.
func (s *search) keep(p *check.Plan) {
	s.best, s.price = check.Plan{Machines: slices.Clone(p.Machines), Bindings: maps.Clone(p.Bindings)}, p.Price()
	s.left = 1<<len(s.pods) - 1
	for pod := range p.Bindings {
		s.left &^= 1 << pod
	}
	for i := range p.Machines {
		for _, pod := range p.Machines[i].Pods {
			s.left &^= 1 << pod
		}
	}
}

// holdersOf returns the machines that can hold a set of pods, the cheapest first, without
// those that cost more than one in the same zone of the same Provisioner that uses no more
// of its limits.
func (s *search) holdersOf(set uint) []*machine {
	if out, known := s.holders[set]; known {
		return out
	}
	needs := amount.List{}
	for i, r := range s.requests {
		if set>>i&1 == 1 {
			needs = needs.Plus(r)
		}
	}
	var out []*machine
	for i := range s.machines {
		m := &s.machines[i]
		replaces := func(o *machine) bool {
			return o.Zone == m.Zone && o.Provisioner == m.Provisioner && o.limits.Fits(m.limits)
		}
		if m.admits&set == set && needs.Fits(m.room) && !slices.ContainsFunc(out, replaces) {
			out = append(out, m)
		}
	}
	s.holders[set] = out
	return out
}

// stepsToCheck is how many steps it takes to look for faults.
const stepsToCheck = 20

// buy tries the machines for the sets from a position on. It keeps a plan that is better
// and has no fault.
func (s *search) buy(p *check.Plan, at int) {
	if s.steps--; s.steps <= 0 {
		return
	}
	if at == len(s.sets) {
		s.steps -= stepsToCheck
		if len(check.Faults(s.work, p)) == 0 {
			s.keep(p)
		}
		return
	}
	rest := p.Price()
	for _, set := range s.sets[at+1:] {
		rest += s.holdersOf(set)[0].Price
	}
	for _, m := range s.holdersOf(s.sets[at]) {
		if !s.better(rest + m.Price) {
			return
		}
		of := m.Machine
		for i := range s.pods {
			if s.sets[at]>>i&1 == 1 {
				of.Pods = append(of.Pods, i)
			}
		}
		s.buy(&check.Plan{Machines: append(p.Machines, of), Bindings: p.Bindings}, at+1)
	}
}
