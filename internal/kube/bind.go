package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/podcache"
)

// Bind binds a pod to a node, and selects the node for the pod's unbound claims. It succeeds if
// the pod is on the node already. The error is cluster.ErrStale if the pod is gone, is being
// deleted, is gated or is on another node, and cluster.ErrLeftToScheduler if only the scheduler
// can bind it. That is so on a node that has become ready: kube-scheduler may give the same room to
// another pod, while a call waits because there are thousands of others.
func (c *Cluster) Bind(ctx context.Context, pod cluster.PodKey, node string) error {
	return retry(ctx, func(ctx context.Context) error {
		if err := c.bind(ctx, pod, node); err != nil {
			return fmt.Errorf("bind pod %s to node %s: %w", pod, node, err)
		}
		return nil
	})
}

func (c *Cluster) bind(ctx context.Context, key cluster.PodKey, node string) error {
	p, known := get[*podcache.Pod](c.caches.pods, key.Namespace, key.Name)
	known = known && string(p.UID) == key.UID
	if n, ok := get[*corev1.Node](c.caches.nodes, "", node); ok && cluster.FromNode(n, nil).Ready && (!known || p.Converted.NodeName != node) {
		return cluster.ErrLeftToScheduler
	}
	if known {
		if err := c.selectNode(ctx, &p.Converted, node); err != nil {
			return err
		}
	}
	err := c.client.CoreV1().Pods(key.Namespace).Bind(ctx, &corev1.Binding{
		// The UID makes the API server refuse another pod of the same name.
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: types.UID(key.UID)},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{FieldManager: manager})
	switch {
	case apierrors.IsNotFound(err):
		return cluster.ErrStale
	case apierrors.IsConflict(err), apierrors.IsBadRequest(err), apierrors.IsInvalid(err):
		return explainRefusal(ctx, c.client, key, node, err)
	}
	return err
}

// explainRefusal reads a pod that the API server refused to bind, and returns the reason. It
// returns nil if the pod is on the node.
func explainRefusal(ctx context.Context, client kubernetes.Interface, key cluster.PodKey, node string, refusal error) error {
	pod, err := client.CoreV1().Pods(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return cluster.ErrStale
	case err != nil:
		return err
	case string(pod.UID) != key.UID:
		return fmt.Errorf("another pod has its name: %w", cluster.ErrStale)
	case pod.Spec.NodeName == node:
		return nil
	case pod.Spec.NodeName != "":
		return fmt.Errorf("it is on node %s: %w", pod.Spec.NodeName, cluster.ErrStale)
	case pod.DeletionTimestamp != nil:
		return fmt.Errorf("it is being deleted: %w", cluster.ErrStale)
	case len(pod.Spec.SchedulingGates) > 0:
		return fmt.Errorf("it has scheduling gates: %w", cluster.ErrStale)
	}
	return refusal
}

// selectNode selects the node for the pod's unbound claims whose storage class waits for the
// first consumer. It selects no node if one of them has to be left to the scheduler.
func (c *Cluster) selectNode(ctx context.Context, of *cluster.Pod, node string) error {
	unbound, err := c.caches.unboundClaims(of, node)
	if err != nil {
		return err
	}
	for _, claim := range unbound {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid":         claim.UID,
			"annotations": map[string]string{cluster.SelectedNode: node},
		}})
		if err != nil {
			return err
		}
		_, err = c.client.CoreV1().PersistentVolumeClaims(of.Namespace).Patch(ctx, claim.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})
		if apierrors.IsNotFound(err) {
			err = cluster.ErrStale
		}
		if err != nil {
			return fmt.Errorf("select the node for claim %s: %w", claim.Name, err)
		}
	}
	return nil
}

// unboundClaims returns the claims for which the node is to be selected. The error is cluster.ErrLeftToScheduler if the class
// of one provides no volumes, if its driver has room on some nodes only, if a volume is there that the claim
// may have, so that it is not to get a new and empty one, or if a claim is not known yet. It is the same
// if another node that stays is selected for a claim of a pod that is not bound: the scheduler may be
// binding the pod there, and the volume may already be being made.
func (c *caches) unboundClaims(of *cluster.Pod, node string) (unbound []*corev1.PersistentVolumeClaim, err error) {
	for _, ref := range of.Template.Claims {
		claim, ok := get[*corev1.PersistentVolumeClaim](c.claims, of.Namespace, ref.Name)
		if !ok { // such as that of an ephemeral volume, for which nobody would select a node later
			return nil, cluster.ErrLeftToScheduler
		}
		if claim.Spec.VolumeName != "" {
			continue
		}
		class := c.classOf(claim)
		if class.WaitForFirstConsumer && (class.Static || of.NodeName == "" && (c.tracksCapacity(class.Driver) || c.available(claim, class.Name))) {
			return nil, cluster.ErrLeftToScheduler
		}
		selected := claim.Annotations[cluster.SelectedNode]
		if !class.WaitForFirstConsumer || selected == node {
			continue
		}
		if n, there := get[*corev1.Node](c.nodes, "", selected); there && n.DeletionTimestamp == nil && of.NodeName == "" {
			return nil, cluster.ErrLeftToScheduler
		}
		unbound = append(unbound, claim)
	}
	return unbound, nil
}

// available reports whether there is a volume that an unbound claim of a storage class may have.
func (c *caches) available(claim *corev1.PersistentVolumeClaim, class string) bool {
	converted := cluster.FromClaim(claim)
	return slices.ContainsFunc(list[*corev1.PersistentVolume](c.volumes), func(v *corev1.PersistentVolume) bool {
		volume := cluster.FromVolume(v)
		_, lack := volume.Lacks(&converted, class)
		return lack == ""
	})
}

// tracksCapacity reports whether a CSI driver says where it has how much room for volumes, as those for the disks of
// nodes do. Only the scheduler compares that with claims. A pod that is bound to a node without enough room would never
// start.
func (c *caches) tracksCapacity(driver string) bool {
	d, ok := get[*storagev1.CSIDriver](c.csiDrivers, "", driver)
	return ok && d.Spec.StorageCapacity != nil && *d.Spec.StorageCapacity
}

// classOf returns the storage class of a claim, or an empty one if it has none.
func (c *caches) classOf(claim *corev1.PersistentVolumeClaim) cluster.StorageClass {
	name := cluster.FromClaim(claim).StorageClass
	if name == nil {
		return cluster.StorageClass{}
	}
	class, ok := get[*storagev1.StorageClass](c.storageClasses, "", *name)
	if !ok {
		return cluster.StorageClass{}
	}
	return cluster.FromStorageClass(class)
}
