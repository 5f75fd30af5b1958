package agent

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

const (
	drainPoll = time.Second
	// drainRest is the least time between two passes: in it, changes are gathered.
	drainRest = 100 * time.Millisecond
	// excludeFromBalancers keeps load balancers from sending new connections.
	excludeFromBalancers = "node.kubernetes.io/exclude-from-external-load-balancers"
)

// drainLoop empties the nodes that are being deleted, gives their machines back
// and lets the Node objects go. It does not wait for the planning loop.
func (a *Agent) drainLoop(ctx context.Context) error {
	if err := a.awaitSync(ctx); err != nil {
		return err
	}
	for {
		idle := a.options.Interval
		if a.drainPass(ctx) > 0 {
			idle = drainPoll
		}
		if err := sleep(ctx, backOff(a.drains.thought, drainRest)); err != nil {
			return err
		}
		timer := time.NewTimer(idle)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-a.redrain:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// drainPass takes each node that is being deleted one step further, and returns
// how many of them are left.
func (a *Agent) drainPass(ctx context.Context) int {
	began := time.Now()
	defer func() { a.metrics.drainPassSeconds.Observe(time.Since(began).Seconds()) }()
	seen := a.cluster.Snapshot()
	s := a.owners.apply(a.assumed.apply(seen))
	var leaving, empty []*cluster.Node
	for i := range s.Nodes {
		switch n := &s.Nodes[i]; {
		case !n.Deleting || n.Provisioner == "":
		case held(n, api.Finalizer):
			leaving = append(leaving, n)
		case len(n.Finalizers) > 0:
			a.drains.held.note(n.Name, holdUp{cause: heldByNode, text: "the Node object waits for the finalizer " + strings.Join(n.Finalizers, ", ") + " of another program"})
		}
	}
	a.drains.keep(leaving, s)
	a.drains.thought = time.Since(began)
	if len(leaving) == 0 {
		a.reportHeldUp(s)
		return 0
	}
	pods, shut := podsOn(s), closedNodes(seen)
	limits := a.drainLimits()
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(drainsAtOnce)
	for _, n := range leaving {
		g.Go(func() error {
			d := drain{node: n, pods: pods[n.Name], limit: limits[n.Provisioner], now: time.Now()}
			if a.drain(ctx, &d, shut[n.Name]) {
				mu.Lock()
				defer mu.Unlock()
				empty = append(empty, n)
			}
			return nil
		})
	}
	_ = g.Wait() // each step deals with its own errors and is taken again
	left := len(leaving) - a.finish(ctx, a.withoutCompany(ctx, s, empty))
	a.reportHeldUp(s)
	return left
}

// reportHeldUp tells the nodes and pods what holds up drains. Evictions that a budget
// forbids have events of their own.
func (a *Agent) reportHeldUp(s *cluster.Snapshot) {
	a.drains.noteRefusals()
	for _, h := range a.drains.held.settle(time.Now()) {
		if h.cause == heldByBudget {
			continue
		}
		a.log.Warn("waited longer than usual to drain a node", "node", h.node, "cause", string(h.cause), "message", h.text)
		a.event(nodeRef(h.node), corev1.EventTypeWarning, eventDrainHeldUp, h.text)
		if h.pod.UID != "" {
			a.event(podRef(h.pod), corev1.EventTypeWarning, eventDrainHeldUp, h.text)
		}
	}
	a.metrics.heldUp(s, a.drains.held.causes())
}

// withoutCompany leaves out the drained nodes whose machine has another Node
// object, under the name that its kubelet chose, until that is drained too.
func (a *Agent) withoutCompany(ctx context.Context, s *cluster.Snapshot, drained []*cluster.Node) []*cluster.Node {
	machines, itself := map[string]bool{}, map[string]bool{}
	for _, d := range drained {
		machines[d.ProviderID], itself[d.Name] = true, true
	}
	occupied := map[string]string{}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.ProviderID == "" || itself[n.Name] || !machines[n.ProviderID] {
			continue
		}
		occupied[n.ProviderID] = n.Name
		if !n.Deleting {
			a.deleteNode(ctx, n.Name)
		}
	}
	return slices.DeleteFunc(drained, func(n *cluster.Node) bool {
		other := occupied[n.ProviderID]
		if other != "" {
			a.drains.held.note(n.Name, holdUp{cause: heldByMachine, text: "node " + other + " is the same machine, and is drained first"})
		}
		return other != ""
	})
}

// drain takes one node a step further and reports whether its machine may be
// given back. Until the caches show that it is shut, they may not show all of the
// pods either that the scheduler has bound to it.
func (a *Agent) drain(ctx context.Context, d *drain, shut bool) bool {
	n := d.node
	if !closed(n) && !a.closeNode(ctx, n) {
		a.drains.held.note(n.Name, holdUp{cause: heldByNode, text: "the node could not be tainted and cordoned"})
		return false
	}
	gone := a.ledger.instanceGone(n.Name)
	if !gone && !shut && !hadKubelet(n, d.pods) {
		return false // its kubelet may have come up since; the caches show it once they show the taint
	}
	if gone || !hadKubelet(n, d.pods) {
		// Nothing runs there that could be stopped in order: the pods are ended so
		// that their controllers can replace them.
		return a.deletePods(ctx, d.pods, 0)
	}
	next := d.next()
	if d.overdue() {
		a.endAll(ctx, next)
	} else {
		a.evictAll(ctx, n, next)
	}
	for _, h := range d.held() {
		a.drains.held.note(n.Name, h)
	}
	if len(next) > 0 || !shut {
		return false
	}
	since := a.drains.emptySince(n.Name)
	if kept := d.volumesKept(); n.AttachedVolumes > kept && since < detachPatience {
		a.drains.held.note(n.Name, holdUp{cause: heldByVolume, text: volumesHeld(n.AttachedVolumes - kept)})
		return false
	}
	return true
}

// closed reports whether new pods and connections are kept away from the node.
func closed(n *cluster.Node) bool {
	tainted := slices.ContainsFunc(n.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&disruptionTaint) })
	return tainted && n.Unschedulable && n.Labels[excludeFromBalancers] != ""
}

func closedNodes(s *cluster.Snapshot) map[string]bool {
	out := map[string]bool{}
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Deleting && closed(n) {
			out[n.Name] = true
		}
	}
	return out
}

// closeNode closes a node.
func (a *Agent) closeNode(ctx context.Context, n *cluster.Node) bool {
	done := a.patchNode(ctx, n.Name, cluster.NodeChange{
		SetLabels: map[string]string{excludeFromBalancers: "true"},
		AddTaints: []corev1.Taint{disruptionTaint},
		Cordon:    ptr.To(true),
	})
	if done {
		a.log.Info("began to drain a node", "node", n.Name, "provisioner", n.Provisioner)
		a.event(nodeRef(n.Name), corev1.EventTypeNormal, eventDraining, "the node's pods are being evicted")
	}
	return done
}

// hadKubelet reports whether a kubelet has ever taken the node over. One that
// fell silent before the node was initialized is known by the pods it started.
func hadKubelet(n *cluster.Node, pods []*cluster.Pod) bool {
	return n.Ready || n.Initialized || slices.ContainsFunc(pods, func(p *cluster.Pod) bool { return p.Running })
}

// drainLimits are the Provisioners' terminationGracePeriods, by name.
func (a *Agent) drainLimits() map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, p := range a.cluster.Provisioners() {
		if d := p.Spec.Disruption; d != nil && d.TerminationGracePeriod != nil {
			out[p.Name] = max(d.TerminationGracePeriod.Duration, 1) // 0 stands for none
		}
	}
	return out
}
