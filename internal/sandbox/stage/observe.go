package stage

import (
	"context"
	"fmt"
	"slices"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
)

// AwaitLeader waits until an agent holds the lease.
func (s *Stage) AwaitLeader(ctx context.Context, limit time.Duration) error {
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, limit, true, func(ctx context.Context) (bool, error) {
		lease, err := s.Kube.CoordinationV1().Leases(Namespace).Get(ctx, ServiceAccount, metav1.GetOptions{})
		if err != nil {
			return false, ignoreNotFound(err)
		}
		return lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "", nil
	})
	if err != nil {
		return fmt.Errorf("wait for an agent to lead: %w", err)
	}
	return nil
}

// ScaleAll sets the replicas of every deployment in the default namespace.
func (s *Stage) ScaleAll(ctx context.Context, replicas int32) error {
	deployments := s.Kube.AppsV1().Deployments(metav1.NamespaceDefault)
	list, err := deployments.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list deployments: %w", err)
	}
	for _, d := range list.Items {
		if err := s.Scale(ctx, d.Name, replicas); err != nil {
			return err
		}
	}
	return nil
}

// Scale sets the replicas of a deployment in the default namespace.
func (s *Stage) Scale(ctx context.Context, name string, replicas int32) error {
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec:       autoscalingv1.ScaleSpec{Replicas: replicas},
	}
	if _, err := s.Kube.AppsV1().Deployments(metav1.NamespaceDefault).UpdateScale(ctx, name, scale, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("scale deployment %s to %d: %w", name, replicas, err)
	}
	return nil
}

// Live returns the instances that are neither terminated nor going.
func (s *Stage) Live() []cloud.Instance {
	return slices.DeleteFunc(s.Sandbox.Cloud.Instances(), func(i cloud.Instance) bool {
		return i.State != "pending" && i.State != "running"
	})
}

// Unschedulable reports whether kube-scheduler has found no node for a pod.
func Unschedulable(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
	})
}
