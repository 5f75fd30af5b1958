package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// directReader reads from the API server what the caches may not contain yet.
type directReader struct{ api kubernetes.Interface }

// PodsOn returns the pods that are bound to a node and have not finished. It reads them from the
// API server and not from the caches.
func (c directReader) PodsOn(ctx context.Context, node string) ([]cluster.Pod, error) {
	var out []cluster.Pod
	err := retry(ctx, func(ctx context.Context) error {
		list, err := c.api.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(),
		})
		if err != nil {
			return fmt.Errorf("list the pods of node %s: %w", node, err)
		}
		templates := cluster.NewTemplates()
		out = out[:0]
		for i := range list.Items {
			if p, ok := templates.Pod(&list.Items[i]); ok {
				out = append(out, p)
			}
		}
		return nil
	})
	return out, err
}

// Deployment returns a Deployment as the API server has it now; nil if it is gone. It lists it, because
// the agent may not get Deployments.
func (c directReader) Deployment(ctx context.Context, namespace, name string) (out *cluster.Deployment, err error) {
	err = retry(ctx, func(ctx context.Context) error {
		list, err := c.api.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String(),
		})
		if err != nil {
			return fmt.Errorf("read Deployment %s/%s: %w", namespace, name, err)
		}
		out = nil
		for i := range list.Items {
			converted := cluster.FromDeployment(&list.Items[i], manager)
			out = &converted
		}
		return nil
	})
	return out, err
}

// NodeReady reports whether a node is ready. It asks the API server and not the caches. A node that is
// gone is not ready.
func (c directReader) NodeReady(ctx context.Context, node string) (ready bool, err error) {
	err = retry(ctx, func(ctx context.Context) error {
		n, err := c.api.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			ready = false
		case err != nil:
			return fmt.Errorf("read node %s: %w", node, err)
		default:
			ready = cluster.FromNode(n, nil).Ready
		}
		return nil
	})
	return ready, err
}
