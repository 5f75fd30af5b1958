package agent

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/drain"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/parallel"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/purchase"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// mark sets and removes emptiness timestamps.
func (a *Agent) mark(ctx context.Context, plan *decide.Plan) {
	parallel.Each(nodesAtOnce, plan.Marks, func(m decide.Mark) {
		change := cluster.NodeChange{RemoveAnnotations: []string{api.AnnotationEmptiness}}
		if !m.Since.IsZero() {
			change = cluster.NodeChange{SetAnnotations: map[string]string{
				api.AnnotationEmptiness: wholeSeconds(m.Since).UTC().Format(time.RFC3339),
			}}
		}
		a.nodes.Patch(ctx, m.Node, change)
	})
}

// wholeSeconds rounds up, so that no node is taken for empty longer than it is.
func wholeSeconds(t time.Time) time.Time { return t.Add(time.Second - 1).Truncate(time.Second) }

// remove carries out a plan's removals. What must go is deleted at once. What goes
// voluntarily is tainted and annotated first: once its replacements are up, and
// if its reason still holds then, release deletes it.
func (a *Agent) remove(ctx context.Context, v *view.View, plan *decide.Plan, bought *purchase.Outcome) {
	if len(plan.Removals) == 0 {
		return
	}
	fresh := a.verify(v)
	pods := fresh.Snapshot.PodsByNode()
	parallel.Each(nodesAtOnce, plan.Removals, func(r decide.Removal) {
		n := fresh.Nodes[r.Node]
		switch {
		case n == nil || n.Deleting || n.Provisioner == "":
		case !r.Voluntary:
			a.removeNow(ctx, n, &r)
		case n.Annotations[api.AnnotationDisruption] != "" || !fresh.Node(r.Node):
		case r.Reason == decide.Empty && decide.InUse(pods[r.Node], time.Now()):
			a.replan.set()
		default:
			a.disrupt(ctx, n, &r, bought)
		}
	})
}

func (a *Agent) removeNow(ctx context.Context, n *cluster.Node, r *decide.Removal) {
	if !a.nodes.Delete(ctx, n.Name) {
		return
	}
	a.metrics.Disruptions.WithLabelValues(n.Provisioner, r.Reason.Name()).Inc()
	a.log.Info("removed a node", "node", n.Name, "provisioner", n.Provisioner, "reason", string(r.Reason), "message", r.Message)
	if r.Reason == decide.NeverUp {
		a.events.Warning(event.Node(n.Name), event.NeverRegistered, r.Message)
		return
	}
	a.events.Normal(event.Node(n.Name), event.Disrupting, r.Message)
}

// disrupt marks a node as going. Nothing happens unless all of its replacements
// were bought.
func (a *Agent) disrupt(ctx context.Context, n *cluster.Node, r *decide.Removal, bought *purchase.Outcome) {
	if slices.ContainsFunc(r.Starting, a.buyer.Holds) {
		return // its replacement is being bought
	}
	replacements := slices.Clone(r.Starting)
	for _, machine := range r.Replacements {
		name, ok := bought.Node(machine)
		if !ok {
			a.log.Info("kept a node for want of a replacement", "node", n.Name, "reason", string(r.Reason), "machine", machine)
			return
		}
		replacements = append(replacements, name)
	}
	change := cluster.NodeChange{
		SetAnnotations: map[string]string{
			api.AnnotationDisruption: r.Reason.Name(),
			api.AnnotationReplacedBy: strings.Join(replacements, ","),
		},
		AddTaints: []corev1.Taint{drain.Taint},
	}
	if !a.nodes.Patch(ctx, n.Name, change) {
		return
	}
	a.metrics.Disruptions.WithLabelValues(n.Provisioner, r.Reason.Name()).Inc()
	a.log.Info("marked a node for removal", "node", n.Name, "provisioner", n.Provisioner, "reason", string(r.Reason),
		"replaced_by", replacements)
	a.events.Normal(event.Node(n.Name), event.Disrupting, r.Message)
}

// release acts on the nodes that were marked as going: it deletes those whose pods
// have places that are up, and keeps those that should stay after all. The mark
// must be in the caches, so that pods that were bound before it are seen too.
func (a *Agent) release(ctx context.Context, v *view.View, plan *decide.Plan) {
	if len(plan.Chosen) == 0 {
		return
	}
	fresh := a.verify(v)
	came := fresh.Newcomers()
	raw := a.cluster.Snapshot()
	parallel.Each(nodesAtOnce, plan.Chosen, func(c decide.Chosen) {
		i, ok := slices.BinarySearchFunc(raw.Nodes, c.Node, func(n cluster.Node, name string) int { return strings.Compare(n.Name, name) })
		if !ok || raw.Nodes[i].Deleting || raw.Nodes[i].Annotations[api.AnnotationDisruption] == "" {
			return
		}
		n := &raw.Nodes[i]
		switch {
		case c.Verdict == decide.Stay:
			a.keep(ctx, n, c.Why)
		case c.Verdict == decide.Wait:
			a.log.Debug("waited with a removal", "node", n.Name, "reason", c.Why)
		case !fresh.Node(n.Name) || came[n.Name]:
			a.replan.set()
		case a.nodes.Delete(ctx, n.Name):
			a.log.Info("removed a node", "node", n.Name, "provisioner", n.Provisioner, "reason", n.Annotations[api.AnnotationDisruption])
		}
	})
}

// keep takes back a removal that has not begun.
func (a *Agent) keep(ctx context.Context, n *cluster.Node, why string) {
	change := cluster.NodeChange{
		RemoveAnnotations: []string{api.AnnotationDisruption, api.AnnotationReplacedBy, api.AnnotationEmptiness},
		RemoveTaints:      []corev1.Taint{drain.Taint},
	}
	if !a.nodes.Patch(ctx, n.Name, change) {
		return
	}
	a.log.Info("kept a node", "node", n.Name, "provisioner", n.Provisioner, "reason", why)
	a.events.Normal(event.Node(n.Name), event.Kept, why)
}
