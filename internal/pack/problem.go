// Package pack decides where pods go: onto nodes that exist or are being
// started, and onto machines to be bought. It works on classes of pods that
// cannot be told apart, and keeps prices in micro-dollars per hour.
package pack

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Problem is everything that a packing depends on.
type Problem struct {
	Snapshot *cluster.Snapshot
	// Provisioners are sorted by name.
	Provisioners []Provisioner
	// Pods need a place, in the order of the snapshot.
	Pods []Demand
	// Leaving nodes, by name, are no room for anything.
	Leaving map[string]bool
	// NodeCost is the cost of a machine beyond its price.
	NodeCost offer.Price
	// Trials bounds how many machines are filled in search of a cheaper plan; 0
	// means 48,000, or four times that for 1,000 pods and more.
	Trials int
	// Without lists heuristics to leave out. Only measurements do.
	Without []Heuristic
}

// defaultTrials is what is tried where nobody says how long to search: at most about a
// quarter of a second, and a second for manyPods pods and more.
func defaultTrials(pods int) int {
	if pods < manyPods {
		return fewTrials
	}
	return 4 * fewTrials
}

const manyPods, fewTrials = 1000, 48_000

// makingShare is the part of the trials, one in so many, that making a plan takes at
// most; the others are for a search from there.
const makingShare = 4

// Provisioner is a Provisioner with what it may buy.
type Provisioner = model.Provisioner

// Demand is a pod that needs a place.
type Demand = model.Pod

// Layout is where everything goes.
type Layout struct {
	// Places are in the order of Problem.Pods.
	Places   []Place
	Machines []Machine
	// Effort is how many steps of work the pods' constraints have made.
	Effort     int64
	assignment *Assignment // that found it; nil where there was nothing to do
}

// LowerBound on the price of the machines of any layout that places the same pods under
// the same constraints; 0 where nothing is proven. It is worked out when it is asked for,
// because a plan that is only tried out needs none.
func (l *Layout) LowerBound() offer.Price {
	if l.assignment == nil {
		return 0
	}
	return prover{l.assignment}.lowerBound()
}

// Place is what was found for a pod: a node, a machine, or a reason.
type Place struct {
	Node    string
	Machine int // index of Layout.Machines, -1 for none
	// Reason why there is no place; empty where there is.
	Reason string
	// Exhausted: finding a place took more work than a pod may take.
	Exhausted bool
	// GivenUp lists the preferences that the place does not meet.
	GivenUp []string
}

// Placed reports whether there is a place.
func (p *Place) Placed() bool { return p.Node != "" || p.Machine >= 0 }

// Machine is to be bought. Machines with the same content share all but the pods.
type Machine struct {
	Provisioner int // index of Problem.Provisioners
	// Pods are indices of Problem.Pods, ascending.
	Pods []int
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
