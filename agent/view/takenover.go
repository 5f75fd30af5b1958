package view

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// TakenOver is the change that makes a node of Karpenter one of a Provisioner, as if it
// were built from that now. What it has stays as it is, because selectors of pods go by
// it: only what is missing is added. The instance is nil where it is not known any more.
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
	forgive(p, built)
	change := cluster.NodeChange{
		SetLabels: besides(n.Labels, built.Labels), SetAnnotations: besides(n.Annotations, built.Annotations),
		RemoveTaints: karpentersTaints(n), Owner: &built.OwnerReferences[0],
	}
	change.SetAnnotations[api.AnnotationProvisionerHash] = p.Raw.Hash()
	change.SetAnnotations[api.AnnotationProfileHash] = p.Market.ProfileHash
	if !n.Deleting { // the API server takes no finalizer on what is being deleted
		change.AddFinalizer = api.Finalizer
	}
	return change
}

// forgive drops the marks by which the node would drift at once, because its image,
// subnet or security groups are not those that are selected now. Karpenter has left it
// as it is; it goes when it expires.
func forgive(p *Provisioner, node *corev1.Node) {
	status := &p.Market.Status
	image, subnet := node.Labels[api.LabelInstanceAMIID], node.Annotations[api.AnnotationSubnet]
	if !slices.ContainsFunc(status.AMIs, func(a api.AMIStatus) bool { return a.ID == image }) {
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

// karpentersTaints are the taints of a node that only Karpenter would take off: that of a
// node that it does not know yet, and, as long as the node is not being deleted, that of
// one that it was about to take away, which v1beta1 has under another name.
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

// besides returns what is wanted and not there with another value. An empty value says
// nothing. What is there as wanted is part of it: a cache may show what is gone.
func besides(have, want map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range want {
		if is, there := have[key]; (!there || is == value) && value != "" {
			out[key] = value
		}
	}
	return out
}
