package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// deployment is what the cache of Deployments holds instead of the API server's object, which is
// large because of its pod template.
type deployment struct {
	metav1.ObjectMeta // only namespace, name, UID and resource version
	converted         cluster.Deployment
}

// ScaleDeployment sets the number of replicas of a Deployment. It returns cluster.ErrStale if the
// Deployment has changed since it was read, so that it does not overwrite what somebody else has
// set, and cluster.ErrRefused for an answer that will not soon be another one. It does not retry, because
// a request that failed may have had an effect.
func (c *Cluster) ScaleDeployment(ctx context.Context, d *cluster.Deployment, replicas int) error {
	err := callOnce(ctx, func(ctx context.Context) error {
		_, err := c.client.AppsV1().Deployments(d.Namespace).UpdateScale(ctx, d.Name, d.Scale(replicas), metav1.UpdateOptions{FieldManager: d.Scaler(replicas)})
		return err
	})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		err = cluster.ErrStale
	}
	if err != nil {
		return fmt.Errorf("scale Deployment %s/%s to %d: %w", d.Namespace, d.Name, replicas, refused(err))
	}
	return nil
}
