package agent

import (
	"context"
	"errors"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// bind carries out a plan's bindings to nodes that exist. Only pods on nodes of
// ours that are not up yet are bound here; a pod that fits a node that is up is
// left to kube-scheduler, and so are the pods of a Provisioner that says so.
func (a *Agent) bind(ctx context.Context, v *view.View, plan *decide.Plan) (bound int) {
	if len(plan.Bindings) == 0 {
		return 0
	}
	fresh := a.verify(v)
	byNode := map[string][]cluster.PodKey{}
	for _, b := range plan.Bindings {
		if b.From != "" || a.buyer.Holds(b.Node) {
			continue // it still runs elsewhere, or its machine is being bought: there is nothing to bind yet
		}
		byNode[b.Node] = append(byNode[b.Node], b.Pod)
		a.tell(b.Pod, event.Nominated, "fits node "+b.Node)
	}
	var total atomic.Int64
	var g errgroup.Group
	g.SetLimit(nodesAtOnce)
	for node, pods := range byNode {
		if !a.binds(v, fresh, node) {
			continue
		}
		g.Go(func() error {
			total.Add(int64(a.bindAll(ctx, fresh, node, pods)))
			return nil
		})
	}
	_ = g.Wait() // bindAll deals with errors itself
	return int(total.Load())
}

// binds reports whether the agent binds pods to the node itself.
func (a *Agent) binds(v *view.View, fresh *view.Verifier, name string) bool {
	n := v.Nodes[name]
	if n == nil || n.Provisioner == "" || n.Initialized || !fresh.Node(name) || a.assumed.Uncreated(name) {
		return false
	}
	p := v.ByName[n.Provisioner]
	return p != nil && p.Spec.Spec.PodBinding == api.BindImmediate
}

// bindAll binds the pods that still wait, and returns how many are bound now.
func (a *Agent) bindAll(ctx context.Context, fresh *view.Verifier, node string, pods []cluster.PodKey) int {
	var bound atomic.Int64
	var g errgroup.Group
	g.SetLimit(bindsAtOnce)
	for _, pod := range pods {
		if !fresh.Pod(pod) || !bindable(fresh.Pods[pod.UID]) {
			continue
		}
		g.Go(func() error {
			if a.bindOne(ctx, pod, node) {
				bound.Add(1)
			}
			return nil
		})
	}
	_ = g.Wait() // bindOne deals with errors itself
	return int(bound.Load())
}

// bindable reports whether the scheduler has found no node for the pod, so that it
// will not bind it itself, and the pod can be bound at all. A kubelet refuses pods that
// need devices until the device plugin has registered: the scheduler waits for that.
func bindable(p *cluster.Pod) bool {
	return p.State == cluster.PodPending && !p.PresumedUnschedulable && !p.Template.ResourceClaims && !needsDevices(p)
}

func needsDevices(p *cluster.Pod) bool {
	for name, v := range p.Template.Requests {
		if v > 0 && extended(name) {
			return true
		}
	}
	return false
}

func (a *Agent) bindOne(ctx context.Context, pod cluster.PodKey, node string) bool {
	a.binding <- struct{}{}
	defer func() { <-a.binding }()
	err := a.cluster.Bind(ctx, pod, node)
	switch {
	case err == nil:
		a.assumed.Bound(pod, node)
		a.metrics.Waited(a.metrics.UntilBinding, a.history.firstSeen[pod.UID])
		a.log.Debug("bound a pod", "pod", pod.String(), "node", node)
		return true
	case errors.Is(err, cluster.ErrLeftToScheduler):
		a.log.Debug("left a pod to the scheduler", "pod", pod.String(), "node", node)
	case errors.Is(err, cluster.ErrStale):
		a.log.Debug("skipped a pod that has changed", "pod", pod.String(), "node", node)
		a.replan.set()
	case ctx.Err() == nil:
		a.log.Warn("left a pod unbound", "pod", pod.String(), "node", node, "error", err)
		a.retry.Store(true)
	}
	return false
}
