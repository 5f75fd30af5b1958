package stage

import (
	"context"
	"fmt"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
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
		scale := &autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Name: d.Name, Namespace: d.Namespace},
			Spec:       autoscalingv1.ScaleSpec{Replicas: replicas},
		}
		if _, err := deployments.UpdateScale(ctx, d.Name, scale, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("scale deployment %s to %d: %w", d.Name, replicas, err)
		}
	}
	return nil
}

// LiveInstances counts the instances that are neither terminated nor going.
func (s *Stage) LiveInstances() int {
	n := 0
	for _, i := range s.Sandbox.Cloud.Instances() {
		if i.State == "pending" || i.State == "running" {
			n++
		}
	}
	return n
}
