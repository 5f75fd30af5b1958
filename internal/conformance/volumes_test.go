package conformance

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// driver attaches the volumes.
const driver = "ebs.csi.aws.com"

// The claims that each namespace has, with volumes that they are bound to: one in each
// zone, two that are anywhere, and one that a single pod may use.
var (
	claimNames = append([]string{"first", "second", exclusive}, zones...)
	exclusive  = "exclusive"
	claims     []*corev1.PersistentVolumeClaim
	volumes    []*corev1.PersistentVolume
)

// csiNodes limit what is attached to some of the nodes that scenarios have, and to no machine
// that is bought.
var csiNodes = []*storagev1.CSINode{csiNode("node-0", 1), csiNode("node-2", 2)}

func csiNode(name string, limit int32) *storagev1.CSINode {
	return &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: driver, NodeID: name, Allocatable: &storagev1.VolumeNodeResources{Count: ptr.To(limit)}}}},
	}
}

func init() {
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	for _, ns := range namespaces {
		for _, name := range claimNames {
			volume := ns.Name + "-" + name
			modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
			if name == exclusive {
				modes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
			}
			claims = append(claims, &corev1.PersistentVolumeClaim{
				// The scheduler takes a claim with this annotation for bound.
				ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: name, Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: modes, VolumeName: volume, StorageClassName: ptr.To(""), Resources: corev1.VolumeResourceRequirements{Requests: size},
				},
			})
			v := &corev1.PersistentVolume{
				ObjectMeta: metav1.ObjectMeta{Name: volume},
				Spec: corev1.PersistentVolumeSpec{
					AccessModes: modes, Capacity: size, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
					ClaimRef:               &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: ns.Name, Name: name},
					PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: volume}},
				},
			}
			for _, zone := range zones {
				if name == zone {
					v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
						MatchExpressions: []corev1.NodeSelectorRequirement{{Key: api.LabelZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
					}}}}
				}
			}
			volumes = append(volumes, v)
		}
	}
}

// volumes mounts a claim of the pod's namespace.
func (g generator) volumes(p *corev1.Pod) {
	name := oneOf(g, claimNames...)
	for _, have := range p.Spec.Volumes {
		if have.Name == name {
			return
		}
	}
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{
		Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}},
	})
}

// addVolumes creates the claims with their volumes, and the nodes' attach limits. It returns
// once the volume controller has bound each claim: a claim that looks bound before its volume
// is there is lost for a while.
func (l *lab) addVolumes(ctx context.Context) error {
	for i, c := range claims {
		if _, err := l.client.CoreV1().PersistentVolumes().Create(ctx, volumes[i], metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create volume %s: %w", volumes[i].Name, err)
		}
		unbound := c.DeepCopy()
		unbound.Annotations = nil
		if _, err := l.client.CoreV1().PersistentVolumeClaims(c.Namespace).Create(ctx, unbound, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create claim %s/%s: %w", c.Namespace, c.Name, err)
		}
	}
	for _, c := range claims {
		err := l.await(ctx, fmt.Sprintf("the volume of claim %s/%s", c.Namespace, c.Name), func(ctx context.Context) (bool, error) {
			got, err := l.client.CoreV1().PersistentVolumeClaims(c.Namespace).Get(ctx, c.Name, metav1.GetOptions{})
			return err == nil && got.Status.Phase == corev1.ClaimBound, err
		})
		if err != nil {
			return err
		}
	}
	for _, n := range csiNodes {
		if _, err := l.client.StorageV1().CSINodes().Create(ctx, n, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create CSINode %s: %w", n.Name, err)
		}
	}
	return nil
}
