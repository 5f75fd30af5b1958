package session

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ErrNoAgent says that nobody is there to drain nodes.
var ErrNoAgent = errors.New("no agent is running that could drain them")

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
	Await(ctx context.Context, namespace, name string, progress func(string)) (AgentStatus, error)
	Status(ctx context.Context, namespace, name string) (AgentStatus, error)
	// Remove deletes the objects, the last first, and waits. A namespace in which
	// others have something is kept, and what that is returned.
	Remove(ctx context.Context, objects []*unstructured.Unstructured) (kept []string, err error)
	// RemoveLease deletes the Lease that the agent has made in its namespace.
	RemoveLease(ctx context.Context, namespace string) error

	// Holdings are what depends on the installation, whoever has declared it.
	Holdings(context.Context) (Holdings, error)
	// Drain deletes the named Provisioners and waits until their nodes and machines
	// are gone, and those of Provisioners that are being deleted or gone already.
	// It takes an agent: ErrNoAgent.
	Drain(ctx context.Context, provisioners []string, progress func(remaining []string)) error
	// Release lets go of all nodes without draining, and returns them.
	Release(context.Context) ([]AgentNode, error)
}

// AgentStatus is how an installation is doing.
type AgentStatus struct {
	Leader      string
	ImageDigest string
	// Definitions maps the names of definitions to the versions in which objects
	// may be stored.
	Definitions map[string][]string
	Waiting     string
	Troubles    []string
}

// Holdings are the custom resources of the installation's definitions and the nodes
// that agents have bought for them.
type Holdings struct {
	Objects []AgentObject
	Nodes   []AgentNode
}

// AgentObject is a Provisioner or a node profile. Leaving says that it is being
// deleted.
type AgentObject struct {
	Kind, Name string
	Leaving    bool
}

// AgentNode is a node that an agent has bought.
type AgentNode struct{ Name, Instance, Provisioner string }
