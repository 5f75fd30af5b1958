// Package disrupt removes nodes as a plan says: at once where they must go, and
// voluntarily once their pods have places that are up.
package disrupt

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/drain"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/nodes"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/parallel"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// podsAtOnce bounds how many pods are changed at the same time.
const podsAtOnce = 16

// Cluster reads the cluster.
type Cluster interface {
	// Snapshot is what the caches hold.
	Snapshot() *cluster.Snapshot
	nodes.Reader
}

// Pods are the pods of the cluster.
type Pods interface {
	// Steer makes the owner of a pod, when it shrinks, end the pod before others: the higher
	// the grade, the sooner; 0 takes that back. A deletion cost that somebody else has set
	// stays, and a pod that is gone is fine.
	Steer(ctx context.Context, pod cluster.PodKey, grade int) error
}

// Surges moves pods without reducing the number of ready pods. Its methods take a snapshot in which the pods that
// surge moves are marked, and a node of that snapshot with its pods.
type Surges interface {
	// Obstacle returns why the node cannot go; empty where nothing is known of it.
	Obstacle(s *cluster.Snapshot, pods []*cluster.Pod) string
	// Clear reports whether all pods that are moved so have left the node. If not, it begins to move them.
	Clear(ctx context.Context, s *cluster.Snapshot, n *cluster.Node, pods []*cluster.Pod) bool
}

// Disrupter removes nodes. All exported fields are to be set.
type Disrupter struct {
	Cluster Cluster
	Pods    Pods
	Nodes   *nodes.Writer
	Events  *event.Recorder
	Metrics *metrics.Metrics
	Log     hclog.Logger
	// Buying reports whether a node is a machine that is still being bought.
	Buying func(node string) bool
	// Surges moves the pods that must be ready elsewhere before they go.
	Surges Surges
	// Unfinished paces the purchases in place of nodes that stayed although machines had been bought in their place.
	Unfinished *pace.Retries
	// Steers has room for one list of marks on pods.
	Steers chan []decide.Steer
	// Replan is called when what a plan was made from does not hold any more.
	Replan func()
	// Retry is called when something is left for a little later.
	Retry func()

	postponed postponed
}

// NoteEmptiness sets and removes emptiness timestamps. The snapshot is that which the plan was made from.
func (d *Disrupter) NoteEmptiness(ctx context.Context, s *cluster.Snapshot, emptiness []decide.Emptiness) {
	parallel.Each(parallel.NodesAtOnce, emptiness, func(e decide.Emptiness) {
		change := cluster.NodeChange{RemoveAnnotations: []string{api.AnnotationEmptiness}}
		if !e.Since.IsZero() {
			change = cluster.NodeChange{SetAnnotations: map[string]string{
				api.AnnotationEmptiness: wholeSeconds(e.Since).UTC().Format(time.RFC3339),
			}}
		}
		d.Nodes.Patch(ctx, s.Node(e.Node), change)
	})
}

// Guide leads new pods away from nodes that should become empty, or lets them come again. The snapshot is that
// which the plan was made from.
func (d *Disrupter) Guide(ctx context.Context, s *cluster.Snapshot, guides []decide.Guide) {
	parallel.Each(parallel.NodesAtOnce, guides, func(g decide.Guide) {
		d.Nodes.Patch(ctx, s.Node(g.Node), cluster.NodeChange{Guide: &g.Grade})
	})
}

// Steer marks pods that should be ended first where their owners shrink, or takes the marks off. It does not
// wait for that: a turn may have to buy machines meanwhile.
func (d *Disrupter) Steer(steers []decide.Steer) {
	select {
	case <-d.Steers: // an earlier list that has not been begun
	default:
	}
	d.Steers <- steers
}

// steeringPatience is how long a list may take. Then it is too old: surge may have marked its pods since.
const steeringPatience = time.Minute

// RunSteering carries out what Steer lists until the context ends. What fails, or takes too long, is listed again
// by a later plan.
func (d *Disrupter) RunSteering(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case steers := <-d.Steers:
			list, done := context.WithTimeout(ctx, steeringPatience)
			parallel.Each(podsAtOnce, steers, func(s decide.Steer) { d.steer(list, s) })
			done()
		}
	}
}

func (d *Disrupter) steer(ctx context.Context, s decide.Steer) {
	if ctx.Err() != nil {
		return
	}
	if err := d.Pods.Steer(ctx, s.Pod, s.Grade); err != nil && ctx.Err() == nil {
		d.Log.Warn("could not set the deletion cost of a pod", "pod", s.Pod.String(), "error", err)
	}
}

// wholeSeconds rounds up, so that no node is taken for empty longer than it is.
func wholeSeconds(t time.Time) time.Time { return t.Add(time.Second - 1).Truncate(time.Second) }

