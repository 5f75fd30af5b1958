package decide

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/consolidate"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
)

// Decide returns what should be done: where pods go, which machines to launch, which nodes
// should go, and why some pods have no place.
func Decide(in Input) Plan {
	in.Snapshot = Promised(in.Snapshot.WithStaticPods(), in.Provisioners, in.Now, in.Settings.StartupTimeout)
	failing := in.nominateFailing()
	plan := newDecision(&in).plan()
	plan.Failing = failing
	return plan
}

// decision is what one decision knows while it is being made.
type decision struct {
	in      *Input
	leaving map[string]bool
	pending int             // pods
	onNodes []*cluster.Pod  // pods that are on nodes
	growing map[string]bool // owners of pending pods, by UID
	// labelled are the labels of machines, by Provisioner; see labels.
	labelled []map[string]string
	// cancelled are nodes that were chosen to go and stay, with the reason.
	cancelled map[string]string
	// exhausted are the results for pods that took more work than one pod may take.
	exhausted map[cluster.PodKey]*pack.Place
	// effort is the work that the packings of this decision have taken.
	effort int64
	// pdbs are the PodDisruptionBudgets.
	pdbs *retire.PDBs
	// hints are where the pods of consolidated nodes were planned to go, and where those that wait have room.
	hints map[cluster.PodKey]string
	// ran are nodes that have been up, as a pod shows, whether or not they are initialized.
	ran map[string]bool
	// forced are nodes that must go, whatever was chosen for them before.
	forced map[string]bool
	// idle nodes are used by nobody and will go for that, so that pods of nodes in use do not move there: they would
	// keep what costs more than the room on other nodes. They are found once consolidation begins.
	idle map[string]bool
	// priced is what resources cost; nil until somebody asks.
	priced *consolidate.UnitPrices
}

func newDecision(in *Input) *decision {
	d := &decision{in: in, leaving: map[string]bool{}, cancelled: map[string]string{}, forced: map[string]bool{}, ran: map[string]bool{}, hints: map[cluster.PodKey]string{}, exhausted: map[cluster.PodKey]*pack.Place{}, pdbs: retire.NewPDBs(in.Snapshot.PodDisruptionBudgets)}
	for i := range in.Snapshot.Nodes {
		if n := &in.Snapshot.Nodes[i]; leaving(n) {
			d.leaving[n.Name] = true
		}
	}
	oldest := map[string]time.Time{} // of the pending pods of each owner
	for i := range in.Snapshot.Pods {
		p := &in.Snapshot.Pods[i]
		if p.NodeName != "" {
			d.onNodes = append(d.onNodes, p)
			d.ran[p.NodeName] = d.ran[p.NodeName] || retire.ShowsNodeUp(p)
		}
		if p.State != cluster.PodPending {
			continue
		}
		d.pending++
		if first, known := oldest[p.Owner.UID]; p.Owner.UID != "" && (!known || p.Created.Before(first)) {
			oldest[p.Owner.UID] = p.Created
		}
	}
	d.growing = d.growers(oldest)
	return d
}

// leaving reports whether a node is being removed, so that its room does not count and its pods
// need another place.
func leaving(n *cluster.Node) bool { return n.Deleting || n.Mark().Own }

func (d *decision) plan() Plan {
	nodes := d.owned()
	forced := d.force(nodes)
	removals, kept, final := d.retireVoluntarily(nodes, d.cancelDisruptions(nodes, d.packed()))
	consolidated, consolidation, final := d.consolidateNodes(nodes, final)
	plan := d.render(final.problem, final.layout)
	plan.LeftOut = leftOut(final.layout)
	plan.Emptiness = d.emptiness(nodes)
	plan.Kept = kept
	d.estimate(consolidation, nodes)
	plan.Consolidation = consolidation
	plan.Guides, plan.Steers = d.steer(nodes)
	to := d.destinations(&plan)
	joinSteps(consolidation, to)
	plan.Chosen = d.chosen(nodes, to)
	plan.Removals = slices.Concat(forced, removals, consolidated)
	for i := range plan.Removals {
		r := &plan.Removals[i]
		r.Planned = d.in.Now
		r.Replacements, r.Starting, r.Step = to[r.Node].machines, to[r.Node].starting, to[r.Node].step
	}
	slices.SortStableFunc(plan.Removals, func(a, b Removal) int { return strings.Compare(a.Node, b.Node) })
	return plan
}

