// Package bind binds pods to nodes that are not up yet, so that their kubelets find
// them when they come up.
package bind

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/nodes"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/parallel"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// podsAtOnce bounds how many pods are bound at the same time, of all nodes together.
const podsAtOnce = 64

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
	// rebinding: the API server has not answered for all pods of a Rebind yet.
	rebinding atomic.Bool
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
	parallel.Each(parallel.NodesAtOnce, names, func(node string) {
		of := v.ByName[v.Snapshot.Node(node).Provisioner]
		total.Add(int64(b.Bind(ctx, fresh, fresh.Snapshot.Node(node), of, byNode[node])))
	})
	return int(total.Load())
}

// binds reports whether the agent binds pods to the node itself.
func (b *Binder) binds(v *view.View, fresh *view.Verifier, name string) bool {
	n := v.Snapshot.Node(name)
	if n == nil || n.Provisioner == "" || n.Initialized || !fresh.Node(name) || fresh.Snapshot.Node(name).Ready || b.Assumed.Uncreated(name) {
		return false
	}
	return v.ByName[n.Provisioner] != nil
}

// Bind binds the pods that still wait to a node of the Provisioner that is starting, and returns how many it
// has bound.
func (b *Binder) Bind(ctx context.Context, fresh *view.Verifier, n *cluster.Node, of *view.Provisioner, pods []cluster.PodKey) int {
	if of.Spec.Spec.PodBinding != api.BindImmediate || startsSlowly(n) {
		return 0
	}
	var bound atomic.Int64
	away := awayFrom(n, of)
	if live := fresh.Snapshot.Node(n.Name); live != nil && live.Unschedulable {
		away = append(away, cordon)
	}
	pods = slices.DeleteFunc(slices.Clone(pods), func(pod cluster.PodKey) bool {
		return !fresh.Pod(pod) || !bindable(fresh.Pods[pod.UID], away) || !admits(n, fresh.Pods[pod.UID].Template)
	})
	parallel.Each(podsAtOnce, attachable(fresh, n, pods), func(pod cluster.PodKey) {
		if b.bindOne(ctx, pod, n.Name) {
			bound.Add(1)
		}
	})
	return int(bound.Load())
}

// cordon stands for a cordon, which kube-scheduler obeys. Somebody else may have cordoned the node of a kubelet that was
// faster than the agent, for example because the zone is impaired.
var cordon = corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}

// awayFrom returns the taints that keep pods away from a node of the Provisioner that is starting, apart from those of
// Kubernetes.
func awayFrom(n *cluster.Node, of *view.Provisioner) []corev1.Taint {
	others := slices.DeleteFunc(slices.Clone(n.Taints), func(t corev1.Taint) bool { return cluster.IsOfKubernetes(&t) })
	return slices.Concat(of.Spec.Spec.StartupTaints, others)
}

// startsSlowly reports whether the machine may take longer to boot than Kubernetes leaves pods on a node that
// is not ready: evictionPatience.
func startsSlowly(n *cluster.Node) bool {
	return n.Labels[api.LabelOS] == string(corev1.Windows) || strings.HasPrefix(n.Labels[api.LabelInstanceSize], "metal")
}

// bindable reports whether the agent may bind the pod: kube-scheduler has found no node for it, so that
// it does not bind the pod itself, the pod needs no devices, and it stays while the node starts. A kubelet
// rejects pods that need devices until the device plugin has registered, for which the scheduler waits. Other
// schedulers may bind the pods of a group together or not at all, and keep accounts of what they have bound.
func bindable(p *cluster.Pod, away []corev1.Taint) bool {
	ours := p.State == cluster.PodPending && !p.PresumedUnschedulable && p.Template.SchedulerName == corev1.DefaultSchedulerName
	return ours && !p.Template.ResourceClaims && !needsDevices(p) && isReplaced(p) && stays(p, away)
}

// admits reports whether the node has the labels that a pod requires. A kubelet rejects pods for which it lacks
// some. A driver may add a label once the node is up, for example topology.ebs.csi.aws.com/zone, for which the
// scheduler waits.
func admits(n *cluster.Node, t *cluster.Template) bool {
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: t.NodeSelector, Affinity: t.Affinity}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}}
	ok, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	return ok && err == nil
}

// evictionPatience is for how many seconds Kubernetes leaves pods on a node that is not ready, if they do not
// say. The API server gives them a toleration for that.
const evictionPatience = 300

// notReady are the taints that Kubernetes puts on a node while its machine boots.
var notReady = []corev1.Taint{
	{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
}

// stays reports whether the pod may be on a node that is not ready and has the taints: startup taints, and those that
// other programs have added. One that does not tolerate such a taint must not start before it is gone, and Kubernetes
// deletes the pod at once if the effect is NoExecute. Nothing ends it until a kubelet runs, so that its room is not
// free either: its successor would need another machine, and so on. The same goes for a pod that tolerates such a
// taint for a short time only.
func stays(p *cluster.Pod, away []corev1.Taint) bool {
	keepsAway := func(t corev1.Taint) bool {
		return t.Effect != corev1.TaintEffectPreferNoSchedule &&
			!slices.ContainsFunc(p.Template.Tolerations, func(tol corev1.Toleration) bool { return cluster.Tolerates(&tol, &t) })
	}
	return !slices.ContainsFunc(away, keepsAway) && !slices.ContainsFunc(p.Template.Tolerations, func(tol corev1.Toleration) bool {
		ends := func(t corev1.Taint) bool {
			return t.Effect == corev1.TaintEffectNoExecute && cluster.Tolerates(&tol, &t)
		}
		return tol.TolerationSeconds != nil && *tol.TolerationSeconds < evictionPatience && (slices.ContainsFunc(notReady, ends) || slices.ContainsFunc(away, ends))
	})
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
func attachable(fresh *view.Verifier, node *cluster.Node, pods []cluster.PodKey) []cluster.PodKey {
	claims := func(pod cluster.PodKey) int { return len(fresh.Pods[pod.UID].Template.Claims) }
	if len(node.VolumeLimits) > 0 || !slices.ContainsFunc(pods, func(pod cluster.PodKey) bool { return claims(pod) > 0 }) {
		return pods
	}
	left := mostClaims - fresh.Claims[node.Name]
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
