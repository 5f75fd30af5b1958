package kube

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Wanted returns how many pods a ReplicaSet, a Job or a StatefulSet creates without waiting for
// others of its pods to run. For a StatefulSet that creates its pods one after the other, that is
// 1. The number is not certain if creating or running pods of the owner has failed, or if the
// namespace has a quota. The error is cluster.ErrGone if the owner is gone. Wanted does not retry,
// because its caller would rather do without the answer than wait.
func (c *Cluster) Wanted(ctx context.Context, namespace string, owner cluster.Owner) (cluster.Wanted, error) {
	var found metav1.Object
	var wanted cluster.Wanted
	var unbounded bool
	var quotas sync.WaitGroup
	quotas.Go(func() { unbounded = c.withoutQuota(ctx, namespace) })
	err := callOnce(ctx, func(ctx context.Context) (err error) {
		found, wanted, err = c.wanted(ctx, namespace, owner)
		return err
	})
	quotas.Wait()
	if apierrors.IsNotFound(err) || err == nil && string(found.GetUID()) != owner.UID {
		err = cluster.ErrGone
	}
	if err != nil {
		return cluster.Wanted{}, fmt.Errorf("read how many pods %s %s/%s wants: %w", owner.Kind, namespace, owner.Name, err)
	}
	wanted.Certain = wanted.Certain && unbounded
	return wanted, nil
}

func (c *Cluster) wanted(ctx context.Context, namespace string, owner cluster.Owner) (metav1.Object, cluster.Wanted, error) {
	switch owner.Kind {
	case "ReplicaSet":
		o, err := c.client.AppsV1().ReplicaSets(namespace).Get(ctx, owner.Name, metav1.GetOptions{})
		return o, cluster.WantedByReplicaSet(o), err
	case "StatefulSet":
		o, err := c.client.AppsV1().StatefulSets(namespace).Get(ctx, owner.Name, metav1.GetOptions{})
		return o, cluster.WantedByStatefulSet(o), err
	case "Job":
		o, err := c.client.BatchV1().Jobs(namespace).Get(ctx, owner.Name, metav1.GetOptions{})
		return o, cluster.WantedByJob(o), err
	}
	return nil, cluster.Wanted{}, fmt.Errorf("it is not known how many pods an owner of kind %s creates", owner.Kind)
}

// withoutQuota reports whether the namespace is known to have no ResourceQuota.
func (c *Cluster) withoutQuota(ctx context.Context, namespace string) bool {
	none := false
	err := callOnce(ctx, func(ctx context.Context) error {
		quotas, err := c.client.CoreV1().ResourceQuotas(namespace).List(ctx, metav1.ListOptions{Limit: 1})
		none = err == nil && len(quotas.Items) == 0
		return err
	})
	return err == nil && none
}
