package session

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard"
)

// Connect prepares what a provider block gives access to. It calls nothing.
type Connect func(Config) Platform

// Platform is what a provider block gives access to, connected on first use.
type Platform interface {
	Cluster(context.Context) (Cluster, error)
	// Region is that of all calls of AWS, as the provider block, the environment or a
	// profile says.
	Region(context.Context) (string, error)
	Account(context.Context) (*Account, error)
	// Stock is what AWS sells now to the cluster of the provider block.
	Stock(context.Context) (*Stock, error)
	// Token is a bearer token for the cluster of the provider block, and when it expires.
	Token(context.Context) (Token, error)
	// Discover finds what can be adopted in the cluster of the provider block.
	Discover(context.Context) ([]onboard.Item, error)
	// Facts are what EKS says of the cluster of the provider block.
	Facts(context.Context) (*Facts, error)
}

// Cluster is the API server.
type Cluster interface {
	// UID is that of the namespace kube-system: another one is another cluster.
	UID() types.UID
	// Objects are the custom resources of a kind, leaving fields to other managers.
	Objects(Kind) Objects
	// Forced are the same, taking fields away from other managers.
	Forced(Kind) Objects
	Teardown() Teardown
	Accounts() Annotation
	Installation() Installation
	// Survey reads the whole cluster.
	Survey(context.Context) (*cluster.Survey, error)
}

// Kind is a cluster-scoped kind of custom resource.
type Kind struct {
	Name     string // such as Provisioner
	Resource schema.GroupVersionResource
}

// Manager says in whose name fields are declared.
type Manager struct {
	Name string
	// Force takes fields away from other managers instead of reporting a conflict.
	Force bool
}

// Objects declares custom resources of one kind by server-side apply. Errors are
// those of the API server: apierrors.IsNotFound, IsAlreadyExists and IsConflict
// tell them apart, and meta.IsNoMatchError a kind that is not installed.
type Objects interface {
	Get(ctx context.Context, name string) (*unstructured.Unstructured, error)
	// Recall is Get for a refresh: many are read by one request, and may be some
	// seconds old.
	Recall(ctx context.Context, name string) (*unstructured.Unstructured, error)
	Create(ctx context.Context, name string, spec map[string]any) error
	// Update also removes what was declared before and is not any more.
	Update(ctx context.Context, name string, before, spec map[string]any) error
	Delete(ctx context.Context, name string, uid types.UID, propagation metav1.DeletionPropagation) error
	// Check lets the API server judge an object without storing it.
	Check(ctx context.Context, name string, spec map[string]any) error
	// List returns all objects of the kind, in the order of their names.
	List(context.Context) ([]*unstructured.Unstructured, error)
}

// Teardown follows the removal of Provisioners.
type Teardown interface {
	// Nodes returns the names of a Provisioner's nodes.
	Nodes(ctx context.Context, provisioner string) ([]string, error)
	// AgentAlive reports whether an agent is at work that drains nodes.
	AgentAlive(ctx context.Context, now time.Time) (bool, error)
	// Wait returns once the Provisioner and its nodes are gone, or with an error
	// that names what remains when the context ends.
	Wait(ctx context.Context, provisioner string, progress func(remaining []string)) error
}

// Annotation is the role that ServiceAccounts are annotated with.
type Annotation interface {
	Get(ctx context.Context, namespace, name string) (arn string, err error)
	Set(ctx context.Context, namespace, name, arn string) error
	Remove(ctx context.Context, namespace, name string) error
}

// Account is an AWS account in one region.
type Account struct {
	Partition, ID, Region string

	Roles        Roles
	Issuers      Issuers
	Profiles     Profiles
	Entries      Entries
	Associations Associations
	Queues       Queues
}

// Roles keeps IAM roles. A role that is not there is fs.ErrNotExist, one that is
// there already fs.ErrExist.
type Roles interface {
	// Create creates the role itself; Update from no policies adds them.
	Create(context.Context, asset.Role) (arn string, err error)
	Read(ctx context.Context, name string) (role asset.Role, arn string, err error)
	// ARN finds a role, which may just have been made, by its name.
	ARN(ctx context.Context, name string) (arn string, err error)
	Update(ctx context.Context, before, now asset.Role) error
	Delete(context.Context, asset.Role) error
	// List returns the account's roles, of which only name, path and trust are
	// filled in, in the order of their names.
	List(context.Context) ([]asset.Role, error)
}

// Issuers are the OIDC issuers of clusters, and what IAM knows of them.
type Issuers interface {
	// Of returns the URL of an EKS cluster's issuer.
	Of(ctx context.Context, cluster string) (url string, err error)
	// EnsureProvider makes IAM trust the issuer. A provider that is missing is
	// made for the owning role; without an owner it is fs.ErrNotExist.
	EnsureProvider(ctx context.Context, issuer, arn, owner string, tags map[string]string) (created bool, err error)
	// DeleteProvider deletes the provider if the role has made it.
	DeleteProvider(ctx context.Context, arn, owner string) error
}
