package platform

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	nouns "github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/apply"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/installation"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/survey"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/teardown"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// unlimited turns off client-go's rate limit. Terraform's parallelism limits the number of
// concurrent requests, and the API server has its own priority and fairness.
const unlimited = -1

// cluster implements session.Cluster.
type cluster struct {
	objects dynamic.Interface
	typed   kubernetes.Interface
	names   metadata.Interface
	manager apply.Manager
	arn     string // of EKS
	uid     types.UID

	listings sync.Map // of apply.Listing by resource
}

// userAgent names the provider to API servers.
const userAgent = "terraform-provider-packhorse"

// Cluster returns the cluster that the provider block names.
func (p *platform) Cluster(ctx context.Context) (session.Cluster, error) {
	found, err := p.cluster.get(ctx, func() (*cluster, error) {
		cfg, arn, err := p.restConfig(ctx)
		if err != nil {
			return nil, err
		}
		cfg.QPS = unlimited
		cfg.UserAgent = userAgent
		return newCluster(ctx, cfg, arn, apply.Manager{Name: p.config.FieldManager, Force: p.config.ForceConflicts})
	})
	return found, wrongAccess(err)
}

func newCluster(ctx context.Context, cfg *rest.Config, arn string, manager apply.Manager) (*cluster, error) {
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("prepare the connection to %s: %w", cfg.Host, err)
	}
	objects, noObjects := dynamic.NewForConfigAndClient(cfg, client)
	typed, noTyped := kubernetes.NewForConfigAndClient(cfg, client)
	names, noNames := metadata.NewForConfigAndClient(cfg, client)
	if err := errors.Join(noObjects, noTyped, noNames); err != nil {
		return nil, fmt.Errorf("prepare the connection to %s: %w", cfg.Host, err)
	}
	system, err := call.Get(ctx, func(ctx context.Context) (*corev1.Namespace, error) {
		return typed.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	})
	if err == nil && system.UID == "" { // every object would count as belonging to another cluster
		err = errors.New("the response is not from a Kubernetes API server")
	}
	if err != nil {
		return nil, notReady(fmt.Errorf("reach the cluster at %s: %w", cfg.Host, err))
	}
	return &cluster{objects: objects, typed: typed, names: names, manager: manager, arn: arn, uid: system.UID}, nil
}

func (c *cluster) UID() types.UID { return c.uid }

func (c *cluster) ARN() string { return c.arn }

func (c *cluster) Objects(kind api.CustomKind, force bool) session.Objects {
	shared, _ := c.listings.LoadOrStore(kind.Resource, &apply.Listing{})
	store := apply.NewStore(c.objects, kind, apply.Manager{Name: c.manager.Name, Force: force}).With(shared.(*apply.Listing))
	return custom{store, c.objects, kind.Resource}
}

// custom implements session.Objects.
type custom struct {
	*apply.Store
	client dynamic.Interface
	kind   schema.GroupVersionResource
}

// List returns all objects of the kind.
func (c custom) List(ctx context.Context) ([]*unstructured.Unstructured, error) {
	return survey.Objects(ctx, c.client, c.kind)
}

// Survey reads the whole cluster.
func (c *cluster) Survey(ctx context.Context) (*nouns.Survey, error) {
	return survey.Take(ctx, c.typed, c.objects)
}

func (c *cluster) Teardown() session.Teardown {
	provisioners := api.CustomKind{Name: api.ProvisionerKind, Resource: api.ProvisionerGVR}
	return teardown.NewWatch(c.typed, apply.NewStore(c.objects, provisioners, c.manager), c.names)
}

func (c *cluster) Accounts() session.Annotation { return apply.NewRoleAnnotation(c.typed, c.manager) }

// Installation manages the agent's own objects.
func (c *cluster) Installation() session.Installation {
	return installation.NewKeeper(c.objects, c.typed, c.names, c.manager)
}
