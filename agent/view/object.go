package view

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// NodeFor is the Node object of a machine that was just bought.
func NodeFor(p *Provisioner, m *decide.Machine, i offer.Instance) *corev1.Node {
	node := bareNode(p, i)
	maps.Copy(node.Labels, NodeLabels(p, m))
	maps.Copy(node.Annotations, NodeAnnotations(p, m))
	node.Spec.Taints = nodeTaints(m.Taints, m.StartupTaints)
	return node
}

// BuiltFrom are the annotations of nodes, and tags of their instances, that say what they were built from.
var BuiltFrom = []string{api.AnnotationProvisionerHash, api.AnnotationProfileHash}

// AdoptedNode is the Node object of a machine that was bought before a crash, as
// its tags and its Provisioner describe it.
func AdoptedNode(p *Provisioner, i offer.Instance) *corev1.Node {
	node := bareNode(p, i)
	for key, value := range p.Spec.Spec.Labels {
		if node.Labels[api.NormalizeLabel(key)] == "" { // what the machine is counts, as for NodeLabels
			node.Labels[key] = value
		}
	}
	maps.Copy(node.Annotations, p.Spec.Spec.Annotations)
	for key, value := range i.Tags {
		// Whoever may tag an instance must not be able to give its node any other label, such
		// as one that draws others' pods.
		if label, ok := strings.CutPrefix(key, api.TagLabelPrefix); ok && decide.MayLabel(p.Spec, label, value) {
			node.Labels[label] = value
		}
	}
	for _, key := range BuiltFrom {
		if value := i.Tags[key]; value != "" {
			node.Annotations[key] = value
		}
	}
	node.Labels[api.LabelProvisioner] = p.Raw.Name
	node.Spec.Taints = nodeTaints(p.Spec.Spec.Taints, p.Spec.Spec.StartupTaints)
	return node
}

// RemadeNode is the AdoptedNode of a machine that lost its Node object while its kubelet ran, which does not register
// again. Startup taints would end or keep away the pods that run there, and what removes them may act only once. The CSINode
// has gone with the earlier object, so that new pods would wait for their volumes for ever.
func RemadeNode(p *Provisioner, i offer.Instance) *corev1.Node {
	node := AdoptedNode(p, i)
	node.Annotations[api.AnnotationManagedAttach], node.Annotations[api.AnnotationRemade] = "true", "true"
	node.Spec.Taints = nodeTaints(p.Spec.Spec.Taints, nil)
	node.Spec.Unschedulable = true
	node.Status.Conditions[0].Message = "the Node object was lost and made again, and its kubelet has not reported yet"
	return node
}

// bareNode has what follows from the instance alone: its identity, the labels,
// price and size of its type, and the marks of a node that is not up yet.
func bareNode(p *Provisioner, i offer.Instance) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:            i.NodeName,
			Labels:          map[string]string{},
			Annotations:     map[string]string{api.AnnotationLaunchID: i.LaunchID},
			Finalizers:      []string{api.Finalizer},
			OwnerReferences: []metav1.OwnerReference{p.asOwner()},
		},
		Spec: corev1.NodeSpec{ProviderID: i.ProviderID},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{
				Type:    corev1.NodeReady,
				Status:  corev1.ConditionFalse,
				Reason:  "Launching",
				Message: "the machine has been bought and is starting",
			}},
		},
	}
	if t := p.InstanceType(i.InstanceType); t != nil {
		describeType(node, t, i)
	}
	if i.ImageID != "" {
		node.Labels[api.LabelInstanceAMIID] = i.ImageID
	}
	if i.SubnetID != "" {
		node.Annotations[api.AnnotationSubnet] = i.SubnetID
	}
	if len(i.SecurityGroupIDs) > 0 {
		node.Annotations[api.AnnotationSecurityGroups] = strings.Join(slices.Sorted(slices.Values(i.SecurityGroupIDs)), ",")
	}
	if limit := gracePeriod(p); limit != "" {
		node.Annotations[api.AnnotationGracePeriod] = limit
	}
	maps.Copy(node.Labels, MachineLabels(i))
	node.Labels[api.LabelHostname] = i.NodeName
	// The cloud provider sets them only on Nodes that kubelets have created.
	api.AddDeprecatedLabels(node.Labels)
	return node
}

// MachineLabels are the labels that say what was bought.
func MachineLabels(i offer.Instance) map[string]string {
	labels := map[string]string{api.LabelInstanceType: i.InstanceType, api.LabelZone: i.Zone, api.LabelCapacityType: i.CapacityType}
	api.SetReservationLabels(labels, i.Reservation)
	return labels
}

// asOwner refers to the Provisioner from its nodes.
func (p *Provisioner) asOwner() metav1.OwnerReference {
	apiVersion, kind := p.Raw.Owner()
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: p.Raw.Name, UID: p.Raw.UID, BlockOwnerDeletion: ptr.To(true)}
}

func describeType(node *corev1.Node, t *offer.InstanceType, i offer.Instance) {
	for key := range t.Labels {
		if value, ok := t.Label(key); ok {
			node.Labels[key] = value
		}
	}
	for _, o := range t.Offerings {
		if o.Zone != i.Zone || o.CapacityType != i.CapacityType || o.Reservation != i.Reservation {
			continue
		}
		node.Annotations[api.AnnotationHourlyPrice] = strconv.FormatInt(int64(o.Price), 10)
		if o.ZoneID != "" {
			node.Labels[api.LabelZoneID] = o.ZoneID
		}
	}
	node.Status.Capacity = t.Capacity.ResourceList()
	node.Status.Allocatable = t.Allocatable().ResourceList()
}

// nodeTaints adds the taint that keeps everything but the planned pods away until
// the kubelet has taken over.
func nodeTaints(taints, startup []corev1.Taint) []corev1.Taint {
	out := append(append([]corev1.Taint{}, taints...), startup...)
	notReady := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
	if slices.ContainsFunc(out, func(t corev1.Taint) bool { return t.MatchTaint(&notReady) }) {
		return out
	}
	return append(out, notReady)
}

// TaintsToAdd are the taints of nodes that their kubelets may not know, because the user data is not
// the agent's: a node that such a kubelet has created would take pods that do not tolerate them. It gets no startup
// taints: what removes them may have acted already.
func (p *Provisioner) TaintsToAdd() []corev1.Taint {
	if p.Profile == nil || p.Profile.LaunchTemplate == nil && ptr.Deref(p.Profile.AMIFamily, "") != api.FamilyCustom {
		return nil
	}
	return p.Spec.Spec.Taints
}

// NodeLabels are the labels that do not depend on what is bought. Well-known labels of the Provisioner say which
// machines it buys. A pod may have overridden them, so that they are not what the machine has.
func NodeLabels(p *Provisioner, m *decide.Machine) map[string]string {
	labels := map[string]string{}
	for key, value := range p.Spec.Spec.Labels {
		if !api.WellKnown(api.NormalizeLabel(key)) {
			labels[key] = value
		}
	}
	maps.Copy(labels, m.Labels)
	labels[api.LabelProvisioner] = p.Raw.Name
	return labels
}

// NodeAnnotations are the annotations that do not depend on what is bought.
func NodeAnnotations(p *Provisioner, m *decide.Machine) map[string]string {
	annotations := maps.Collect(maps.All(p.Spec.Spec.Annotations)) // never nil
	annotations[api.AnnotationProvisionerHash] = p.Raw.Hash()
	if p.Market.ProfileHash != "" {
		annotations[api.AnnotationProfileHash] = p.Market.ProfileHash
	}
	maps.Copy(annotations, m.Annotations)
	return annotations
}
