package cluster

import (
	"reflect"
	"slices"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
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
			out.Unreadiness = unreadiness(&c, out.Initialized)
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

// unreadiness is what a kubelet says in the Ready condition until its node has been up. Later, nobody reads it, and it may
// change with each report. The agent makes nodes with a condition of its own. If the kubelet never reports, that of
// kube-controller-manager follows, which says that it has stopped; neither has the time of a report.
func unreadiness(ready *corev1.NodeCondition, initialized bool) string {
	switch {
	case initialized:
		return ""
	case ready.LastHeartbeatTime.IsZero():
		return "its kubelet has never reported"
	}
	return ready.Message
}

// Same reports whether two versions of an object differ only in what nobody reads, such as a node before and after a
// heartbeat, an autoscaler and its measurements, or a VolumeAttachment and its progress. Kubelets report every five minutes,
// and autoscalers measure every 15 seconds: each would count as a change of the cluster.
func Same(a, b any) bool {
	switch b := b.(type) {
	case *corev1.Node:
		a, ok := a.(*corev1.Node)
		return ok && reflect.DeepEqual(FromNode(a, nil), FromNode(b, nil))
	case *autoscalingv2.HorizontalPodAutoscaler:
		a, ok := a.(*autoscalingv2.HorizontalPodAutoscaler)
		return ok && a.Spec.ScaleTargetRef == b.Spec.ScaleTargetRef
	case *storagev1.VolumeAttachment:
		a, ok := a.(*storagev1.VolumeAttachment)
		return ok && a.Spec.NodeName == b.Spec.NodeName
	}
	return false
}

// Reserved reports whether the node's machine is in a capacity reservation, which is paid for whether or not it is used.
func (n *Node) Reserved() bool { return n.Labels[api.LabelCapacityType] == api.CapacityReserved }

// OfNodePool reports whether the node was made for a NodePool.
func (n *Node) OfNodePool() bool { return n.Labels[api.LabelNodePool] != "" }

// HasBeenUp reports whether the node has been ready for pods once. Whoever made a node of others, such as a managed
// node group, does not say so: it is taken as up, and is room as long as it is ready.
func (n *Node) HasBeenUp() bool { return n.Initialized || n.Provisioner == "" }

// Identity tells the node from an earlier machine of its name.
func (n *Node) Identity() string { return n.Name + " " + n.ProviderID }

// HeldBy reports whether the node has that finalizer, so that its deletion waits.
func (n *Node) HeldBy(finalizer string) bool { return slices.Contains(n.Finalizers, finalizer) }

// InstanceID is the last part of the provider id, such as i-0123 of aws:///zone/i-0123.
func (n *Node) InstanceID() string { return n.ProviderID[strings.LastIndex(n.ProviderID, "/")+1:] }

// defaultToleration is how long Kubernetes waits, by default, until it gives up the pods of a node that is not ready.
const defaultToleration = 5 * time.Minute

// Spares reports whether a drain of the node leaves a pod to end by itself, as Karpenter's does where a NodePool has
// made the node and the pod must not be disrupted. It does not if the machine or its kubelet is lost, nor because of
// do-not-evict, which Karpenter ignores on nodes of NodePools.
func (n *Node) Spares(p *Pod, now time.Time) bool {
	return n.OfNodePool() && !n.Lost(now) && (p.Template.DoNotDisrupt && !p.Template.DoNotEvict || p.recent(now)) && p.State == PodBound && p.Running
}

// Lost reports whether the machine or its kubelet is lost, so that no pod of the node stays for long.
func (n *Node) Lost(now time.Time) bool {
	return n.Annotations[api.AnnotationInterrupted] != "" || !n.UnreadySince.IsZero() && now.Sub(n.UnreadySince) >= defaultToleration
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

// SetAttached counts the volumes that are being detached among those that are attached to the nodes of a snapshot that is
// being made. The status of a Node does not show them: kube-controller-manager takes a volume out of it before it deletes
// the VolumeAttachment, which is gone only once the driver has detached the volume.
func (s *Snapshot) SetAttached(by []*storagev1.VolumeAttachment) {
	attached := map[string]int{}
	for _, a := range by {
		attached[a.Spec.NodeName]++
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		n.AttachedVolumes = max(n.AttachedVolumes, attached[n.Name])
	}
}

// FromNamespace converts a namespace.
func FromNamespace(ns *corev1.Namespace) Namespace {
	return Namespace{Name: ns.Name, Labels: ns.Labels}
}
