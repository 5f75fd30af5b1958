// Package onboard takes an existing cluster over: it finds what provisions nodes
// there and writes it as Terraform configuration, with import blocks for what can
// be imported and suggestions for what cannot.
package onboard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/terraform"
)

// Cluster reads the cluster.
type Cluster interface {
	// Objects returns the custom resources of a kind as JSON, sorted by name; none
	// where the cluster does not serve the kind.
	Objects(context.Context, schema.GroupVersionResource) ([]map[string]any, error)
	// Newest returns those of a kind of Karpenter, in the newest version that is served.
	Newest(context.Context, schema.GroupResource) ([]map[string]any, error)
	// RoleOf returns the ARN of the role that a ServiceAccount is annotated with,
	// empty without one or if the ServiceAccount is not there.
	RoleOf(ctx context.Context, namespace, name string) (string, error)
}

// Account reads the AWS account in the region of the cluster.
type Account interface {
	// Scope looks the cluster up by its name.
	Scope(ctx context.Context, cluster string) (Scope, error)
	// Groups returns the cluster's groups of machines that no Provisioner keeps.
	Groups(ctx context.Context, cluster string) ([]offer.NodeGroup, error)
	// Roles returns all IAM roles, of which only name and trust are needed.
	Roles(context.Context) ([]Role, error)
	// Role returns a whole role.
	Role(ctx context.Context, name string) (Role, error)
	// NodeRoles returns the roles by which the cluster admits machines.
	NodeRoles(ctx context.Context, cluster string) ([]NodeRole, error)
	// ProfilesOf returns the instance profiles that hold a role, in order. A role that
	// is not there is reported as fs.ErrNotExist.
	ProfilesOf(ctx context.Context, role string) ([]asset.Profile, error)
	// Queues returns the queues that rules put interruptions of machines on.
	Queues(context.Context) ([]Queue, error)
}

// Role is an IAM role that exists.
type Role struct {
	asset.Role
	ARN string
}

// Scope says which cluster is taken over.
type Scope struct {
	ClusterName, Region string
	// ARN is that of the cluster, by which pod identity knows it.
	ARN string
	// Issuer is the URL of the cluster's OIDC issuer, empty if it has none.
	Issuer string
}

// Item is something that was found.
type Item struct {
	// Kind is what it is now: Provisioner, NodePool, managed node group, ….
	Kind, Name string
	// Resource is the resource type that it is, or would become.
	Resource string
	// ImportID is the id to import it by; empty if it cannot be imported.
	ImportID string
	// Notes are what has no counterpart, and why it cannot be imported.
	Notes []string
	// Address is that of the resource, which no other item has.
	Address string
	// Configuration is formatted HCL.
	Configuration string

	object    string               // name of the object
	arguments []terraform.Argument // but name and provider_ref
	ref       map[string]any       // reference to a node profile
	profile   string               // address of that node profile, if it is an item too
}

// Find returns everything that can be adopted in the named cluster, by resource types
// in the order of the documentation, and by names.
func Find(ctx context.Context, name string, cluster Cluster, account Account) (Scope, []Item, error) {
	scope, err := account.Scope(ctx, name)
	if err != nil {
		return scope, nil, err
	}
	items, err := find(ctx, scope, cluster, account)
	return scope, items, err
}

func find(ctx context.Context, scope Scope, cluster Cluster, account Account) ([]Item, error) {
	documents, err := readObjects(ctx, cluster)
	if err != nil {
		return nil, err
	}
	profiles, err := profilesOfRoles(ctx, documents, account)
	if err != nil {
		return nil, err
	}
	objects, err := karpenter.Convert(documents, profiles)
	if err != nil {
		return nil, err
	}
	items := itemsOf(objects)
	roles, err := findRoles(ctx, scope, account)
	if err != nil {
		return nil, err
	}
	for i := range roles {
		item, err := roleItem(ctx, &roles[i], cluster)
		if err != nil {
			return nil, fmt.Errorf("adopt role %s: %w", roles[i].Name, err)
		}
		items = append(items, item)
	}
	groups, err := account.Groups(ctx, scope.ClusterName)
	if err != nil {
		return nil, err
	}
	nodeRoles, err := account.NodeRoles(ctx, scope.ClusterName)
	if err != nil {
		return nil, err
	}
	queues, err := account.Queues(ctx)
	if err != nil {
		return nil, err
	}
	items = append(items, nodeRoleItems(nodeRoles, groups)...)
	items = append(items, queueItems(queues, scope, roles)...)
	for i := range groups {
		items = append(items, suggestGroup(&groups[i])...)
	}
	return arrange(items), nil
}

// readObjects reads our kinds and Karpenter's later ones.
func readObjects(ctx context.Context, cluster Cluster) ([]map[string]any, error) {
	var documents []map[string]any
	for _, kind := range []schema.GroupVersionResource{api.NodeTemplateGVR, api.ProvisionerGVR} {
		found, err := cluster.Objects(ctx, kind)
		if err != nil {
			return nil, err
		}
		documents = append(documents, found...)
	}
	for _, kind := range []schema.GroupResource{kinds.NodeClasses, kinds.NodePools} {
		found, err := cluster.Newest(ctx, kind)
		if err != nil {
			return nil, err
		}
		documents = append(documents, found...)
	}
	return documents, nil
}

// findRoles returns the roles that trust the cluster's ServiceAccounts.
func findRoles(ctx context.Context, scope Scope, account Account) ([]Role, error) {
	all, err := account.Roles(ctx)
	if err != nil {
		return nil, err
	}
	var out []Role
	for _, brief := range all {
		if !scope.trustedBy(brief.Trust) {
			continue
		}
		role, err := account.Role(ctx, brief.Name)
		if err != nil {
			return nil, fmt.Errorf("adopt role %s: %w", brief.Name, err)
		}
		out = append(out, role)
	}
	return out, nil
}

// trustedBy reports whether a trust policy names the cluster's OIDC issuer, or the
// cluster itself as one for whose pods EKS may assume the role.
func (s Scope) trustedBy(trust string) bool {
	if s.Issuer != "" && strings.Contains(trust, "oidc-provider/"+policy.IssuerPath(s.Issuer)) {
		return true
	}
	parsed, err := policy.ParseTrust(trust)
	return err == nil && s.ARN != "" && parsed.Cluster == s.ARN
}

// annotated reports whether all ServiceAccounts of a role carry its ARN.
func annotated(ctx context.Context, role *Role, accounts []policy.ServiceAccount, cluster Cluster) (bool, error) {
	for _, a := range accounts {
		arn, err := cluster.RoleOf(ctx, a.Namespace, a.Name)
		if err != nil || arn != role.ARN {
			return false, err
		}
	}
	return len(accounts) > 0 && !slices.ContainsFunc(accounts, func(a policy.ServiceAccount) bool { return a.Name == "" }), nil
}
