package cluster

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// csiDrivers maps provisioners that were once built into Kubernetes to the CSI
// drivers that serve them now and whose attach limits count.
var csiDrivers = map[string]string{
	"kubernetes.io/aws-ebs":    EBSDriver,
	"kubernetes.io/gce-pd":     "pd.csi.storage.gke.io",
	"kubernetes.io/azure-disk": "disk.csi.azure.com",
}

// EBSDriver is the CSI driver of Amazon EBS. Its volumes are in one zone, and can be attached to one node at a time, except
// those with the access mode ReadWriteMany (Multi-Attach).
const EBSDriver = "ebs.csi.aws.com"

// noProvisioner is the provisioner of classes for which nobody makes volumes.
const noProvisioner = "kubernetes.io/no-provisioner"

// bindCompleted is the annotation that kube-controller-manager gives a claim once it has bound its volume.
const bindCompleted = "pv.kubernetes.io/bind-completed"

// SelectedNode is the annotation that names the node for which a volume provisioner must provide the volume of an
// unbound claim.
const SelectedNode = "volume.kubernetes.io/selected-node"

// FromClaim converts a claim. One that no API server has yet and that names its volume will be bound
// to it.
func FromClaim(c *corev1.PersistentVolumeClaim) Claim {
	class := c.Spec.StorageClassName
	if old, ok := c.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		class = &old
	}
	_, completed := c.Annotations[bindCompleted]
	return Claim{
		Namespace:    c.Namespace,
		Name:         c.Name,
		VolumeName:   c.Spec.VolumeName,
		Selected:     c.Annotations[SelectedNode],
		StorageClass: class,
		AccessModes:  c.Spec.AccessModes,
		UID:          string(c.UID),
		Planned:      c.UID == "",
		Lost:         c.Status.Phase == corev1.ClaimLost,
		Deleting:     c.DeletionTimestamp != nil,
		Binding:      c.UID != "" && c.Spec.VolumeName != "" && !completed,
		Request:      c.Spec.Resources.Requests.Storage().Value(),
		Block:        block(c.Spec.VolumeMode),
		Selector:     c.Spec.Selector,
	}
}

func block(mode *corev1.PersistentVolumeMode) bool {
	return mode != nil && *mode == corev1.PersistentVolumeBlock
}

// FromVolume converts a volume. Zone and region labels, with which volumes said
// where they are before they had an affinity, become part of its affinity.
func FromVolume(v *corev1.PersistentVolume) Volume {
	out := Volume{
		Name:         v.Name,
		NodeAffinity: volumeAffinity(v),
		Local:        v.Spec.Local != nil || v.Spec.HostPath != nil,
		Deleting:     v.DeletionTimestamp != nil,
		Unavailable:  v.DeletionTimestamp != nil || v.Status.Phase == corev1.VolumeBound || v.Status.Phase == corev1.VolumeReleased || v.Status.Phase == corev1.VolumeFailed,
		StorageClass: v.Spec.StorageClassName,
		Capacity:     v.Spec.Capacity.Storage().Value(),
		AccessModes:  v.Spec.AccessModes,
		Block:        block(v.Spec.VolumeMode),
		Labels:       v.Labels,
	}
	if old, ok := v.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		out.StorageClass = old
	}
	if ref := v.Spec.ClaimRef; ref != nil {
		out.Claim = ClaimKey{ref.Namespace, ref.Name, string(ref.UID)}
	}
	switch {
	case v.Spec.CSI != nil:
		out.Driver = v.Spec.CSI.Driver
	case v.Spec.AWSElasticBlockStore != nil:
		out.Driver = csiDrivers["kubernetes.io/aws-ebs"]
	case v.Spec.GCEPersistentDisk != nil:
		out.Driver = csiDrivers["kubernetes.io/gce-pd"]
	case v.Spec.AzureDisk != nil:
		out.Driver = csiDrivers["kubernetes.io/azure-disk"]
	}
	return out
}

// onOneNode reports whether the volume names a node that it can be used on.
func (v *Volume) onOneNode() bool {
	return v.NodeAffinity != nil && slices.ContainsFunc(v.NodeAffinity.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool {
		return slices.ContainsFunc(t.MatchExpressions, func(e corev1.NodeSelectorRequirement) bool { return e.Key == corev1.LabelHostname })
	})
}

// Lacks says what keeps a claim of a storage class from having the volume, and how near that comes: the
// number of checks that were passed before. The text is empty where nothing does.
func (v *Volume) Lacks(c *Claim, class string) (passed int, text string) {
	selected := func() bool {
		selector, err := metav1.LabelSelectorAsSelector(c.Selector)
		return err == nil && selector.Matches(labels.Set(v.Labels))
	}
	switch {
	case v.StorageClass != class:
		return 0, "there is no volume of that class"
	case v.Unavailable || v.Claim.Set() && !v.Claim.Is(c.Key()):
		return 1, "none of that class is available"
	case v.Claim.Set():
		return 2, "" // set aside for it
	case v.Block != c.Block:
		return 2, "none that is available has volumeMode " + mode(c.Block)
	case slices.ContainsFunc(c.AccessModes, func(m corev1.PersistentVolumeAccessMode) bool { return !slices.Contains(v.AccessModes, m) }):
		return 3, "none that is available has accessModes " + modes(c.AccessModes)
	case c.Selector != nil && !selected():
		return 4, "none that is available matches its selector " + metav1.FormatLabelSelector(c.Selector)
	case v.Capacity < c.Request:
		return 5, "none that is available is as large"
	}
	return 6, ""
}

func mode(block bool) string {
	if block {
		return string(corev1.PersistentVolumeBlock)
	}
	return string(corev1.PersistentVolumeFilesystem)
}

func modes(list []corev1.PersistentVolumeAccessMode) string {
	out := make([]string, len(list))
	for i, m := range list {
		out[i] = string(m)
	}
	return strings.Join(out, ", ")
}

func volumeAffinity(v *corev1.PersistentVolume) *corev1.NodeSelector {
	var required *corev1.NodeSelector
	if v.Spec.NodeAffinity != nil {
		required = v.Spec.NodeAffinity.Required
	}
	labels := locationLabels(v.Labels)
	if len(labels) == 0 {
		return required
	}
	if required == nil {
		return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: labels}}}
	}
	required = required.DeepCopy()
	for i := range required.NodeSelectorTerms {
		term := &required.NodeSelectorTerms[i]
		term.MatchExpressions = append(term.MatchExpressions, labels...)
	}
	return required
}

func locationLabels(labels map[string]string) []corev1.NodeSelectorRequirement {
	var out []corev1.NodeSelectorRequirement
	for _, key := range []string{
		corev1.LabelTopologyZone, corev1.LabelTopologyRegion,
		corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion,
	} {
		if value, ok := labels[key]; ok {
			// A volume in several zones joins their names with two underscores.
			values := strings.Split(value, "__")
			slices.Sort(values)
			out = append(out, corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values})
		}
	}
	return out
}

// FromStorageClass converts a storage class.
func FromStorageClass(c *storagev1.StorageClass) StorageClass {
	driver := c.Provisioner
	if csi, ok := csiDrivers[driver]; ok {
		driver = csi
	}
	return StorageClass{
		Name:                 c.Name,
		Driver:               driver,
		Static:               c.Provisioner == noProvisioner,
		WaitForFirstConsumer: c.VolumeBindingMode != nil && *c.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer,
		AllowedTopologies:    c.AllowedTopologies,
		Default: c.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" ||
			c.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true",
		Created: c.CreationTimestamp.Time,
	}
}
