package teardown

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// diagnosisTimeout is the time limit for finding out what blocks a deletion, after the time limit of
// the deletion itself has passed.
const diagnosisTimeout = 30 * time.Second

// stuck returns a StuckError that says what remains. It leaves out what cannot be read, except the
// nodes.
func (w *Watch) stuck(ctx context.Context, provisioner string) error {
	interrupted := ctx.Err()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), diagnosisTimeout)
	defer cancel()
	stuck := &StuckError{Interrupted: errors.Is(interrupted, context.Canceled), Provisioner: provisioner}
	if live, err := w.reader.Get(ctx, provisioner); err == nil {
		stuck.Finalizers = live.GetFinalizers()
	}
	nodes, err := w.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: labels.Set{api.LabelProvisioner: provisioner}.String()})
	if err != nil {
		return fmt.Errorf("wait for the deletion of provisioner %q: %w: list its nodes: %w", provisioner, interrupted, err)
	}
	budgets := w.closedBudgets(ctx)
	for i := range nodes.Items {
		if n := &nodes.Items[i]; cluster.Managed(n) {
			stuck.Nodes = append(stuck.Nodes, w.describe(ctx, n, budgets))
		}
	}
	return stuck
}

func (w *Watch) describe(ctx context.Context, node *corev1.Node, budgets []policyv1.PodDisruptionBudget) StuckNode {
	out := StuckNode{
		Name:       node.Name,
		Instance:   node.Spec.ProviderID,
		Finalizers: node.Finalizers,
		Deleting:   node.DeletionTimestamp != nil,
	}
	pods, err := w.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node.Name})
	if err != nil {
		return out
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "DaemonSet" {
			continue
		}
		out.Pods = append(out.Pods, pod.Namespace+"/"+pod.Name)
		for j := range budgets {
			b := cluster.FromPodDisruptionBudget(&budgets[j])
			if name := b.Namespace + "/" + b.Name; b.Selects(pod.Namespace, pod.Labels) && !slices.Contains(out.Budgets, name) {
				out.Budgets = append(out.Budgets, name)
			}
		}
	}
	return out
}

// closedBudgets returns the budgets that allow no disruption at the moment.
func (w *Watch) closedBudgets(ctx context.Context) []policyv1.PodDisruptionBudget {
	all, err := w.client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(all.Items, func(b policyv1.PodDisruptionBudget) bool { return b.Status.DisruptionsAllowed > 0 })
}