// Remove carries out a plan's removals. What must go is deleted at once. What goes
// voluntarily is tainted and annotated first: once its replacements are up, and
// if its reason still holds then, Release deletes it. The last argument returns the node
// that a machine of the plan has become, or is expected to become: what waits for machines
// that are still being bought is postponed. A step of consolidation is carried out for all of its nodes or for none.
func (d *Disrupter) Remove(ctx context.Context, fresh *view.Verifier, removals []decide.Removal, bought func(machine string) (node string, ok bool)) {
	pods := fresh.Snapshot.PodsByNode()
	incomplete := incompleteSteps(removals, func(r *decide.Removal) bool {
		n := fresh.Snapshot.Node(r.Node)
		return n != nil && n.Provisioner != "" && n.Mark().Reason == "" && fresh.Node(r.Node)
	})
	var marked sync.Map // by node: what replaces it
	parallel.Each(parallel.NodesAtOnce, removals, func(r decide.Removal) {
		n := fresh.Snapshot.Node(r.Node)
		switch {
		case n == nil || n.Deleting || n.Provisioner == "":
		case !r.Reason.Voluntary():
			d.removeNow(ctx, n, &r, fresh)
		case n.Mark().Reason != "" || !fresh.Node(r.Node) || incomplete[r.Node]:
		case r.Reason == decide.Empty && decide.InUse(pods[r.Node], time.Now()):
			d.Replan()
		default:
			if replacements, ok := d.mark(ctx, n, &r, bought); ok {
				marked.Store(r.Node, replacements)
			}
		}
	})
	incomplete = incompleteSteps(removals, func(r *decide.Removal) bool { _, is := marked.Load(r.Node); return is })
	postponed := d.Postponed()
	parallel.Each(parallel.NodesAtOnce, removals, func(r decide.Removal) {
		n := fresh.Snapshot.Node(r.Node)
		switch replacements, is := marked.Load(r.Node); {
		case is && !incomplete[r.Node]:
			d.Unfinished.Succeeded(n.Identity())
			d.report(n, &r, replacements)
			return
		case is:
			d.Log.Info("kept a node because another one of its step could not be marked", "node", n.Name, "provisioner", n.Provisioner)
			d.Nodes.Patch(ctx, n, drain.Unchosen)
		}
		if n != nil && !postponed[r.Node] && inVain(&r, bought) {
			d.Unfinished.Failed(n.Identity())
		}
	})
}

// inVain reports whether machines were bought in place of a node that stays. A node that is to go for another reason than
// consolidation, and has only changed, is planned for again at once, with these machines.
func inVain(r *decide.Removal, bought func(machine string) (string, bool)) bool {
	n := 0
	for _, machine := range r.Replacements {
		if _, ok := bought(machine); ok {
			n++
		}
	}
	return n > 0 && (r.Reason == decide.Consolidated || r.Reason.Voluntary() && n < len(r.Replacements))
}

// incompleteSteps returns the nodes that were to be consolidated in a step of which not all nodes go: only the whole
// step is known to pay.
func incompleteSteps(removals []decide.Removal, goes func(r *decide.Removal) bool) map[string]bool {
	going, out := map[string]bool{}, map[string]bool{}
	for i := range removals {
		going[removals[i].Node] = goes(&removals[i])
	}
	for i := range removals {
		r := &removals[i]
		if r.Reason == decide.Consolidated && (!going[r.Node] || slices.ContainsFunc(r.Step, func(name string) bool { return !going[name] })) {
			out[r.Node] = true
		}
	}
	return out
}

func (d *Disrupter) removeNow(ctx context.Context, n *cluster.Node, r *decide.Removal, fresh *view.Verifier) {
	if !d.confirmed(ctx, n, r, fresh) || !d.Nodes.Drain(ctx, n) {
		return
	}
	d.Metrics.Disruptions.WithLabelValues(n.Provisioner, string(r.Reason)).Inc()
	d.Log.Info("removed a node", "node", n.Name, "provisioner", n.Provisioner, "reason", string(r.Reason), "message", r.Message)
	if r.Reason == decide.NeverUp {
		d.Events.Warning(event.Node(n.Name), event.NeverRegistered, r.Message)
		return
	}
	d.Events.Normal(event.Node(n.Name), event.Disrupting, r.Message)
}

// confirmed reports whether the reason for which a node goes at once still holds. If the node does not work, it
// asks the API server: the caches may be too old to show that its kubelet answers again, or that pods run there.
func (d *Disrupter) confirmed(ctx context.Context, n *cluster.Node, r *decide.Removal, fresh *view.Verifier) bool {
	switch {
	case r.Reason != decide.Unhealthy && r.Reason != decide.NeverUp:
		return true
	case r.Reason == decide.NeverUp && n.Ready: // its devices have not come, or its startup taints stay
		return d.undisturbed(ctx, n, fresh)
	}
	ready, err := d.Cluster.NodeReady(ctx, n.Name)
	if err != nil && ctx.Err() == nil {
		d.Log.Warn("could not read a node", "node", n.Name, "error", err)
	}
	if ready || err != nil {
		d.Retry()
	}
	return !ready && err == nil
}

