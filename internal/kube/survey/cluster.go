package survey

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/apply"
)

// Cluster reads a cluster for package onboard.
type Cluster struct {
	typed    kubernetes.Interface
	custom   dynamic.Interface
	accounts *apply.RoleAnnotation
}

// NewCluster returns a reader of the cluster. It makes no request.
func NewCluster(access *rest.Config) (*Cluster, error) {
	typed, err := kubernetes.NewForConfig(access)
	if err != nil {
		return nil, fmt.Errorf("prepare the connection to %s: %w", access.Host, err)
	}
	custom, err := dynamic.NewForConfig(access)
	if err != nil {
		return nil, fmt.Errorf("prepare the connection to %s: %w", access.Host, err)
	}
	return &Cluster{typed, custom, apply.NewRoleAnnotation(typed, apply.Manager{})}, nil
}

// Objects returns the custom resources of a kind, sorted by name. It returns none if the cluster
// does not serve the kind.
func (c *Cluster) Objects(ctx context.Context, kind schema.GroupVersionResource) ([]map[string]any, error) {
	found, err := Objects(ctx, c.custom, kind)
	return documents(found), err
}

// Newest returns the custom resources of a kind of Karpenter, sorted by name, in the newest version
// that the cluster serves.
func (c *Cluster) Newest(ctx context.Context, kind schema.GroupResource) ([]map[string]any, error) {
	found, err := newest(ctx, c.custom, kind)
	return documents(found), err
}

func documents(objects []*unstructured.Unstructured) []map[string]any {
	out := make([]map[string]any, len(objects))
	for i, object := range objects {
		out[i] = object.Object
	}
	return out
}

// Survey reads the whole cluster; see Take.
func (c *Cluster) Survey(ctx context.Context) (*cluster.Survey, error) {
	return Take(ctx, c.typed, c.custom)
}

// Nodes returns the nodes, without what is known of their CSI drivers.
func (c *Cluster) Nodes(ctx context.Context) (out []cluster.Node, err error) {
	err = kind(ctx, c.typed.CoreV1().Nodes().List, &out, func(n *corev1.Node) cluster.Node { return cluster.FromNode(n, nil) })()
	return out, err
}

// Provisioners returns the Provisioners that can be read, and none that stand for NodePools.
func (c *Cluster) Provisioners(ctx context.Context) ([]*api.Provisioner, error) {
	return decodeAll(ctx, c.custom, api.ProvisionerGVR, api.ProvisionerOf, &cluster.Survey{})
}

// Webhooks returns the configurations of Karpenter's admission webhooks; see the function Webhooks.
func (c *Cluster) Webhooks(ctx context.Context) ([]string, error) { return Webhooks(ctx, c.typed) }

// Machines reports whether the cluster has the kind Machine; see the function Machines.
func (c *Cluster) Machines() (bool, error) { return Machines(c.typed) }

// RoleOf returns the ARN of the role in the annotation of a ServiceAccount. It is empty if there is
// no annotation or no such ServiceAccount.
func (c *Cluster) RoleOf(ctx context.Context, namespace, name string) (string, error) {
	arn, err := c.accounts.Get(ctx, namespace, name)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	return arn, err
}
