package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Steer sets the deletion cost of a pod so that its ReplicaSet, when it is scaled down, deletes the
// pod before others. It does not overwrite a deletion cost that somebody else has set. It succeeds
// if the pod is gone.
func (c *Cluster) Steer(ctx context.Context, key cluster.PodKey, grade int) error {
	return retry(ctx, func(ctx context.Context) error {
		err := steer(ctx, c.client.CoreV1().Pods(key.Namespace), key, grade)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("set the deletion cost of pod %s: %w", key, err)
		}
		return nil
	})
}

func steer(ctx context.Context, pods typed.PodInterface, key cluster.PodKey, grade int) error {
	pod, err := pods.Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil || string(pod.UID) != key.UID || pod.DeletionTimestamp != nil {
		return err
	}
	patch, err := cluster.SteeringPatch(pod, grade)
	if err != nil || patch == nil {
		return err
	}
	// A change of the status may change annotations, and never what the pod runs, so that the agent needs no right to that.
	_, err = pods.Patch(ctx, key.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager}, "status")
	return err
}
