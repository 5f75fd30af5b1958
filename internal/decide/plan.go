package decide

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
)

// Plan is what should be done. Every list is in a fixed order.
type Plan struct {
	// Bindings place pending pods on nodes that exist or are being started.
	Bindings []Binding
	// Failing are the places of pods that their schedulers cannot bind because of errors. Nobody else binds them.
	Failing []Binding
	// Machines are to be launched.
	Machines []Machine
	// Unplaced pods have no place, with the reason.
	Unplaced []Unplaced
	// LeftOut are DaemonSets that fit on none of the machines that some Provisioner may buy.
	LeftOut []LeftOut
	// Removals are nodes that should go.
	Removals []Removal
	// Kept are nodes that have a reason to go and stay for now, with what holds them.
	Kept []Kept
	// Chosen are nodes that an earlier plan has chosen to go and that are not being
	// deleted yet, each with what to do about it now.
	Chosen []Chosen
	// Consolidation is what is said of nodes in use; nil where no Provisioner consolidates
	// any, or nobody asked.
	Consolidation *Consolidation
	// Guides are the nodes whose soft taints should change. The list is empty if this plan did not consider nodes in
	// use.
	Guides []Guide
	// Steers are the pods of which the deletion cost should change, likewise.
	Steers []Steer
	// Emptiness lists the emptiness timestamps to set or remove.
	Emptiness []Emptiness
	// HourlyPrice is the price of Machines together.
	HourlyPrice offer.Price
	// LowerBound is proven: no plan for the same pods that honours the same
	// constraints costs less. 0 where nothing is proven, or Input.Prove does not ask.
	LowerBound offer.Price
}

// Binding places a pod on a node.
type Binding struct {
	Pod  cluster.PodKey
	Node string
	// From is the leaving node that the pod still runs on: the room is kept for it
	// and there is nothing to bind yet. Empty for pending pods.
	From string
	// GivenUp lists the preferences that the placement does not meet.
	GivenUp []string
}

// Machine is a node to be launched.
type Machine struct {
	// Name is unique in the plan ("default-1"); the node's name is not known yet.
	Name        string
	Provisioner string
	// Pods are pending pods, to be bound to it.
	Pods []cluster.PodKey
	// Moving are pods of leaving nodes that it has room for.
	Moving []Move
	// GivenUp lists, by pod (namespace/name), the preferences that are not met.
	GivenUp map[string][]string
	// Candidates may serve it, best first. The first is the chosen one; the
	// price of the plan is the sum of the chosen prices.
	Candidates []offer.Candidate
	// Needed are those of the candidates without which the Provisioner's minValues are not
	// met: none is bought without all of them being asked for.
	Needed []offer.Candidate
	// Labels, Annotations and taints of the node, without those that depend on
	// the candidate that is bought (instance type, zone, ...): see Labels of the type.
	// Machines that are alike share them.
	Labels        map[string]string
	Annotations   map[string]string
	Taints        []corev1.Taint
	StartupTaints []corev1.Taint
	// Used is what its pods and DaemonSets will use; Allocatable is what the
	// chosen type offers.
	Used        amount.List
	Allocatable amount.List
	// Ahead is for how many more of its pods, whose owner grows, it has room.
	Ahead int
	// RunnerUp is the next best type and its price, for explanations.
	RunnerUp *offer.Candidate
}

// Chosen returns the offering that the machine is planned on.
func (m *Machine) Chosen() offer.Candidate { return m.Candidates[0] }

// AllPods are those that are pending, and then those that move.
func (m *Machine) AllPods() []cluster.PodKey {
	out := slices.Clone(m.Pods)
	for _, move := range m.Moving {
		out = append(out, move.Pod)
	}
	return out
}

// Move is a running pod that is expected to come back on a machine once its node
// has gone.
type Move struct {
	Pod  cluster.PodKey
	From string
}

// Unplaced is a pod without a place.
type Unplaced struct {
	Pod cluster.PodKey
	// From is the leaving node that the pod still runs on; empty for pending pods.
	From string
	// Reason names the constraint that decided and the nearest miss.
	Reason string
	// Exhausted: finding out took more work than a pod may take. Another decision on the same
	// input would take as much again: see Input.Deferred.
	Exhausted bool
	// Postponed: that was the work of other pods. The next decision is to come at once.
	Postponed bool
}

// LeftOut is a DaemonSet that may run on machines of some Provisioners, and fits on none of them, so that no room is
// kept for it there.
type LeftOut struct {
	DaemonSet    cluster.ObjectRef
	Provisioners []string
	// Reason names what its pod needs and the nearest miss.
	Reason string
}

// RemovalReason is why a node should go.
type RemovalReason = retire.Reason

// The reasons; retire.Reason says what they mean.
const (
	Empty        = retire.Empty
	Expired      = retire.Expired
	Drifted      = retire.Drifted
	Consolidated = retire.Consolidated
	NeverUp      = retire.NeverUp
	Orphaned     = retire.Orphaned
	Unhealthy    = retire.Unhealthy
)

// RemovalReasons are all of them.
var RemovalReasons = retire.Reasons

// Blocker is what keeps a node from being consolidated.
type Blocker = retire.Blocker

// Those blockers that are not reported each time; retire.Blocker says what they mean.
const (
	BlockedQuiet  = retire.BlockedQuiet
	BlockedSpot   = retire.BlockedSpot
	BlockedUnpaid = retire.BlockedUnpaid
)

// Removal is a node that should go.
type Removal struct {
	Node    string
	Reason  RemovalReason
	Message string
	// Planned is when it was planned.
	Planned time.Time
	// Saving is the node's share of what its step of consolidation saves per hour; 0 for
	// other reasons.
	Saving offer.Price
	// Step names all nodes of the node's step of consolidation, if there are several. They go together or not at all.
	Step []string
	// Replacements are the machines of the plan (by name) that must be up before
	// the node is drained. Nodes of one step of consolidation have the same.
	Replacements []string
	// Starting are nodes that are not up yet, have room for pods of the node, and
	// must be up before it is drained too.
	Starting []string
}

// Kept is a node that has a reason to go and stays for now.
type Kept struct {
	Node   string
	Reason RemovalReason
	// Why completes a sentence: "node x is kept: ...".
	Why string
}

// Chosen is a node that was marked as going voluntarily.
type Chosen struct {
	Node    string
	Verdict Verdict
	// Why says what makes it stay, or what it waits for; empty for Go.
	Why string
}

// Verdict is what to do about a node that was chosen to go.
type Verdict string

// The verdicts.
const (
	Go   Verdict = "go"   // its pods have places that are up: it may be deleted
	Wait Verdict = "wait" // something is not as it must be yet
	Stay Verdict = "stay" // what it was chosen for does not hold any more
)

// Emptiness sets a node's emptiness timestamp, or removes it where Since is zero.
type Emptiness struct {
	Node  string
	Since time.Time
}
