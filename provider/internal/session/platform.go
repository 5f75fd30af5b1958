package session

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard"
)

// Connect returns the platform of a provider block. It makes no request.
type Connect func(Config) Platform

// Platform is what a provider block gives access to. Connections are made on first use.
type Platform interface {
	Cluster(context.Context) (Cluster, error)
	// Region returns the AWS region from the provider block, the environment or a profile.
	Region(context.Context) (string, error)
	Account(context.Context) (*Account, error)
	// Stock returns what the cluster of the provider block can buy from AWS now, with an agent of these options.
	Stock(context.Context, offer.NodeOptions) (*Stock, error)
	// Token returns a bearer token for the cluster of the provider block.
	Token(context.Context) (token string, expires time.Time, err error)
	// Discover finds what can be imported from the cluster of the provider block.
	Discover(context.Context) (*onboard.Found, error)
	// Facts returns EKS's description of the cluster of the provider block.
	Facts(context.Context) (*asset.Cluster, error)
}

// Cluster is a Kubernetes cluster.
type Cluster interface {
	// UID identifies the cluster. It is the UID of the namespace kube-system.
	UID() types.UID
	// ARN is that of the EKS cluster that the provider block names, or empty if it names none.
	ARN() string
	// Objects returns the custom resources of a kind. Force takes fields over from other field
	// managers. Otherwise, these are conflicts.
	Objects(kind api.CustomKind, force bool) Objects
	Teardown() Teardown
	Accounts() Annotation
	Installation() Installation
	// Survey reads the whole cluster.
	Survey(context.Context) (*cluster.Survey, error)
}

// Objects declares custom resources of one kind with server-side apply. Its errors satisfy
// apierrors.IsNotFound, IsAlreadyExists or IsConflict, or meta.IsNoMatchError if the cluster does not serve
// the kind.
type Objects interface {
	Get(ctx context.Context, name string) (*unstructured.Unstructured, error)
	// Recall is like Get, but reads many objects with one request and may return a state that is
	// some seconds old. It is for a refresh.
	Recall(ctx context.Context, name string) (*unstructured.Unstructured, error)
	Create(ctx context.Context, name string, spec map[string]any) error
	// Update also removes fields that were declared before and are not declared any more.
	Update(ctx context.Context, name string, before, spec map[string]any) error
	Delete(ctx context.Context, name string, uid types.UID, propagation metav1.DeletionPropagation) error
	// Check validates an object in a dry run.
	Check(ctx context.Context, name string, spec map[string]any) error
	// List returns all objects of the kind, sorted by name.
	List(context.Context) ([]*unstructured.Unstructured, error)
}

// Teardown follows the deletion of Provisioners.
type Teardown interface {
	// Nodes returns the names of a Provisioner's nodes.
	Nodes(ctx context.Context, provisioner string) ([]string, error)
	// AgentAlive reports whether an agent leads, which can drain nodes.
	AgentAlive(ctx context.Context, now time.Time) (bool, error)
	// Wait waits until the Provisioner and its nodes are gone. If the context ends first, the
	// error names what remains.
	Wait(ctx context.Context, provisioner string, progress func(remaining []string)) error
}

// Annotation is the annotation of ServiceAccounts with an IAM role.
type Annotation interface {
	Get(ctx context.Context, namespace, name string) (arn string, err error)
	Set(ctx context.Context, namespace, name, arn string) error
	// Remove removes the annotation if it names the role.
	Remove(ctx context.Context, namespace, name, arn string) error
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

	// AssociationLag is how long a new association may have no effect.
	AssociationLag time.Duration
}

// Roles manages IAM roles. Errors are fs.ErrNotExist if there is no such role, and fs.ErrExist if there is
// one already.
type Roles interface {
	// Create creates the role without its policies. Update adds them.
	Create(context.Context, asset.Role) (arn string, err error)
	Read(ctx context.Context, name string) (role asset.Role, arn string, err error)
	// ARN returns the ARN of a role. It waits for a role that was just created.
	ARN(ctx context.Context, name string) (arn string, err error)
	Update(ctx context.Context, before, now asset.Role) error
	Delete(context.Context, asset.Role) error
	// List returns the account's roles, sorted by name. Only name, path and trust policy are set.
	List(context.Context) ([]asset.Role, error)
}

// Issuers manages the OIDC issuers of clusters and their OIDC providers in IAM.
type Issuers interface {
	// Of returns the URL of an EKS cluster's issuer.
	Of(ctx context.Context, cluster string) (url string, err error)
	// EnsureProvider makes sure that IAM has an OIDC provider for the role of the name, and reports
	// whether it has created it, for this role or another. If it is not to create one, a missing provider is fs.ErrNotExist.
	EnsureProvider(ctx context.Context, role string, wanted asset.OIDCProvider) (created bool, err error)
	HasProvider(ctx context.Context, arn string) (bool, error)
	// DeleteProvider deletes the provider if EnsureProvider has created it and only the named role
	// trusts it, or others that it was called for.
	DeleteProvider(ctx context.Context, arn, role string) error
}
