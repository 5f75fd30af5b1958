// Package assign is the state of a packing: which pods are on which nodes and machines, what
// room that leaves, and what may be bought for the others. The packages that find places, buy,
// confirm and prove take an Assignment and change or read it.
package assign

import (
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Problem is everything that a packing depends on.
type Problem struct {
	Now      time.Time
	Snapshot *cluster.Snapshot
	// Provisioners are sorted by name.
	Provisioners []Provisioner
	// Pods need a place, in the order of the snapshot.
	Pods []Demand
	// Leaving nodes, by name, are no room for anything.
	Leaving map[string]bool
	// Shut nodes, by name, take no pods, and those that they have count.
	Shut map[string]bool
	// Charged is what counts against limits, by Provisioner; nil for what the nodes of the
	// snapshot have.
	Charged map[string]amount.List
	// NodeCost is the cost of a machine beyond its price.
	NodeCost offer.Price
	// Trials bounds how many machines are filled in search of a cheaper plan; 0
	// means 96,000, or twice that for 1,000 pods and more.
	Trials int
	// Without lists heuristics to leave out, as measurements do, and the agent after a fault.
	Without []Heuristic
}

// stopPatience is how long a pod may take to stop before others are kept from its node by its ports
// and by affinity, as they are by kube-scheduler all the time. Most pods stop at once, however long they
// might take, and then a machine in the place of their node would have been bought for nothing.
const stopPatience = time.Minute

// lingers reports whether a pod takes longer than that.
func (p *Problem) lingers(pod *cluster.Pod) bool {
	return !pod.StopSince.IsZero() && p.Now.Sub(pod.StopSince) >= stopPatience
}

// stays reports whether a pod of a leaving node is still there when others are placed: the plan moves it nowhere.
func (p *Problem) stays(pod *cluster.Pod, on *cluster.Node) bool {
	switch {
	case pod.Template.BelongsToNode():
		return false
	case pod.State == cluster.PodTerminating:
		return p.lingers(pod)
	}
	return pod.State == cluster.PodBound && (pod.Owner.Kind == "" || on.Spares(pod, p.Now))
}

// leaves reports whether a node is being removed.
func (p *Problem) leaves(n *cluster.Node) bool { return p.Leaving[n.Name] || n.Deleting }

// held lists the leaving nodes on which pods stay. For kube-scheduler they are nodes, too.
func (p *Problem) held() []*cluster.Node {
	var out []*cluster.Node
	known := map[string]bool{}
	for i := range p.Snapshot.Pods {
		pod := &p.Snapshot.Pods[i]
		if pod.NodeName == "" || known[pod.NodeName] {
			continue
		}
		if n := p.Snapshot.Node(pod.NodeName); n != nil && p.leaves(n) && p.stays(pod, n) {
			known[n.Name] = true
			out = append(out, n)
		}
	}
	return out
}

// Charge returns the capacity of the nodes of each Provisioner with limits.
func (p *Problem) Charge() map[string]amount.List {
	out := map[string]amount.List{}
	for i := range p.Provisioners {
		if spec := p.Provisioners[i].Spec; spec.Spec.Limits != nil {
			out[spec.Name] = amount.List{}
		}
	}
	for i := range p.Snapshot.Nodes {
		n := &p.Snapshot.Nodes[i]
		if has, limited := out[n.Provisioner]; limited {
			out[n.Provisioner] = has.Plus(n.Capacity.OfNode())
		}
	}
	return out
}

// DefaultTrials is how many trials are made if nobody sets a search budget: at most about a
// quarter of a second, and a second for ManyPods pods and more. They are made twice where another way
// to place the pods than the first one serves more.
func DefaultTrials(pods int) int {
	if pods < ManyPods {
		return fewTrials
	}
	return 2 * fewTrials
}

// ManyPods is from how many pods on a plan may take a second.
const ManyPods = 1000

const fewTrials = 96_000

// Provisioner is a Provisioner with what it may buy.
type Provisioner = model.Provisioner

// Demand is a pod that needs a place.
type Demand = model.Pod

// Place is what was found for a pod: a node, a machine, or a reason.
type Place struct {
	Node    string
	Machine int // index of Layout.Machines, -1 for none
	// Reason why there is no place; empty where there is.
	Reason string
	// Exhausted: finding a place took more work than a pod may take.
	Exhausted bool
	// Postponed: that was the work of other pods, and it is to be tried again at once.
	Postponed bool
	// GivenUp lists the preferences that the place does not meet.
	GivenUp []string
}

// Placed reports whether there is a place.
func (p *Place) Placed() bool { return p.Node != "" || p.Machine >= 0 }
