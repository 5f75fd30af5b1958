// Package kube is the agent's adapter to the Kubernetes API. It keeps caches from which it makes
// a cluster.Snapshot, and changes nodes, pods and custom resources.
package kube

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/fence"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/lease"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/limit"
)

// manager is the field manager of the agent's changes, and the source of its events.
const manager = cluster.Manager

// Options of a Cluster. The zero value is usable.
type Options struct {
	// UserAgent of all requests. Default: packhorse-agent.
	UserAgent string
	// Schedulers are the names of schedulers, besides the default one, whose pods the agent
	// places.
	Schedulers []string
	// Requested, if set, is called after each request to the API server with its verb ("get",
	// "list", "watch", "create", "patch", "update", "delete"), its resource with the
	// subresource ("pods/eviction"), and the HTTP status of the response, or 0 if there was
	// none. It is called concurrently.
	Requested func(verb, resource string, code int)
	// Access, if set, is called when a mirrored resource cannot be read because the cluster
	// does not serve it or the agent lacks the permission, or has not been readable for a minute
	// for another reason, and with a nil error when it can be read again. It is called concurrently.
	Access func(resource string, err error)
	// NodePools makes NodePools and EC2NodeClasses of Karpenter count as Provisioners and
	// node profiles while Karpenter does not run.
	NodePools bool
	// Karpenter, if set, is called when NodePools stop being served, with the reason, and with
	// an empty string when they are served again. It is called concurrently.
	Karpenter func(waits string)
	// Fence, if set, is opened by the lease (see Lead) and checked before each request that
	// changes something. If nil, all requests are sent.
	Fence *fence.Fence
	// Unwritten, if set, is called when events could not be written, with their number and
	// the last error. It is called concurrently.
	Unwritten func(events int, err error)
}

// Cluster reads and changes a live cluster. Its methods are safe for concurrent use. Each has a
// time limit and, unless it says otherwise, retries temporary failures a few times.
type Cluster struct {
	client  kubernetes.Interface
	leading kubernetes.Interface // for the lease
	fence   *fence.Fence
	dynamic dynamic.Interface
	caches  *caches
	view    *view
	events  *events
	waits   func(string)
	*pools  // nil unless NodePools are served
	directReader
}

// New returns a Cluster. It makes no request.
func New(cfg *rest.Config, o Options) (*Cluster, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.UserAgent = cmp.Or(o.UserAgent, manager)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &fenced{next, o.Fence} })
	if o.Requested != nil {
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &observer{next, o.Requested} })
	}
	custom, err := dynamic.NewForConfig(limit.Bound(cfg))
	if err != nil {
		return nil, fmt.Errorf("create a client for custom resources: %w", err)
	}
	cfg.ContentType = runtime.ContentTypeProtobuf
	cfg.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	client, err := kubernetes.NewForConfig(limit.Bound(cfg))
	// The lease is to be renewed however many requests wait for the limiter of that client.
	leading, too := kubernetes.NewForConfig(limit.Bound(cfg))
	if err = cmp.Or(err, too); err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	caches, err := newCaches(client, custom, o)
	if err != nil {
		return nil, err
	}
	return &Cluster{
		client:  client,
		leading: leading,
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

// Start fills the caches and keeps them up to date until ctx ends. It returns at once; Synced
// and Waiting report the progress. It is an error to start a Cluster twice.
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

// Lead takes part in leader election, see [lease.Lead]. The fence is open while the lease is
// held.
func (c *Cluster) Lead(ctx context.Context, o lease.Options, run func(context.Context)) error {
	o.Fence = cmp.Or(c.fence, fence.New())
	return lease.Lead(ctx, c.leading, o, run)
}
