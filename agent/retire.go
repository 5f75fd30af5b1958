package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
)

var disruptionTaint = corev1.Taint{Key: api.TaintDisruption, Effect: corev1.TaintEffectNoSchedule}

// mark sets and removes emptiness timestamps.
func (a *Agent) mark(ctx context.Context, plan *decide.Plan) {
	for _, m := range plan.Marks {
		change := cluster.NodeChange{RemoveAnnotations: []string{api.AnnotationEmptiness}}
		if !m.Since.IsZero() {
			change = cluster.NodeChange{SetAnnotations: map[string]string{
				api.AnnotationEmptiness: wholeSeconds(m.Since).UTC().Format(time.RFC3339),
			}}
		}
		a.patchNode(ctx, m.Node, change)
	}
}

// wholeSeconds rounds up, so that no node is taken for empty longer than it is.
func wholeSeconds(t time.Time) time.Time { return t.Add(time.Second - 1).Truncate(time.Second) }

// remove carries out a plan's removals. What must go is deleted at once. What goes
// voluntarily is tainted and annotated first: once its replacements are up, and
// if its reason still holds then, release deletes it.
func (a *Agent) remove(ctx context.Context, v *view, plan *decide.Plan, bought *launched) {
	fresh := a.verify(v)
	for i := range plan.Removals {
		r := &plan.Removals[i]
		n := fresh.fresh[r.Node]
		switch {
		case n == nil || n.Deleting || n.Provisioner == "":
		case !r.Voluntary:
			a.removeNow(ctx, n, r)
		case n.Annotations[api.AnnotationDisruption] != "" || !fresh.node(r.Node):
		case r.Reason == decide.Empty && hasWork(fresh.podsOn(r.Node)):
			a.replan.set()
		default:
			a.disrupt(ctx, n, r, bought)
		}
	}
}

func (a *Agent) removeNow(ctx context.Context, n *cluster.Node, r *decide.Removal) {
	if !a.deleteNode(ctx, n.Name) {
		return
	}
	a.log.Info("removed a node", "node", n.Name, "provisioner", n.Provisioner, "reason", string(r.Reason), "message", r.Message)
	reason, eventType := eventDisrupting, corev1.EventTypeNormal
	if r.Reason == decide.NeverUp {
		reason, eventType = eventNeverRegistered, corev1.EventTypeWarning
	}
	a.cluster.Event(nodeRef(n.Name), eventType, reason, r.Message)
}

// disrupt marks a node as going. Nothing happens unless all of its replacements
// were bought.
func (a *Agent) disrupt(ctx context.Context, n *cluster.Node, r *decide.Removal, bought *launched) {
	var replacements []string
	for _, machine := range r.Replacements {
		name, ok := bought.node(machine)
		if !ok {
			a.log.Info("kept a node for want of a replacement", "node", n.Name, "reason", string(r.Reason), "machine", machine)
			return
		}
		replacements = append(replacements, name)
	}
	change := cluster.NodeChange{
		SetAnnotations: map[string]string{
			api.AnnotationDisruption: disruptionReason(r.Reason),
			api.AnnotationReplacedBy: strings.Join(replacements, ","),
		},
		AddTaints: []corev1.Taint{disruptionTaint},
	}
	if !a.patchNode(ctx, n.Name, change) {
		return
	}
	a.log.Info("marked a node for removal", "node", n.Name, "provisioner", n.Provisioner, "reason", string(r.Reason),
		"replaced_by", replacements)
	a.cluster.Event(nodeRef(n.Name), corev1.EventTypeNormal, eventDisrupting, r.Message)
}

// disruptionReason is the reason as annotations and budgets spell it.
func disruptionReason(r decide.RemovalReason) string {
	switch r {
	case decide.Empty:
		return api.ReasonEmptiness
	case decide.Expired:
		return api.ReasonExpiry
	case decide.Drifted:
		return api.ReasonDrift
	}
	return string(r)
}

// release deletes the marked nodes whose replacements are up, and keeps those
// that lost a replacement or, where they go for being empty, got work. The mark
// must be in the caches, so that pods that were bound before it are seen too.
func (a *Agent) release(ctx context.Context, v *view) {
	raw := a.cluster.Snapshot()
	pods := podsOn(raw)
	for i := range raw.Nodes {
		n := &raw.Nodes[i]
		reason := n.Annotations[api.AnnotationDisruption]
		if _, ours := n.Annotations[api.AnnotationReplacedBy]; !ours {
			continue // other programs use the same annotation for their own ends
		}
		if reason == "" || n.Provisioner == "" || n.Deleting || v.nodes[n.Name] == nil || v.nodes[n.Name].Deleting {
			continue
		}
		lost, waiting := v.replacements(n)
		switch {
		case lost != "":
			a.keep(ctx, n, fmt.Sprintf("its replacement %s is gone", lost))
		case reason == api.ReasonEmptiness && hasWork(pods[n.Name]):
			a.keep(ctx, n, "it has work again")
		case waiting:
		case a.deleteNode(ctx, n.Name):
			a.log.Info("removed a node", "node", n.Name, "provisioner", n.Provisioner, "reason", reason)
		}
	}
}

// replacements returns the first replacement of a leaving node that is gone or
// going, and whether some are not up yet.
func (v *view) replacements(n *cluster.Node) (lost string, waiting bool) {
	for name := range strings.SplitSeq(n.Annotations[api.AnnotationReplacedBy], ",") {
		if name == "" {
			continue
		}
		r := v.nodes[name]
		if r == nil || r.Deleting {
			return name, false
		}
		waiting = waiting || !r.Initialized
	}
	return "", waiting
}

// keep takes back a removal that has not begun.
func (a *Agent) keep(ctx context.Context, n *cluster.Node, why string) {
	change := cluster.NodeChange{
		RemoveAnnotations: []string{api.AnnotationDisruption, api.AnnotationReplacedBy, api.AnnotationEmptiness},
		RemoveTaints:      []corev1.Taint{disruptionTaint},
	}
	if !a.patchNode(ctx, n.Name, change) {
		return
	}
	a.log.Info("kept a node", "node", n.Name, "provisioner", n.Provisioner, "reason", why)
	a.cluster.Event(nodeRef(n.Name), corev1.EventTypeNormal, eventKept, why)
}

// hasWork reports whether pods run there that need the node, by the core's own rule.
func hasWork(pods []*cluster.Pod) bool { return (&retire.Node{Pods: pods}).InUse() }

func (c *verifier) podsOn(node string) []*cluster.Pod {
	var out []*cluster.Pod
	for _, p := range c.pods {
		if p.NodeName == node {
			out = append(out, p)
		}
	}
	return out
}
