// Package check verifies plans from scratch, whoever made them: each pod has at
// most one place, no machine is over capacity, and every constraint that the
// benchmark's pods have holds. It shares no code with the planners and asks the
// Kubernetes scheduler's own helpers where there are some.
package check

import "github.com/packhorse-io/terraform-provider-packhorse/internal/offer"

// Plan is what a planner decided for a workload.
type Plan struct {
	Machines []Machine
	// Bindings are the names of existing nodes, by index of the pod.
	Bindings map[int]string
}

// Machine is to be bought.
type Machine struct {
	offer.Candidate
	// Provisioner that buys it; empty where the workload has only one.
	Provisioner string
	// Labels that do not follow from the offering.
	Labels map[string]string
	// Pods are indices of the workload's pods.
	Pods []int
}

// Price of the machines together.
func (p *Plan) Price() offer.Price {
	sum := offer.Price(0)
	for i := range p.Machines {
		sum += p.Machines[i].Price
	}
	return sum
}

// Placed is the number of pods that have a place.
func (p *Plan) Placed() int {
	n := len(p.Bindings)
	for i := range p.Machines {
		n += len(p.Machines[i].Pods)
	}
	return n
}
