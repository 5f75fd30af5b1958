// Package kube is the agent's side of the Kubernetes API: caches that become a
// cluster.Snapshot, and the actions on nodes, pods and our custom resources.
package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/fence"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/lease"
)

// manager names us in fields that we own and events that we write.
const manager = "packhorse-agent"

// Options of a Cluster. The zero value is usable.
type Options struct {
	// UserAgent goes with every call; "packhorse-agent" by default.
	UserAgent string
	// QPS and Burst bound the calls per second on our side; 500 and 1000 by
	// default. The API server has its own fairness.
	QPS   float32
	Burst int
	// Schedulers names those whose pods are ours to place, besides the default one.
	Schedulers []string
	// Requested, if set, is called with each request to the API server: its verb ("get",
	// "list", "watch", "create", "patch", "update", "delete"), its resource with the
	// subresource ("pods/eviction"), and the HTTP status of the answer, 0 for none.
	// It is called concurrently.
	Requested func(verb, resource string, code int)
	// Access, if set, is called once when a resource that is mirrored cannot be read,
	// because its kind is not installed or the rights are missing, and with nil when it
	// can be read again. It is called concurrently.
	Access func(resource string, err error)
	// NodePools makes NodePools and EC2NodeClasses of Karpenter count as Provisioners and
	// node profiles, as long as Karpenter does not run.
	NodePools bool
	// Karpenter, if set, is called with the reason why no NodePool is served for now, and nothing once they
	// are. It is called concurrently.
	Karpenter func(waits string)
	// Fence, if set, is opened by the lease (see Lead) and asked before each request
	// that changes something. Nil: everything passes.
	Fence *fence.Fence
	// Unwritten, if set, is called with how many events could not be written, and why the last.
	Unwritten func(events int, err error)
}

// Cluster is a live cluster. Its methods are safe for concurrent use. Every call
// of the API server has a deadline, and what may pass by itself is tried again a
// few times.
type Cluster struct {
	client  kubernetes.Interface
	fence   *fence.Fence
	dynamic dynamic.Interface
	caches  *caches
	view    *view
	events  *events
	waits   func(string)
	*pools  // nil unless NodePools are served
	directReader
}

// New prepares a Cluster. Nothing is called before Start or the first action.
func New(cfg *rest.Config, o Options) (*Cluster, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.UserAgent = cmp.Or(o.UserAgent, manager)
	cfg.QPS, cfg.Burst = cmp.Or(o.QPS, 500), cmp.Or(o.Burst, 1000)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &fenced{next, o.Fence} })
	if o.Requested != nil {
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &teller{next, o.Requested} })
	}
	custom, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client for custom resources: %w", err)
	}
	cfg.ContentType = runtime.ContentTypeProtobuf
	cfg.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	caches, err := newCaches(client, custom, o)
	if err != nil {
		return nil, err
	}
	return &Cluster{
		client:  client,
		fence:   o.Fence,
		dynamic: custom,
		caches:  caches,
		pools:   caches.pools,
		waits:   o.Karpenter,
		view:    newView(caches),
		events:  newEvents(o.Unwritten),

		directReader: directReader{client},
	}, nil
}

// Start fills the caches and keeps them up to date until ctx ends. It returns at
// once: Synced and Waiting tell how far that has come.
func (c *Cluster) Start(ctx context.Context) error {
	if err := c.caches.start(ctx); err != nil {
		return err
	}
	go c.events.run(ctx, c.client)
	if c.pools != nil {
		go watchKarpenter(ctx, c, c.waits)
	}
	return nil
}

// Lead runs for a lease as [lease.Lead] does. Meanwhile the fence is open while it is held.
func (c *Cluster) Lead(ctx context.Context, o lease.Options, run func(context.Context)) error {
	o.Fence = cmp.Or(c.fence, fence.New())
	return lease.Lead(ctx, c.client, o, run)
}

// UID identifies the cluster for as long as it exists.
func (c *Cluster) UID(ctx context.Context) (string, error) {
	var uid string
	err := retry(ctx, func(ctx context.Context) error {
		ns, err := c.client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("read namespace %s: %w", metav1.NamespaceSystem, err)
		}
		uid = string(ns.UID)
		return nil
	})
	return uid, err
}

// Version returns the API server's minor version, such as "1.37".
func (c *Cluster) Version(ctx context.Context) (string, error) {
	var minor string
	err := retry(ctx, func(ctx context.Context) error {
		raw, err := c.client.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
		if err != nil {
			return fmt.Errorf("read the API server's version: %w", err)
		}
		var info apiversion.Info
		if err := json.Unmarshal(raw, &info); err != nil {
			return fmt.Errorf("read the API server's version: %w", err)
		}
		v, err := version.ParseGeneric(info.GitVersion)
		if err != nil {
			return fmt.Errorf("read the API server's version: %w", err)
		}
		minor = fmt.Sprintf("%d.%d", v.Major(), v.Minor())
		return nil
	})
	return minor, err
}
