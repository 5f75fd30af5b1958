package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// CreateNode creates a Node object with its status. Where a kubelet was faster,
// its object is taken over: labels, annotations, finalizers and owners are added,
// taints and status stay. An object of the same name that is another machine's,
// or that is being deleted, is cluster.ErrStale.
func (c *Cluster) CreateNode(ctx context.Context, node *corev1.Node) error {
	return retry(ctx, func(ctx context.Context) error {
		// The API server keeps the status that a node is created with, so that there
		// is no moment at which it looks ready.
		_, err := c.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{FieldManager: manager})
		if apierrors.IsAlreadyExists(err) {
			err = c.takeOver(ctx, node)
		}
		if err != nil {
			return fmt.Errorf("create node %s: %w", node.Name, err)
		}
		return nil
	})
}

func (c *Cluster) takeOver(ctx context.Context, node *corev1.Node) error {
	there, err := c.client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if id := there.Spec.ProviderID; id != "" && id != node.Spec.ProviderID {
		return fmt.Errorf("the node exists for %s: %w", id, cluster.ErrStale)
	}
	if there.DeletionTimestamp != nil {
		return fmt.Errorf("the node is being deleted: %w", cluster.ErrStale)
	}
	owners := there.OwnerReferences
	for _, o := range node.OwnerReferences {
		if !slices.ContainsFunc(owners, func(have metav1.OwnerReference) bool { return have.UID == o.UID }) {
			owners = append(owners, o)
		}
	}
	return c.patchNode(ctx, node.Name, map[string]any{
		"metadata": map[string]any{
			"resourceVersion": there.ResourceVersion,
			"labels":          node.Labels,
			"annotations":     node.Annotations,
			"finalizers":      union(there.Finalizers, node.Finalizers...),
			"ownerReferences": owners,
		},
		"spec": map[string]any{"providerID": node.Spec.ProviderID},
	})
}

// PatchNode changes a Node object as it is now. A node that is gone is
// cluster.ErrGone.
func (c *Cluster) PatchNode(ctx context.Context, name string, change cluster.NodeChange) error {
	return retry(ctx, func(ctx context.Context) error {
		node, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			if patch := nodePatch(node, change); patch != nil {
				err = c.patchNode(ctx, name, patch)
			}
		}
		if apierrors.IsNotFound(err) {
			err = cluster.ErrGone
		}
		if err != nil {
			return fmt.Errorf("change node %s: %w", name, err)
		}
		return nil
	})
}

// DeleteNode asks for the deletion of a Node object as it is now, which its finalizer
// may hold up. A node that is gone, or that is being deleted, is fine.
func (c *Cluster) DeleteNode(ctx context.Context, name string) error {
	return retry(ctx, func(ctx context.Context) error {
		node, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err == nil && node.DeletionTimestamp == nil {
			err = c.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{
				Preconditions: &metav1.Preconditions{UID: &node.UID, ResourceVersion: &node.ResourceVersion},
			})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete node %s: %w", name, err)
		}
		return nil
	})
}

func (c *Cluster) patchNode(ctx context.Context, name string, patch map[string]any) error {
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = c.client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: manager})
	return err
}

// nodePatch returns the merge patch that makes a change, or nil where the node is
// as wanted. Lists are replaced as a whole, hence the resource version: a change
// by somebody else in the meantime is a conflict.
func nodePatch(node *corev1.Node, change cluster.NodeChange) map[string]any {
	metadata, spec := map[string]any{}, map[string]any{}
	if m := mapPatch(node.Labels, change.SetLabels, change.RemoveLabels); len(m) > 0 {
		metadata["labels"] = m
	}
	if m := mapPatch(node.Annotations, change.SetAnnotations, change.RemoveAnnotations); len(m) > 0 {
		metadata["annotations"] = m
	}
	if finalizers := changedFinalizers(node.Finalizers, change); !slices.Equal(finalizers, node.Finalizers) {
		metadata["finalizers"] = finalizers
	}
	if taints := changedTaints(node.Spec.Taints, change); !sameTaints(taints, node.Spec.Taints) {
		spec["taints"] = taints
	}
	if change.Cordon != nil && *change.Cordon != node.Spec.Unschedulable {
		spec["unschedulable"] = *change.Cordon
	}
	if o := change.Owner; o != nil && !reflect.DeepEqual(node.OwnerReferences, []metav1.OwnerReference{*o}) {
		metadata["ownerReferences"] = []metav1.OwnerReference{*o}
	}
	if len(metadata) == 0 && len(spec) == 0 {
		return nil
	}
	metadata["resourceVersion"] = node.ResourceVersion
	return map[string]any{"metadata": metadata, "spec": spec}
}

// mapPatch holds the values to set and, as nulls, the keys to remove.
func mapPatch(have, set map[string]string, remove []string) map[string]any {
	out := map[string]any{}
	for key, value := range set {
		if now, ok := have[key]; !ok || now != value {
			out[key] = value
		}
	}
	for _, key := range remove {
		if _, ok := have[key]; ok {
			out[key] = nil
		}
	}
	return out
}

func changedFinalizers(have []string, change cluster.NodeChange) []string {
	out := slices.Clone(have)
	if change.AddFinalizer != "" {
		out = union(out, change.AddFinalizer)
	}
	return slices.DeleteFunc(out, func(f string) bool { return f == change.RemoveFinalizer && f != "" })
}

func changedTaints(have []corev1.Taint, change cluster.NodeChange) []corev1.Taint {
	out := slices.DeleteFunc(slices.Clone(have), func(t corev1.Taint) bool {
		return slices.ContainsFunc(change.RemoveTaints, func(r corev1.Taint) bool { return r.MatchTaint(&t) })
	})
	for _, add := range change.AddTaints {
		i := slices.IndexFunc(out, func(t corev1.Taint) bool { return t.MatchTaint(&add) })
		switch {
		case i < 0:
			out = append(out, add)
		case out[i].Value != add.Value:
			out[i] = add
		}
	}
	if change.Guide != nil {
		out = cluster.WithGuide(out, *change.Guide)
	}
	return out
}

func sameTaints(a, b []corev1.Taint) bool {
	return slices.EqualFunc(a, b, func(x, y corev1.Taint) bool { return x.MatchTaint(&y) && x.Value == y.Value })
}

// union appends what is not there yet.
func union(have []string, more ...string) []string {
	out := slices.Clone(have)
	for _, m := range more {
		if !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}