// mark marks a node as going, and returns what replaces it; false if it did not. Nothing happens before all of its
// replacements are bought. A pod that comes meanwhile has come since the node was chosen, so that the mark has the time of
// the plan.
func (d *Disrupter) mark(ctx context.Context, n *cluster.Node, r *decide.Removal, bought func(machine string) (node string, ok bool)) (replacements []string, marked bool) {
	replacements = slices.Clone(r.Starting)
	missing := ""
	for _, machine := range r.Replacements {
		if name, ok := bought(machine); ok {
			replacements = append(replacements, name)
		} else {
			missing = machine
		}
	}
	if missing != "" {
		d.Log.Info("kept a node because its replacement was not bought", "node", n.Name, "reason", string(r.Reason), "machine", missing)
		return nil, false
	}
	if slices.ContainsFunc(replacements, d.Buying) {
		d.postponed.add(r, replacements)
		return nil, false
	}
	change := cluster.NodeChange{
		SetAnnotations: map[string]string{
			api.AnnotationDisruption:  string(r.Reason),
			api.AnnotationReplacedBy:  strings.Join(replacements, ","),
			api.AnnotationDisruptedAt: r.Planned.UTC().Format(time.RFC3339),
		},
		AddTaints: []corev1.Taint{drain.Taint},
	}
	if len(r.Step) > 0 {
		change.SetAnnotations[api.AnnotationDisruptedWith] = strings.Join(r.Step, ",")
	}
	return replacements, d.Nodes.Prepare(ctx, n, change)
}

// report says that a node was marked.
func (d *Disrupter) report(n *cluster.Node, r *decide.Removal, replacements any) {
	d.Metrics.Disruptions.WithLabelValues(n.Provisioner, string(r.Reason)).Inc()
	if r.Reason == decide.Consolidated {
		d.Metrics.Consolidation.Nodes.WithLabelValues(n.Provisioner, metrics.NodeChosen).Inc()
		d.Metrics.Consolidation.Saved.Add(r.Saving.Dollars())
	}
	d.Log.Info("marked a node for removal", "node", n.Name, "provisioner", n.Provisioner, "reason", string(r.Reason),
		"replaced_by", replacements)
	d.Events.Normal(event.Node(n.Name), event.Disrupting, r.Message)
}

// Release acts on the nodes that were marked as going: it deletes those whose pods
// have places that are up, and keeps those that should stay after all. The mark
// must be in the caches, so that pods that were bound before it are seen too.
func (d *Disrupter) Release(ctx context.Context, fresh *view.Verifier, chosen []decide.Chosen) {
	came, pods := fresh.Newcomers(), fresh.Snapshot.PodsByNode()
	seen := d.Cluster.Snapshot()
	parallel.Each(parallel.NodesAtOnce, chosen, func(c decide.Chosen) {
		n := seen.Node(c.Node)
		if n == nil || n.Deleting || n.Mark().Reason == "" {
			return
		}
		held := d.Surges.Obstacle(fresh.Snapshot, pods[n.Name])
		switch {
		case c.Verdict == decide.Stay:
			d.keep(ctx, n, c.Why)
		case held != "":
			d.keep(ctx, n, held)
		case c.Verdict == decide.Wait:
			d.Log.Debug("postponed a removal", "node", n.Name, "reason", c.Why)
		case !fresh.Node(n.Name) || came[n.Name]:
			d.Replan()
		case fresh.Snapshot.Node(n.Name).Annotations[api.AnnotationSurging] != "": // pods are being moved
		case !d.undisturbed(ctx, n, fresh):
		case !d.Surges.Clear(ctx, fresh.Snapshot, fresh.Snapshot.Node(n.Name), pods[n.Name]):
		case d.Nodes.Drain(ctx, n):
			if n.Mark().Reason == api.ReasonConsolidation {
				d.Metrics.Consolidation.Nodes.WithLabelValues(n.Provisioner, metrics.NodeGone).Inc()
			}
			d.Log.Info("removed a node", "node", n.Name, "provisioner", n.Provisioner, "reason", n.Mark().Reason)
		}
	})
}

// keep takes back a removal that has not begun.
func (d *Disrupter) keep(ctx context.Context, n *cluster.Node, why string) {
	if !d.Nodes.Patch(ctx, n, drain.Unchosen) {
		return
	}
	if n.Mark().Reason == api.ReasonConsolidation {
		d.Metrics.Consolidation.Nodes.WithLabelValues(n.Provisioner, metrics.NodeCalledOff).Inc()
	}
	d.Log.Info("kept a node", "node", n.Name, "provisioner", n.Provisioner, "reason", why)
	d.Events.Normal(event.Node(n.Name), event.Kept, why)
}
