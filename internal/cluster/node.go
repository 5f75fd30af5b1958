package cluster

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// FromNode converts a node. csi may be nil: then no volume limits are known.
func FromNode(node *corev1.Node, csi *storagev1.CSINode) Node {
	out := Node{
		Name:          node.Name,
		ProviderID:    node.Spec.ProviderID,
		Provisioner:   provisionerOf(node),
		Labels:        node.Labels,
		Annotations:   node.Annotations,
		Capacity:      amount.FromResourceList(node.Status.Capacity),
		Allocatable:   amount.FromResourceList(node.Status.Allocatable),
		Initialized:   node.Labels[api.LabelInitialized] == "true",
		Unschedulable: node.Spec.Unschedulable,
		Deleting:      node.DeletionTimestamp != nil,
		Created:       node.CreationTimestamp.Time,
		Finalizers:    node.Finalizers,
		VolumeLimits:  volumeLimits(csi),

		AttachedVolumes: len(node.Status.VolumesAttached),
	}
	for _, o := range node.OwnerReferences {
		out.Owners = append(out.Owners, string(o.UID))
	}
	out.Taints, out.Guide = withoutGuide(node.Spec.Taints)
	for _, c := range node.Status.Conditions {
		switch {
		case c.Type != corev1.NodeReady:
		case c.Status == corev1.ConditionTrue:
			out.Ready, out.ReadySince = true, c.LastTransitionTime.Time
		default:
			out.UnreadySince = c.LastTransitionTime.Time
			if c.Status == corev1.ConditionUnknown {
				out.SilentSince = c.LastTransitionTime.Time
			}
		}
	}
	if node.DeletionTimestamp != nil {
		out.DeletedAt = node.DeletionTimestamp.Time
	}
	return out
}

// Reserved reports whether the node's machine is in a capacity reservation, which is paid for whether or not it is used.
func (n *Node) Reserved() bool { return n.Labels[api.LabelCapacityType] == api.CapacityReserved }

// OfNodePool reports whether the node was made for a NodePool.
func (n *Node) OfNodePool() bool { return n.Labels[api.LabelNodePool] != "" }

// HasBeenUp reports whether the node has been ready for pods once. Whoever made a node of others, such as a managed
// node group, does not say so: it is taken as up, and is room as long as it is ready.
func (n *Node) HasBeenUp() bool { return n.Initialized || n.Provisioner == "" }

// contactPatience is how long Kubernetes waits, by default, until it gives up the pods of a node that is not ready.
const contactPatience = 5 * time.Minute

// Spares reports whether a drain of the node leaves a pod to end by itself, as Karpenter's does where a NodePool has
// made the node and the pod must not be disrupted. It does not if the machine or its kubelet is lost, nor because of
// do-not-evict, which Karpenter ignores on nodes of NodePools.
func (n *Node) Spares(p *Pod, now time.Time) bool {
	lost := n.Annotations[api.AnnotationInterrupted] != "" || !n.UnreadySince.IsZero() && now.Sub(n.UnreadySince) >= contactPatience
	return n.OfNodePool() && !lost && (p.Template.DoNotDisrupt && !p.Template.DoNotEvict || p.recent(now)) && p.State == PodBound && p.Running
}

// BelongsToNode reports whether such a pod goes with its node: those of DaemonSets and static pods.
func (t *Template) BelongsToNode() bool { return t.DaemonSet || t.Static }

// NeedsNode reports whether the pod needs its node to stay: those that belong to it, and those
// that are going, do not.
func (p *Pod) NeedsNode() bool { return p.State == PodBound && !p.Template.BelongsToNode() }

// Finishes reports whether the pod does a piece of work for its owner and ends, as those of Jobs do. Pods that go on for
// as long as their owner wants them are always started again.
func (p *Pod) Finishes() bool {
	return p.NeedsNode() && (p.Owner.Kind == "Job" || p.Owner.Kind != "" && p.Template.Ends)
}

// ComesBack reports whether the pod's owner, once the pod has gone, makes another one that takes its place: with its
// name, or its volumes. Controllers that are not part of Kubernetes, such as those of databases, do so if they have given
// it a claim, as a StatefulSet does.
func (p *Pod) ComesBack() bool {
	switch p.Owner.Kind {
	case "StatefulSet":
		return true
	case "", "ReplicaSet", "ReplicationController", "Job", "DaemonSet":
		return false
	}
	return !p.Template.Ends && slices.ContainsFunc(p.Template.Claims, func(c ClaimRef) bool { return !c.Ephemeral })
}

// NotDisrupted reports whether the pod must not be disrupted now.
func (p *Pod) NotDisrupted(now time.Time) bool {
	return p.Template.DoNotDisrupt || p.recent(now)
}

// recent reports whether the time for which the pod must not be disrupted has not passed.
func (p *Pod) recent(now time.Time) bool {
	t := p.Template
	return t.DoNotDisruptFor > 0 && now.Before(p.Since.Add(t.DoNotDisruptFor))
}

