package session

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Installation manages the agent's own objects in the cluster.
type Installation interface {
	// Read returns the live object for each declared one, and nil for those that do not exist.
	Read(ctx context.Context, declared []*unstructured.Unstructured) ([]*unstructured.Unstructured, error)
	// Check validates the objects in a dry run. Objects whose namespace or definition does not
	// exist yet are not checked.
	Check(ctx context.Context, objects []*unstructured.Unstructured, force bool) error
	// Apply declares the objects in order, and waits until each definition is served. Force
	// takes fields over from other field managers.
	Apply(ctx context.Context, objects []*unstructured.Unstructured, force bool) error
	// Withdraw removes from the Deployment, after Apply, what it was declared with before and is not any more, also if
	// another field manager has declared it too.
	Withdraw(ctx context.Context, before, now *appsv1.Deployment) error
	// Await waits until all replicas are available and one leads. If the context ends first, the
	// error says what is missing.
	Await(ctx context.Context, namespace, name string, progress func(string)) (install.Status, error)
	Status(ctx context.Context, namespace, name string, now time.Time) (install.Status, error)
	// Others returns the other installations in the cluster, as namespace/name.
	Others(ctx context.Context, namespace, name string) ([]string, error)
	// NodeOptions returns the options of the cluster's agent that size nodes: the defaults without an agent.
	NodeOptions(context.Context) (offer.NodeOptions, error)
	// Webhooks returns the configurations of Karpenter's admission webhooks, as `kubectl delete` takes them.
	Webhooks(context.Context) ([]string, error)
	// Machines reports whether the cluster has the kind Machine of Karpenter 0.28 to 0.32.
	Machines() (bool, error)
	// Remove deletes the objects in reverse order and waits until they are gone. It keeps a
	// namespace that contains other objects, and returns these and the kinds that it may not list.
	// If a namespace is empty and only the cluster can end its deletion, the error is
	// install.ErrTerminating.
	Remove(ctx context.Context, objects []*unstructured.Unstructured) (kept []string, err error)
	// RemoveLease deletes the Lease of leader election in the agent's namespace.
	RemoveLease(ctx context.Context, namespace string) error

	// Holdings returns what depends on the installation.
	Holdings(context.Context) (install.Holdings, error)
	// Drain deletes the named Provisioners, and waits until their nodes are gone, and the nodes of
	// Provisioners that are being deleted or are gone already. If there are such nodes, or one of these
	// Provisioners has the agent's finalizer, and no agent leads, it deletes nothing and returns install.ErrNoAgent.
	Drain(ctx context.Context, provisioners []string, progress func(remaining []string)) error
	// AgentAlive reports whether an agent leads, which can drain nodes.
	AgentAlive(ctx context.Context, now time.Time) (bool, error)
	// MayScaleBack returns the error that Release would return because it could not scale Deployments back.
	MayScaleBack(context.Context) error
	// Release removes what makes nodes and Provisioners depend on an agent, without draining. It
	// returns the nodes.
	Release(context.Context) ([]install.Node, error)
}
