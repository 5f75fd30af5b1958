package agent

import (
	"context"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// passingTaints stand for a node that is not ready for work yet.
var passingTaints = []string{
	corev1.TaintNodeNotReady,
	corev1.TaintNodeUnreachable,
	corev1.TaintNodeNetworkUnavailable,
	"node.cloudprovider.kubernetes.io/uninitialized",
}

// markInitialized labels the nodes that have come up.
func (a *Agent) markInitialized(ctx context.Context, v *view) {
	var up []*cluster.Node
	for i := range v.snapshot.Nodes {
		n := &v.snapshot.Nodes[i]
		if n.Provisioner == "" || n.Initialized || n.Deleting || !held(n, api.Finalizer) {
			continue
		}
		if isUp(n, v.byName[n.Provisioner]) {
			up = append(up, n)
		}
	}
	each(up, func(n *cluster.Node) {
		change := cluster.NodeChange{SetLabels: map[string]string{api.LabelInitialized: "true"}}
		if !a.patchNode(ctx, n.Name, change) {
			return
		}
		a.log.Info("initialized a node", "node", n.Name, "provisioner", n.Provisioner)
		a.event(nodeRef(n.Name), corev1.EventTypeNormal, eventInitialized, "the node is up")
	})
}

// isUp reports whether the kubelet is ready, has reported its resources, device
// plugins included, and whoever removes startup taints has done so.
func isUp(n *cluster.Node, p *provisioner) bool {
	if !n.Ready || len(n.Capacity) == 0 || len(n.Allocatable) == 0 {
		return false
	}
	startup := func(t corev1.Taint) bool {
		return p != nil && slices.ContainsFunc(p.spec.Spec.StartupTaints, func(s corev1.Taint) bool { return s.MatchTaint(&t) })
	}
	for _, t := range n.Taints {
		if slices.Contains(passingTaints, t.Key) || startup(t) {
			return false
		}
	}
	return len(n.Awaited) == 0
}

// extended reports whether a device plugin has to register the resource.
func extended(name string) bool {
	return strings.Contains(name, "/")
}

func initialized(n *cluster.Node) bool { return n.Labels[api.LabelInitialized] == "true" }

// patchNode changes a node and assumes the change. It reports whether it was made.
func (a *Agent) patchNode(ctx context.Context, name string, change cluster.NodeChange) bool {
	call, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	err := a.cluster.PatchNode(call, name, change)
	switch {
	case err == nil:
		a.assumed.edited(name, change)
		return true
	case errors.Is(err, cluster.ErrGone):
	case ctx.Err() == nil:
		a.log.Warn("left a node unchanged", "node", name, "error", err)
		a.retry.Store(true)
	}
	return false
}

// deleteNode asks for a node's deletion, which begins its drain.
func (a *Agent) deleteNode(ctx context.Context, name string) bool {
	call, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	if err := a.cluster.DeleteNode(call, name); err != nil {
		if ctx.Err() == nil {
			a.log.Warn("left a node for later", "node", name, "error", err)
			a.retry.Store(true)
		}
		return false
	}
	a.assumed.deleted(name)
	a.redrain.set()
	return true
}