// problem states what is to be packed when the given nodes go: the pending pods,
// and the pods of those nodes that will come back elsewhere.
func (d *decision) problem(leaving map[string]bool) *pack.Problem {
	p := &pack.Problem{Now: d.in.Now, Snapshot: d.in.Snapshot, Leaving: leaving, Shut: d.shut(), NodeCost: d.in.Settings.nodeCost(), Trials: d.in.Settings.trials(), Without: d.in.Settings.Without}
	p.Provisioners = d.packProvisioners()
	kept := d.keptPlaces()
	p.Pods = make([]pack.Demand, 0, d.pending)
	for i := range d.in.Snapshot.Pods {
		pod := &d.in.Snapshot.Pods[i]
		refused := d.in.Deferred[pod.PodKey]
		if before := d.exhausted[pod.PodKey]; before != nil {
			refused = before.Reason
		}
		nodes := kept[pod.PodKey]
		if to := d.hints[pod.PodKey]; to != "" && len(nodes) == 0 {
			nodes = []string{to}
		}
		switch {
		case pod.State == cluster.PodPending:
			p.Pods = append(p.Pods, pack.Demand{Pod: pod, Nodes: nodes, Growing: d.growing[pod.Owner.UID], Refused: refused})
		case leaving[pod.NodeName] && moves(pod) && !d.remains(pod):
			if len(nodes) == 0 {
				nodes = d.launchedFor(pod.NodeName)
			}
			p.Pods = append(p.Pods, pack.Demand{Pod: pod, From: pod.NodeName, Nodes: nodes, Refused: refused})
		}
	}
	return p
}

// remains reports whether a pod on a node that goes does not move. Pods on a node that the agent does not drain, or
// no longer, are planned for once they have been evicted: they may stay for as long as something holds the node, such
// as the finalizer of a Karpenter that does not run. If Karpenter runs, it evicts them. The same holds for pods that
// PodDisruptionBudgets let nobody evict: a machine for them would stand idle until somebody changes that.
func (d *decision) remains(p *cluster.Pod) bool {
	n := d.in.Snapshot.Node(p.NodeName)
	return n.Spares(p, d.in.Now) || n.Deleting && (n.Provisioner == "" || !n.Lost(d.in.Now) && d.pdbs.Stuck(p))
}

// ContactPatience is for how long the room of a node that has been up counts while it is not ready.
// It may be back soon, but kube-scheduler puts no pods there meanwhile.
const ContactPatience = time.Minute

// shut lists the nodes that have been up and have not been ready for longer than ContactPatience. Whether they
// are replaced is another question: their room may be needed long before. It also lists nodes that still have
// their startup taints after the startup timeout, and stay because pods run there: other pods would wait. And
// it lists nodes that another program has marked, because that program may take them away, and idle ones.
func (d *decision) shut() map[string]bool {
	out := maps.Clone(d.idle)
	if out == nil {
		out = map[string]bool{}
	}
	for i := range d.in.Snapshot.Nodes {
		n := &d.in.Snapshot.Nodes[i]
		if m := n.Mark(); m.Reason != "" && !m.Own {
			out[n.Name] = true
		} else if up := n.Initialized || d.ran[n.Name]; up && !n.Ready && !n.UnreadySince.IsZero() && d.in.Now.Sub(n.UnreadySince) >= ContactPatience {
			out[n.Name] = true
		} else if d.in.Settings.Late(n, d.in.Now) && n.Ready && n.Provisioner != "" {
			p := d.provisioner(n.Provisioner)
			out[n.Name] = out[n.Name] || p != nil && len(n.PassingTaints(p.Spec)) > 0
		}
	}
	return out
}

// provisioner returns a Provisioner of the input, or nil.
func (d *decision) provisioner(name string) *Provisioner {
	return provisionerNamed(d.in.Provisioners, name)
}

// provisionerNamed returns one of Provisioners in the order of their names, or nil.
func provisionerNamed(all []Provisioner, name string) *Provisioner {
	if k, known := slices.BinarySearchFunc(all, name, func(p Provisioner, name string) int { return strings.Compare(p.Spec.Name, name) }); known {
		return &all[k]
	}
	return nil
}

func (d *decision) packProvisioners() []pack.Provisioner {
	var out []pack.Provisioner
	for i := range d.in.Provisioners {
		p := &d.in.Provisioners[i]
		out = append(out, pack.Provisioner{Spec: p.Spec, Types: p.Types, Index: p.Index, Closed: p.Blocked})
	}
	return out
}

// moves reports whether a running pod will come back elsewhere when its node goes.
func moves(p *cluster.Pod) bool {
	return p.NeedsNode() && p.Owner.Kind != ""
}

// keptPlaces indexes the placements of earlier plans that have not happened yet.
func (d *decision) keptPlaces() map[cluster.PodKey][]string {
	out := map[cluster.PodKey][]string{}
	for _, b := range d.in.Planned {
		out[b.Pod] = append(out[b.Pod], b.Node)
	}
	return out
}

// launchedFor names the nodes that were launched for the pods of a leaving node.
func (d *decision) launchedFor(name string) []string {
	if n := d.in.Snapshot.Node(name); n != nil {
		return n.Mark().Replacements
	}
	return nil
}
