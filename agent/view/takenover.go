package view

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// TakenOver returns the change that makes a node of Karpenter a node of a Provisioner, as if the
// agent had built it now. It adds what is missing and keeps labels and annotations that are there,
// because pods may select nodes by them. The instance is nil if the cloud no longer lists it.
func TakenOver(p *Provisioner, n *cluster.Node, i *offer.Instance) cluster.NodeChange {
	if i == nil {
		i = &offer.Instance{
			ProviderID: n.ProviderID, InstanceType: n.Labels[api.LabelInstanceType], Zone: n.Labels[api.LabelZone],
		}
	}
	is := *i
	is.NodeName, is.LaunchID, is.Tags = n.Name, api.LaunchKarpenter, nil
	if bought := n.Labels[api.LabelCapacityType]; bought != "" {
		is.CapacityType, is.Reservation = bought, n.Labels[api.LabelReservationID]
	}
	built := AdoptedNode(p, is)
	built.Annotations[api.AnnotationLaunchReason] = "launched by Karpenter"
	dropDrift(p, built)
	change := cluster.NodeChange{
		SetLabels: compatible(n.Labels, built.Labels), SetAnnotations: compatible(n.Annotations, built.Annotations),
		RemoveTaints: karpentersTaints(n), RemoveAnnotations: karpentersMark(n), Owner: &built.OwnerReferences[0],
	}
	change.SetAnnotations[api.AnnotationProvisionerHash] = p.Raw.Hash()
	change.SetAnnotations[api.AnnotationProfileHash] = p.Market.ProfileHash
	if !n.Deleting { // the API server takes no finalizer on what is being deleted
		change.AddFinalizer = api.Finalizer
	}
	return change
}

// Owned is the change after which its Provisioner owns a node, and nothing else does. It reports false if the Provisioner
// owns it already, if there is none, or if that is left to Karpenter. The change also removes the mark of a node that
// Karpenter was about to remove, which nothing else would take away.
func Owned(p *Provisioner, n *cluster.Node) (cluster.NodeChange, bool) {
	if p == nil || slices.Equal(n.Owners, []string{string(p.Raw.UID)}) || p.Raw.Source != nil && p.Raw.Source.Waits != "" {
		return cluster.NodeChange{}, false
	}
	owner := p.asOwner()
	return cluster.NodeChange{Owner: &owner, RemoveAnnotations: karpentersMark(n)}, true
}

// dropDrift removes the image, subnet and security groups from a node's description if a machine that
// is built now would not have them. With them, the node would drift at once; without them, it stays
// until it expires, because a takeover replaces no machine.
func dropDrift(p *Provisioner, node *corev1.Node) {
	status := &p.Market.Status
	image, subnet := node.Labels[api.LabelInstanceAMIID], node.Annotations[api.AnnotationSubnet]
	current := image
	if t := p.InstanceType(node.Labels[api.LabelInstanceType]); t != nil && len(t.Labels[api.LabelInstanceAMIID]) > 0 {
		current, _ = t.Label(api.LabelInstanceAMIID)
	}
	if current != image || !slices.ContainsFunc(status.AMIs, func(a api.AMIStatus) bool { return a.ID == image }) {
		delete(node.Labels, api.LabelInstanceAMIID)
	}
	if !slices.ContainsFunc(status.Subnets, func(s api.SubnetStatus) bool { return s.ID == subnet }) {
		delete(node.Annotations, api.AnnotationSubnet)
	}
	var groups []string
	for _, g := range status.SecurityGroups {
		groups = append(groups, g.ID)
	}
	slices.Sort(groups)
	if node.Annotations[api.AnnotationSecurityGroups] != strings.Join(groups, ",") {
		delete(node.Annotations, api.AnnotationSecurityGroups)
	}
}

// karpentersTaints are the taints of a node that only Karpenter would remove: the taint of a node
// that has not registered yet and, unless the node is being deleted, the taint of a node that
// Karpenter was about to remove, which has another name in v1beta1.
func karpentersTaints(n *cluster.Node) []corev1.Taint {
	var out []corev1.Taint
	for _, t := range n.Taints {
		leaving := t.Key == api.TaintDisrupted || t.Key == api.TaintDisruption && n.Provisioner == ""
		if t.Key == api.TaintUnregistered || leaving && !n.Deleting {
			out = append(out, t)
		}
	}
	return out
}

// karpentersMark is the annotation by which an earlier Karpenter has chosen a node to go, unless the node is
// being deleted. Nobody would take the node away.
func karpentersMark(n *cluster.Node) []string {
	if _, ours := n.Annotations[api.AnnotationReplacedBy]; ours || n.Deleting {
		return nil
	}
	return []string{api.AnnotationDisruption}
}

// compatible returns the wanted values that do not contradict those that are there. Empty values are
// left out. Values that are there as wanted are included, because the cache may be out of date.
func compatible(have, want map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range want {
		if is, there := have[key]; (!there || is == value) && value != "" {
			out[key] = value
		}
	}
	return out
}
