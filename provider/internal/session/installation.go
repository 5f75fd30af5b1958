package session

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
)

// Installation keeps the agent's own objects in the cluster.
type Installation interface {
	// Read returns the live objects in the place of those that are declared, nil
	// for those that are not there.
	Read(ctx context.Context, declared []*unstructured.Unstructured) ([]*unstructured.Unstructured, error)
	// Check lets the API server judge the objects without storing them. Those whose
	// namespace or definition is not there yet are left out.
	Check(ctx context.Context, objects []*unstructured.Unstructured, force bool) error
	// Apply declares the objects in their order; definitions are served when the
	// next one is applied. Force takes fields away from other managers.
	Apply(ctx context.Context, objects []*unstructured.Unstructured, force bool) error
	// Await returns once all replicas are up and one leads, or with an error that
	// says what is missing when the context ends.
	Await(ctx context.Context, namespace, name string, progress func(string)) (install.Status, error)
	Status(ctx context.Context, namespace, name string, now time.Time) (install.Status, error)
	// Remove deletes the objects, the last first, and waits. A namespace in which
	// others have something is kept, and what that is returned.
	Remove(ctx context.Context, objects []*unstructured.Unstructured) (kept []string, err error)
	// RemoveLease deletes the Lease that the agent has made in its namespace.
	RemoveLease(ctx context.Context, namespace string) error

	// Holdings are what depends on the installation, whoever has declared it.
	Holdings(context.Context) (install.Holdings, error)
	// Drain deletes the named Provisioners and waits until their nodes and machines
	// are gone, and those of Provisioners that are being deleted or gone already.
	// It takes an agent: install.ErrNoAgent.
	Drain(ctx context.Context, provisioners []string, progress func(remaining []string)) error
	// Release lets go of all nodes without draining, and returns them.
	Release(context.Context) ([]install.Node, error)
}
