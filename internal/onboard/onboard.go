// Package onboard takes an existing cluster over: it finds what provisions nodes
// there and writes it as Terraform configuration, with import blocks for what can
// be imported and suggestions for what cannot.
package onboard

import (
	"context"
	"errors"
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

// Account reads the AWS account in the region of the cluster. What it may not read is left out, and reported by a DeniedError.
type Account interface {
	// Scope looks the cluster up by its name.
	Scope(ctx context.Context, cluster string) (Scope, error)
	// Groups returns the cluster's groups of machines that belong to no Provisioner.
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

// DeniedError says what an Account may not read, each with the permission. What it may read is returned
// with it.
type DeniedError []string

func (d DeniedError) Error() string { return strings.Join(d, "; ") }

// Has reports whether err is a DeniedError too, and adds it.
func (d *DeniedError) Has(err error) bool {
	more, ok := errors.AsType[DeniedError](err)
	*d = append(*d, more...)
	return ok
}

// Err returns nil if nothing is denied.
func (d DeniedError) Err() error {
	if len(d) == 0 {
		return nil
	}
	return d
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

// Found is what can be imported from a cluster, or is suggested.
type Found struct {
	Scope Scope
	// Items are by resource types in the order of the documentation, and by names.
	Items []Item
	// Denied is what may not be read.
	Denied DeniedError
}

// Find returns what was found in the named cluster and is, or would become, a resource of the types, such as
// packhorse_provisioner or provisioner; without types, of all. It looks up only what these need.
func Find(ctx context.Context, name string, cluster Cluster, account Account, types ...string) (*Found, error) {
	wanted, err := wantedTypes(types)
	if err != nil {
		return nil, err
	}
	scope, err := account.Scope(ctx, name)
	if err != nil {
		return nil, err
	}
	out := &Found{Scope: scope}
	if err := out.find(ctx, cluster, account, wanted); err != nil {
		return nil, err
	}
	out.Items = only(arrange(out.Items), wanted)
	return out, nil
}

func (f *Found) find(ctx context.Context, cluster Cluster, account Account, wanted map[string]bool) error {
	provisioning := wanted[provisionerResource] || wanted[profileResource]
	if provisioning {
		objects, err := readObjects(ctx, cluster, account)
		if err != nil {
			return err
		}
		f.Items = itemsOf(objects)
	}
	var roles []Role
	if wanted[roleResource] || wanted[queueResource] {
		var err error
		if roles, err = findRoles(ctx, f.Scope, account); err != nil && !f.Denied.Has(err) {
			return err
		}
		for i := range roles {
			item, err := f.Scope.roleItem(ctx, &roles[i], cluster)
			if err != nil {
				return fmt.Errorf("read the ServiceAccounts of role %s: %w", roles[i].Name, err)
			}
			f.Items = append(f.Items, item)
		}
	}
	var groups []offer.NodeGroup
	known := true
	if provisioning || wanted[nodeRoleResource] {
		var err error
		groups, err = account.Groups(ctx, f.Scope.ClusterName)
		if known = err == nil; !known && !f.Denied.Has(err) {
			return err
		}
	}
	if wanted[nodeRoleResource] {
		nodeRoles, err := account.NodeRoles(ctx, f.Scope.ClusterName)
		if err != nil && !f.Denied.Has(err) {
			return err
		}
		f.Items = append(f.Items, nodeRoleItems(nodeRoles, groups, known)...)
	}
	if wanted[queueResource] {
		queues, err := account.Queues(ctx)
		if err != nil && !f.Denied.Has(err) {
			return err
		}
		f.Items = append(f.Items, queueItems(queues, f.Scope, roles)...)
	}
	for i := range groups {
		f.Items = append(f.Items, suggestGroup(&groups[i])...)
	}
	return nil
}

// readObjects reads our kinds and Karpenter's later ones.
func readObjects(ctx context.Context, cluster Cluster, account Account) ([]karpenter.Object, error) {
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
	profiles, err := profilesOfRoles(ctx, documents, account)
	if err != nil {
		return nil, err
	}
	return karpenter.Convert(documents, profiles)
}

// findRoles returns the roles that trust the cluster's ServiceAccounts.
func findRoles(ctx context.Context, scope Scope, account Account) ([]Role, error) {
	all, err := account.Roles(ctx)
	if err != nil {
		return nil, err
	}
	var out []Role
	var left DeniedError
	for _, brief := range all {
		if !scope.trustedBy(brief.Trust) {
			continue
		}
		role, err := account.Role(ctx, brief.Name)
		switch {
		case left.Has(err):
		case err != nil:
			return nil, err
		default:
			out = append(out, role)
		}
	}
	return out, left.Err()
}

// trustedBy reports whether a trust policy names the cluster's OIDC issuer, or the
// cluster itself as one for whose pods EKS may assume the role.
func (s Scope) trustedBy(trust string) bool {
	return s.Issuer != "" && strings.Contains(trust, "oidc-provider/"+policy.IssuerPath(s.Issuer)+`"`) ||
		s.ARN != "" && strings.Contains(trust, `"`+s.ARN+`"`)
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
