package agent

import (
	"context"
	"slices"
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
	// kubeletPatience is how long a drain waits for a kubelet that is not ready to
	// stop pods that were told to go.
	kubeletPatience = 5 * time.Minute
	// detachPatience is how long a drained node's volumes are waited for.
	detachPatience = 2 * time.Minute
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
		if err := sleep(ctx, restFor(a.drains.thought, drainRest)); err != nil {
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
	s := a.assumed.apply(seen)
	var leaving, empty []*cluster.Node
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Deleting && n.Provisioner != "" && held(n, api.Finalizer) {
			leaving = append(leaving, n)
		}
	}
	a.drains.keep(leaving, s)
	a.drains.thought = time.Since(began)
	if len(leaving) == 0 {
		return 0
	}
	pods, shut := podsOn(s), closedNodes(seen)
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(drainsAtOnce)
	for _, n := range leaving {
		g.Go(func() error {
			if a.drain(ctx, n, pods[n.Name], shut[n.Name]) {
				mu.Lock()
				defer mu.Unlock()
				empty = append(empty, n)
			}
			return nil
		})
	}
	_ = g.Wait() // each step deals with its own errors and is taken again
	return len(leaving) - a.finish(ctx, a.withoutCompany(ctx, s, empty))
}

// withoutCompany leaves out the drained nodes whose machine has another Node
// object, under the name that its kubelet chose, until that is drained too.
func (a *Agent) withoutCompany(ctx context.Context, s *cluster.Snapshot, drained []*cluster.Node) []*cluster.Node {
	machines, itself := map[string]bool{}, map[string]bool{}
	for _, d := range drained {
		machines[d.ProviderID], itself[d.Name] = true, true
	}
	occupied := map[string]bool{}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.ProviderID == "" || itself[n.Name] || !machines[n.ProviderID] {
			continue
		}
		occupied[n.ProviderID] = true
		if !n.Deleting {
			a.deleteNode(ctx, n.Name)
		}
	}
	return slices.DeleteFunc(drained, func(n *cluster.Node) bool { return occupied[n.ProviderID] })
}

// drain takes one node a step further and reports whether its machine may be
// given back. Until the caches show that it is shut, they may not show all of the
// pods either that the scheduler has bound to it.
func (a *Agent) drain(ctx context.Context, n *cluster.Node, pods []*cluster.Pod, shut bool) bool {
	if !closed(n) && !a.closeNode(ctx, n) {
		return false
	}
	if !hadKubelet(n, pods) || a.ledger.instanceGone(n.Name) {
		// Nothing runs there that could be stopped in order: the pods are ended so
		// that their controllers can replace them.
		return a.deletePods(ctx, pods, 0)
	}
	silent := !n.Ready && a.drains.since(n.Name) >= kubeletPatience
	evictable := slices.DeleteFunc(slices.Clone(pods), func(p *cluster.Pod) bool {
		return !waitedFor(p) || silent && p.State == cluster.PodTerminating
	})
	if a.graceOver(n) {
		a.deletePods(ctx, evictable, 0)
		return true
	}
	next := slices.DeleteFunc(slices.Clone(evictable), func(p *cluster.Pod) bool { return p.Template.Critical })
	if len(next) == 0 {
		next = evictable
	}
	a.evictAll(ctx, n, next)
	return len(next) == 0 && shut && a.detached(n, pods)
}

// detached reports whether the volumes of the pods that have left are detached, so
// that their successors can have them at once, or were waited for long enough.
// Pods that stay until the machine goes keep theirs.
func (a *Agent) detached(n *cluster.Node, left []*cluster.Pod) bool {
	kept := 0
	for _, p := range left {
		kept += len(p.Template.Claims)
	}
	return n.AttachedVolumes <= kept || a.drains.emptySince(n.Name) >= detachPatience
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

// waitedFor reports whether a drain evicts the pod and waits until it is gone.
// DaemonSet and static pods would come back, and pods that tolerate the taints of
// a drain are meant to stay until the machine goes.
func waitedFor(p *cluster.Pod) bool {
	if p.Template.DaemonSet || p.Template.Static {
		return false
	}
	unschedulable := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	return !slices.ContainsFunc(p.Template.Tolerations, func(t corev1.Toleration) bool {
		return tolerates(t, disruptionTaint) || tolerates(t, unschedulable)
	})
}

func tolerates(t corev1.Toleration, taint corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	return t.Operator == corev1.TolerationOpExists || t.Key != "" && t.Value == taint.Value
}

// graceOver reports whether the Provisioner's terminationGracePeriod has passed
// since the node's deletion was asked for, whichever agent leads.
func (a *Agent) graceOver(n *cluster.Node) bool {
	for _, p := range a.cluster.Provisioners() {
		if p.Name == n.Provisioner && p.Spec.Disruption != nil && p.Spec.Disruption.TerminationGracePeriod != nil {
			return !n.DeletedAt.IsZero() && time.Since(n.DeletedAt) >= p.Spec.Disruption.TerminationGracePeriod.Duration
		}
	}
	return false
}
