package pack

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/proof"
)

// Layout is where everything goes.
type Layout struct {
	// Places are in the order of Problem.Pods.
	Places   []assign.Place
	Machines []Machine
	// Effort is how many steps of work the pods' constraints have made.
	Effort     int64
	assignment *assign.Assignment // that found it; nil where there was nothing to do
}

// LowerBound on the price of the machines of any layout that places the same pods under
// the same constraints; 0 where nothing is proven. It is worked out when it is asked for,
// because a plan that is only tried out needs none.
func (l *Layout) LowerBound() offer.Price {
	if l.assignment == nil {
		return 0
	}
	return proof.Prover{Assignment: l.assignment}.LowerBound()
}

// LeftOut lists the DaemonSets that fit on no machine of some Provisioner, where no room is kept for them.
func (l *Layout) LeftOut() []model.LeftOut {
	if l.assignment == nil {
		return nil
	}
	return l.assignment.LeftOut
}

// Machine is to be bought. Machines with the same content share all but the pods.
type Machine struct {
	Provisioner int // index of Problem.Provisioners
	// Pods are indices of Problem.Pods, ascending.
	Pods []int
	// Cost is what the plan minimises: the price of the first candidate, and what a machine
	// costs beyond its price.
	Cost offer.Price
	// Candidates may serve it, best first.
	Candidates []offer.Candidate
	// Needed are those of the candidates without which the Provisioner's minValues are not met.
	Needed []offer.Candidate
	// RunnerUp is the cheapest candidate of another instance type, or nil.
	RunnerUp *offer.Candidate
	// Labels that do not follow from the instance type, zone and capacity type.
	Labels map[string]string
	// Used is what pods and DaemonSets take of the Allocatable of the first candidate.
	Used        amount.List
	Allocatable amount.List
	// Ahead is for how many more of its pods it has been bought to have room.
	Ahead int
}
