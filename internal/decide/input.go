// Package decide is the only entry point of the decision core: a snapshot in, a plan out. It is
// pure and deterministic: the same input gives the same plan, byte for byte, in the agent, in
// `terraform plan` and in the simulator.
package decide

import (
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
)

// Input is everything that a decision depends on.
type Input struct {
	Now          time.Time
	Snapshot     *cluster.Snapshot
	Provisioners []Provisioner // sorted by name
	// Planned are placements of earlier plans that have not happened yet: the pods
	// are still pending, or still run on a node that is leaving, and the nodes exist.
	// They are kept where they still fit, so that nothing is bought twice. Those of pods that stop on a
	// leaving node, or that have just gone from it, keep the nodes until the successors come.
	Planned []Binding
	// Deferred are pods that are not planned now, with the reason.
	Deferred map[cluster.PodKey]string
	// Disturbed is when a pod was last seen to come to a node, or to leave it, by node.
	// What the pods tell that are there counts too.
	Disturbed map[string]time.Time
	// Moved is when the predecessor of a pod was evicted to consolidate its node, by UID.
	Moved map[string]time.Time
	// Begun are nodes that go once machines that are being bought have been launched. Budgets count
	// them already.
	Begun map[string]bool
	// Unreplaced says of nodes why no machines are bought in their place now. They may go voluntarily if their pods
	// fit on other nodes.
	Unreplaced map[string]string
	// NotConsolidated: nodes in use are left alone this time, which saves work. What was
	// begun goes on.
	NotConsolidated bool
	// Prove asks for Plan.LowerBound, which may take longer than the plan itself.
	Prove    bool
	Settings Settings
}

// Provisioner is a Provisioner with what it may buy.
type Provisioner struct {
	// Spec has its defaults added.
	Spec *api.Provisioner
	// ProfileHash is the hash of the node profile it uses.
	ProfileHash string
	// Profile is what the selectors of that node profile find.
	Profile api.AWSNodeTemplateStatus
	// Types are sorted by name.
	Types []offer.InstanceType
	// Index is that of the types; where it is nil it is made for each decision.
	Index *offer.Index
	// Blocked is why nothing may be bought with it now ("node profile \"x\" not
	// found"); empty when it may.
	Blocked string
}

// NewProvisioner returns a Provisioner, which has its defaults, with what it is
// offered. Blocked is why it may buy nothing now; empty when it may.
func NewProvisioner(spec *api.Provisioner, market offer.Market, blocked string) Provisioner {
	return Provisioner{
		Spec: spec, ProfileHash: market.ProfileHash, Profile: market.Status,
		Types: market.Types, Index: market.Index, Blocked: blocked,
	}
}

// Settings are the knobs of a decision.
type Settings struct {
	retire.Policy
	// NodeCost is the cost of having one more machine, beyond its price: agents,
	// addresses, images. It makes near-ties go to fewer machines. 0 means
	// DefaultNodeCost, NoNodeCost means that only prices count.
	NodeCost offer.Price
	// NotGuided: new pods are not led away from nodes that should become empty.
	NotGuided bool
	// NotSteered: pods on nodes that should become empty are not marked to be ended first.
	NotSteered bool
	// PackingBudget bounds the effort spent on improving a plan; 0 means the default
	// (at most a quarter of a second under 1,000 pods and a second beyond, less where it
	// does not pay; a budget that is given is used while the plan may be more than half a percent above what is proven). It is not
	// measured by a clock, so that the plan does not depend on the
	// machine that makes it: every five microseconds allow one machine more to be
	// filled on trial.
	PackingBudget time.Duration
	// Without lists heuristics of packing to leave out, as measurements do, and the agent after a fault.
	Without []pack.Heuristic
}

// WithoutHeuristics leaves out all that only makes plans cheaper or planning quicker.
func (s Settings) WithoutHeuristics() Settings {
	s.Without = pack.Heuristics()
	return s
}

// DefaultSettings are those of an agent without any other settings.
func DefaultSettings() Settings {
	return Settings{Policy: retire.Policy{StartupTimeout: 15 * time.Minute, UnhealthyAfter: 10 * time.Minute, MinLifetime: 5 * time.Minute}}
}

// Values of Settings.NodeCost: about half a dollar per month, and none.
const (
	DefaultNodeCost offer.Price = 700
	NoNodeCost      offer.Price = -1
)

// trials returns how many machines may be filled on trial; 0 means the default.
func (s *Settings) trials() int {
	if s.PackingBudget <= 0 {
		return 0
	}
	return max(1, int(s.PackingBudget/(5*time.Microsecond)))
}

func (s *Settings) nodeCost() offer.Price {
	if s.NodeCost == 0 {
		return DefaultNodeCost
	}
	return max(0, s.NodeCost)
}
