package teardown

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

// rosterAge is how long the list of nodes is used. An agent needs at least as long to create a node.
const rosterAge = time.Second

// Roster caches a list of the nodes of all Provisioners for a second, so that removing hundreds of
// Provisioners takes one list per second. It leaves out nodes that no agent drains: those of others that have
// the label of a Provisioner, and those that an agent has let go and another program holds. It is safe for concurrent use.
type Roster struct {
	client metadata.Interface

	mu    sync.Mutex
	taken time.Time
	names map[string][]string // by Provisioner, sorted
}

// NewRoster returns an empty roster.
func NewRoster(client metadata.Interface) *Roster { return &Roster{client: client} }

// Nodes returns the names of the Provisioner's nodes, sorted. They may be a second old.
func (r *Roster) Nodes(ctx context.Context, provisioner string) ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken.IsZero() || time.Since(r.taken) >= rosterAge {
		if err := r.take(ctx); err != nil {
			return nil, fmt.Errorf("list the nodes of provisioner %q: %w", provisioner, err)
		}
	}
	return r.names[provisioner], nil
}

func (r *Roster) take(ctx context.Context) error {
	begin := time.Now()
	nodes, err := call.Get(ctx, func(ctx context.Context) (*metav1.PartialObjectMetadataList, error) {
		return r.client.Resource(corev1.SchemeGroupVersion.WithResource("nodes")).List(ctx, metav1.ListOptions{LabelSelector: api.LabelProvisioner})
	})
	if err != nil {
		return err
	}
	r.taken, r.names = begin, map[string][]string{}
	for i := range nodes.Items {
		n := &nodes.Items[i]
		if owner := n.Labels[api.LabelProvisioner]; cluster.Managed(n) {
			r.names[owner] = append(r.names[owner], n.Name)
		}
	}
	for _, names := range r.names {
		slices.Sort(names)
	}
	return nil
}
