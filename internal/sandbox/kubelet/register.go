package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

// register creates the Node object, or takes over the one that exists under its
// name.
func register(ctx context.Context, client kubernetes.Interface, node *corev1.Node, own map[string]string) error {
	_, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err == nil {
		return nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create node %s: %w", node.Name, err)
	}
	return takeOver(ctx, client, node, own)
}

// takeOver does what a kubelet does with a Node object that it did not create: it
// sets its own labels and its status. The labels of its command line and the taints
// it would register with are applied to new objects only.
func takeOver(ctx context.Context, client kubernetes.Interface, node *corev1.Node, own map[string]string) error {
	existing, err := client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read node %s: %w", node.Name, err)
	}
	if id := existing.Spec.ProviderID; id != "" && id != node.Spec.ProviderID {
		return fmt.Errorf("take over node %s: it has provider ID %s, not %s", node.Name, id, node.Spec.ProviderID)
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"labels": own},
		"spec":     map[string]any{"providerID": node.Spec.ProviderID},
	})
	if err != nil {
		return fmt.Errorf("encode patch of node %s: %w", node.Name, err)
	}
	if _, err := client.CoreV1().Nodes().Patch(ctx, node.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("label node %s: %w", node.Name, err)
	}
	return call.DoIf(ctx, call.Conflicting, func(ctx context.Context) error {
		return writeStatus(ctx, client, node)
	})
}

// writeStatus replaces what was predicted of the node by what is there.
func writeStatus(ctx context.Context, client kubernetes.Interface, node *corev1.Node) error {
	existing, err := client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read node %s: %w", node.Name, err)
	}
	status := node.Status.DeepCopy()
	status.Capacity = withoutPredictedDevices(existing.Status.Capacity, status.Capacity)
	status.Allocatable = withoutPredictedDevices(existing.Status.Allocatable, status.Allocatable)
	existing.Status = *status
	if _, err := client.CoreV1().Nodes().UpdateStatus(ctx, existing, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("write status of node %s: %w", node.Name, err)
	}
	return nil
}

// withoutPredictedDevices returns what is there, with 0 for every extended resource
// that somebody advertised: the kubelet takes them back until a device plugin has
// registered.
func withoutPredictedDevices(predicted, actual corev1.ResourceList) corev1.ResourceList {
	list := maps.Clone(actual)
	for name := range predicted {
		if _, ok := actual[name]; !ok && strings.Contains(string(name), "/") {
			list[name] = *resource.NewQuantity(0, resource.DecimalSI)
		}
	}
	return list
}

// setLabel sets a label of a Node object, or removes it when value is nil.
func setLabel(ctx context.Context, client kubernetes.Interface, node, key string, value any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{key: value}}})
	if err != nil {
		return fmt.Errorf("encode patch of node %s: %w", node, err)
	}
	if _, err := client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("set label %s of node %s: %w", key, node, err)
	}
	return nil
}
