// Package bind binds pods to nodes that are not up yet, so that their kubelets find
// them when they come up.
package bind

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/nodes"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/parallel"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

const (
	nodesAtOnce = 16
	podsAtOnce  = 64 // of all nodes together
)

// Pods binds pods.
type Pods interface {
	// Bind returns cluster.ErrStale if the pod is gone, has changed or is bound
	// elsewhere. A pod that is on the node already is no error.
	Bind(ctx context.Context, pod cluster.PodKey, node string) error
}

// Ports are what a Binder works with. All are to be set.
type Ports struct {
	Pods    Pods
	Assumed *nodes.Assumptions
	Metrics *metrics.Metrics
	Log     hclog.Logger
	// FirstSeen returns when a pod was first seen waiting.
	FirstSeen func(uid string) time.Time
	// Stale is called when a pod has changed, and Failed when one has to be tried again.
	Stale, Failed func()
}

// Binder binds pods.
type Binder struct {
	Ports
	slots    chan struct{}        // has room for podsAtOnce
	starting map[string]time.Time // by UID of the pod: see Rebind
}

// New returns a Binder.
func New(p Ports) *Binder { return &Binder{Ports: p, slots: make(chan struct{}, podsAtOnce)} }

// BindAll binds pods to existing nodes of Provisioners that are not ready yet. From then on,
// kube-scheduler places pods on a node, and two programs that bind to one node can give away the same
// room twice. A Provisioner can leave its pods to kube-scheduler altogether. BindAll returns how many
// pods it has bound.
func (b *Binder) BindAll(ctx context.Context, v *view.View, fresh *view.Verifier, byNode map[string][]cluster.PodKey) int {
	var names []string
	for node := range byNode {
		if b.binds(v, fresh, node) {
			names = append(names, node)
		}
	}
	var total atomic.Int64
	parallel.Each(nodesAtOnce, names, func(node string) { total.Add(int64(b.Bind(ctx, fresh, node, byNode[node]))) })
	return int(total.Load())
}

// binds reports whether the agent binds pods to the node itself.
func (b *Binder) binds(v *view.View, fresh *view.Verifier, name string) bool {
	n := v.Snapshot.Node(name)
	if n == nil || n.Provisioner == "" || n.Initialized || !fresh.Node(name) || fresh.Snapshot.Node(name).Ready || b.Assumed.Uncreated(name) {
		return false
	}
	p := v.ByName[n.Provisioner]
	return p != nil && p.Spec.Spec.PodBinding == api.BindImmediate
}

// Bind binds the pods that still wait, and returns how many it has bound.
func (b *Binder) Bind(ctx context.Context, fresh *view.Verifier, node string, pods []cluster.PodKey) int {
	var bound atomic.Int64
	pods = attachable(fresh, node, pods)
	parallel.Each(podsAtOnce, pods, func(pod cluster.PodKey) {
		if fresh.Pod(pod) && bindable(fresh.Pods[pod.UID]) && b.bindOne(ctx, pod, node) {
			bound.Add(1)
		}
	})
	return int(bound.Load())
}

// bindable reports whether the agent may bind the pod: the scheduler has found no node for it, so that
// it does not bind the pod itself, and the pod needs no devices. A kubelet rejects pods that need
// devices until the device plugin has registered, for which the scheduler waits.
func bindable(p *cluster.Pod) bool {
	return p.State == cluster.PodPending && !p.PresumedUnschedulable && !p.Template.ResourceClaims && !needsDevices(p) && isReplaced(p)
}

// isReplaced reports whether the pod's owner makes another one when it is deleted. A binding cannot be taken
// back, so that the pods of a machine that does not come up have to be deleted. A pod without an owner would
// be lost, a Job counts each as a failure and has failed after a few, and what other owners do is not known.
func isReplaced(p *cluster.Pod) bool {
	switch p.Owner.Kind {
	case "ReplicaSet", "ReplicationController", "StatefulSet":
		return true
	}
	return false
}

// mostClaims bounds the claims of pods that the agent binds to a node on which no CSI driver has
// registered. Until then it is not known how many volumes the node can attach, and a pod with one too
// many would never start. Many Nitro instances have 28 attachments: this is what is left besides a root
// volume, 15 network interfaces and 8 instance store volumes (AWS, "Amazon EBS volume limits for Amazon EC2
// instances"). The scheduler binds the other pods once it knows the limit.
const mostClaims = 4

// attachable returns the pods, without those whose volumes the node may not be able to attach.
func attachable(fresh *view.Verifier, node string, pods []cluster.PodKey) []cluster.PodKey {
	claims := func(pod cluster.PodKey) int {
		if p := fresh.Pods[pod.UID]; p != nil {
			return len(p.Template.Claims)
		}
		return 0
	}
	if n := fresh.Snapshot.Node(node); n != nil && len(n.VolumeLimits) > 0 || !slices.ContainsFunc(pods, func(pod cluster.PodKey) bool { return claims(pod) > 0 }) {
		return pods
	}
	left := mostClaims
	for _, p := range fresh.Pods {
		if p.NodeName == node {
			left -= len(p.Template.Claims)
		}
	}
	var out []cluster.PodKey
	for _, pod := range pods {
		if n := claims(pod); n <= max(0, left) {
			left -= n
			out = append(out, pod)
		}
	}
	return out
}

func needsDevices(p *cluster.Pod) bool {
	for name, v := range p.Template.Requests {
		if v > 0 && amount.Extended(name) {
			return true
		}
	}
	return false
}

func (b *Binder) bindOne(ctx context.Context, pod cluster.PodKey, node string) bool {
	b.slots <- struct{}{}
	defer func() { <-b.slots }()
	err := b.Pods.Bind(ctx, pod, node)
	switch {
	case err == nil:
		b.Assumed.Bound(pod, node)
		b.Metrics.Waited(b.Metrics.UntilBinding, b.FirstSeen(pod.UID))
		b.Log.Debug("bound a pod", "pod", pod.String(), "node", node)
		return true
	case errors.Is(err, cluster.ErrLeftToScheduler):
		b.Log.Debug("left a pod to the scheduler", "pod", pod.String(), "node", node)
	case errors.Is(err, cluster.ErrStale):
		b.Log.Debug("skipped a pod that has changed", "pod", pod.String(), "node", node)
		b.Stale()
	case ctx.Err() == nil:
		b.Log.Warn("could not bind a pod", "pod", pod.String(), "node", node, "error", err)
		b.Failed()
	}
	return false
}