// provisionerOf tells whose a node is, also if it has lost the label.
func provisionerOf(node *corev1.Node) string {
	if name := node.Labels[api.LabelProvisioner]; name != "" {
		return name
	}
	for _, o := range node.OwnerReferences {
		if OwnedByAgent(o) {
			return o.Name
		}
	}
	return ""
}

// OwnedByAgent reports whether the agent has set the owner of a node, in whatever version. Nodes of Karpenter itself belong
// to a NodeClaim.
func OwnedByAgent(o metav1.OwnerReference) bool {
	return strings.HasPrefix(o.APIVersion, api.ProvisionerGroup+"/") && (o.Kind == api.ProvisionerKind || o.Kind == api.NodePoolKind)
}

// Managed reports whether a Node object is the agent's, as its finalizer or launch id says. Nodes of others may have the
// label of a Provisioner, and neither of these. What is being deleted without the agent's finalizer is left to the programs
// that hold it.
func Managed(n metav1.Object) bool {
	return slices.Contains(n.GetFinalizers(), api.Finalizer) || n.GetDeletionTimestamp() == nil && n.GetAnnotations()[api.AnnotationLaunchID] != ""
}

func volumeLimits(csi *storagev1.CSINode) map[string]int64 {
	if csi == nil {
		return nil
	}
	var out map[string]int64
	for _, d := range csi.Spec.Drivers {
		if d.Allocatable == nil || d.Allocatable.Count == nil {
			continue
		}
		if out == nil {
			out = make(map[string]int64, len(csi.Spec.Drivers))
		}
		out[d.Name] = int64(*d.Allocatable.Count)
	}
	return out
}

// FromNamespace converts a namespace.
func FromNamespace(ns *corev1.Namespace) Namespace {
	return Namespace{Name: ns.Name, Labels: ns.Labels}
}

// FromDisruptionBudget converts a budget. One that its controller has not
// brought up to date allows nothing, as in the Eviction API, and is not known to be
// healthy.
func FromDisruptionBudget(b *policyv1.PodDisruptionBudget) DisruptionBudget {
	out := DisruptionBudget{Namespace: b.Namespace, Name: b.Name, Selector: b.Spec.Selector}
	if p := b.Spec.UnhealthyPodEvictionPolicy; p != nil {
		out.UnreadyAnyway = *p == policyv1.AlwaysAllow
	}
	if b.Status.ObservedGeneration >= b.Generation {
		out.DisruptionsAllowed = b.Status.DisruptionsAllowed
		out.Healthy = b.Status.DesiredHealthy > 0 && b.Status.CurrentHealthy >= b.Status.DesiredHealthy
	}
	return out
}

// ofKubernetes are the keys of the taints that Kubernetes gives a node that is not ready for pods yet.
var ofKubernetes = []string{
	corev1.TaintNodeNotReady,
	corev1.TaintNodeUnreachable,
	corev1.TaintNodeNetworkUnavailable,
	"node.cloudprovider.kubernetes.io/uninitialized",
}

const (
	// ciliumNotReady is the key of the taint that the operator of Cilium adds to new nodes, whether or not it is
	// a startup taint.
	ciliumNotReady = "node.cilium.io/agent-not-ready"
	// readinessRules begins the keys of the taints of the Node Readiness Controller.
	readinessRules = "readiness.k8s.io/"
)

// IsOfKubernetes reports whether a taint is one that Kubernetes gives a node that is not ready for pods yet.
func IsOfKubernetes(t *corev1.Taint) bool { return slices.Contains(ofKubernetes, t.Key) }

// Passes reports whether a taint is one that a node loses when it comes up: it says so itself, or it is a startup
// taint of the node's Provisioner, which may be nil.
func Passes(t *corev1.Taint, p *api.Provisioner) bool {
	startup := p != nil && slices.ContainsFunc(p.Spec.StartupTaints, func(s corev1.Taint) bool { return s.MatchTaint(t) })
	return startup || IsOfKubernetes(t) || t.Key == ciliumNotReady || strings.HasPrefix(t.Key, readinessRules)
}

// PassingTaints are the keys of the taints that a node loses when it comes up and still has; see Passes.
func (n *Node) PassingTaints(p *api.Provisioner) (keys []string) {
	for _, t := range n.Taints {
		if Passes(&t, p) {
			keys = append(keys, t.Key)
		}
	}
	return keys
}

// Tolerates reports whether the toleration covers the taint, by the rules of
// https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/.
func Tolerates(tol *corev1.Toleration, taint *corev1.Taint) bool {
	if tol.Effect != "" && tol.Effect != taint.Effect {
		return false
	}
	if tol.Key != "" && tol.Key != taint.Key {
		return false
	}
	switch tol.Operator {
	case corev1.TolerationOpExists:
		return true
	case corev1.TolerationOpEqual, "":
		return tol.Key != "" && tol.Value == taint.Value
	}
	return false
}
