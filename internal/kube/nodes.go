package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// CreateNode creates a Node with its status. If the kubelet has already created the Node, also where a policy lets nobody
// else create it, CreateNode adds labels, annotations, finalizers and those of the taints that the Node lacks,
// replaces the owner references, and leaves other taints and the status as they are. It cordons the Node as the given one,
// unless it is ready. If the Node of that name is another machine's or is being deleted, the error is cluster.ErrStale.
func (c *Cluster) CreateNode(ctx context.Context, node *corev1.Node, taints ...corev1.Taint) (ready bool, err error) {
	err = retry(ctx, func(ctx context.Context) error {
		// The API server accepts the status of a new Node, so that the Node never looks ready
		// too early.
		_, err := c.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{FieldManager: manager})
		if errors.Is(refused(err), cluster.ErrRefused) { // it exists, or the policy is asked before it is looked for
			if taken, took := c.takeOver(ctx, node, taints); !apierrors.IsNotFound(took) {
				ready, err = taken, took
			}
		}
		if err != nil {
			return fmt.Errorf("create node %s: %w", node.Name, err)
		}
		return nil
	})
	return ready, err
}

func (c *Cluster) takeOver(ctx context.Context, node *corev1.Node, taints []corev1.Taint) (ready bool, err error) {
	there, err := c.client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	if id := there.Spec.ProviderID; id != "" && id != node.Spec.ProviderID {
		return false, fmt.Errorf("the node exists for %s: %w", id, cluster.ErrStale)
	}
	if there.DeletionTimestamp != nil {
		return false, fmt.Errorf("the node is being deleted: %w", cluster.ErrStale)
	}
	ready, annotations := cluster.FromNode(there, nil).Ready, maps.Clone(node.Annotations)
	if ready { // it was there already
		delete(annotations, api.AnnotationRemade)
	}
	(&cluster.NodeChange{AddTaints: taints}).Apply(there)
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"resourceVersion": there.ResourceVersion,
			"labels":          node.Labels,
			"annotations":     annotations,
			"finalizers":      sets.List(sets.New(there.Finalizers...).Insert(node.Finalizers...)),
			"ownerReferences": node.OwnerReferences,
		},
		"spec": map[string]any{"providerID": node.Spec.ProviderID, "taints": there.Spec.Taints, "unschedulable": there.Spec.Unschedulable || node.Spec.Unschedulable && !ready},
	})
	if err != nil {
		return false, err
	}
	return ready, c.patchNode(ctx, node.Name, patch)
}

// PatchNode applies a change to the current state of a Node. If the Node is gone, or another machine's, the
// error is cluster.ErrGone. It is cluster.ErrRefused for an answer that will not soon be another one.
func (c *Cluster) PatchNode(ctx context.Context, name string, change cluster.NodeChange) error {
	return retry(ctx, func(ctx context.Context) error {
		node, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		switch {
		case err == nil && cluster.OfAnother(node, change.ProviderID):
			err = fmt.Errorf("it is that of %s: %w", node.Spec.ProviderID, cluster.ErrGone)
		case err == nil:
			var patch []byte
			if patch, err = nodePatch(node, change); err == nil && patch != nil {
				err = c.patchNode(ctx, name, patch)
			}
		}
		if apierrors.IsNotFound(err) {
			err = cluster.ErrGone
		}
		if err != nil {
			return fmt.Errorf("change node %s: %w", name, refused(err))
		}
		return nil
	})
}

// DeleteNode requests the deletion of a Node. The Node exists until its finalizers are removed.
// DeleteNode succeeds if the Node is being deleted or is gone. If it is that of another machine, the error is
// cluster.ErrGone, and it is cluster.ErrRefused for an answer that will not soon be another one.
func (c *Cluster) DeleteNode(ctx context.Context, name, providerID string) error {
	return retry(ctx, func(ctx context.Context) error {
		node, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		switch {
		case err == nil && cluster.OfAnother(node, providerID):
			err = fmt.Errorf("it is that of %s: %w", node.Spec.ProviderID, cluster.ErrGone)
		case err == nil && node.DeletionTimestamp == nil:
			err = c.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{
				Preconditions: &metav1.Preconditions{UID: &node.UID, ResourceVersion: &node.ResourceVersion},
			})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete node %s: %w", name, refused(err))
		}
		return nil
	})
}

func (c *Cluster) patchNode(ctx context.Context, name string, patch []byte) error {
	_, err := c.client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})
	return err
}

// nodePatch returns the merge patch of a change, or nil if the change has no effect. It contains
// the resource version, because it replaces lists as a whole: if the Node has changed since it was
// read, the patch is a conflict.
func nodePatch(node *corev1.Node, change cluster.NodeChange) ([]byte, error) {
	wanted := node.DeepCopy()
	change.Apply(wanted)
	if equality.Semantic.DeepEqual(node, wanted) {
		return nil, nil
	}
	versionless := node.DeepCopy()
	versionless.ResourceVersion = ""
	from, err := json.Marshal(versionless)
	if err != nil {
		return nil, err
	}
	to, err := json.Marshal(wanted)
	if err != nil {
		return nil, err
	}
	return jsonmergepatch.CreateThreeWayJSONMergePatch(from, to, from)
}
