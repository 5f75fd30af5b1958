package platform

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/declare"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/teardown"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// Requests per second and burst of one provider block: a large configuration
// refreshes hundreds of objects.
const (
	clientQPS   = 50
	clientBurst = 100
)

// cluster is the API server of the cluster.
type cluster struct {
	objects dynamic.Interface
	typed   kubernetes.Interface
	manager declare.Manager
	uid     types.UID
}

// Cluster returns the cluster that the provider block names.
func (p *platform) Cluster(ctx context.Context) (session.Cluster, error) {
	return p.cluster.get(func() (*cluster, error) {
		cfg, err := p.restConfig(ctx)
		if err != nil {
			return nil, err
		}
		cfg.QPS, cfg.Burst = clientQPS, clientBurst
		cfg.UserAgent = "terraform-provider-packhorse"
		return newCluster(ctx, cfg, declare.Manager(p.config.Manager))
	})
}

func newCluster(ctx context.Context, cfg *rest.Config, manager declare.Manager) (*cluster, error) {
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("prepare the connection to %s: %w", cfg.Host, err)
	}
	objects, err := dynamic.NewForConfigAndClient(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("prepare the connection to %s: %w", cfg.Host, err)
	}
	typed, err := kubernetes.NewForConfigAndClient(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("prepare the connection to %s: %w", cfg.Host, err)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	system, err := typed.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reach the cluster at %s: %w", cfg.Host, err)
	}
	return &cluster{objects, typed, manager, system.UID}, nil
}

func (c *cluster) UID() types.UID { return c.uid }

func (c *cluster) Objects(kind session.Kind) session.Objects {
	return declare.NewStore(c.objects, declare.Kind(kind), c.manager)
}

func (c *cluster) Teardown() session.Teardown {
	provisioners := declare.Kind{Name: api.ProvisionerKind, Resource: api.ProvisionerGVR}
	return teardown.NewWatch(c.typed, declare.NewStore(c.objects, provisioners, c.manager))
}

func (c *cluster) Accounts() session.Annotation { return declare.NewRoleAnnotation(c.typed, c.manager) }
