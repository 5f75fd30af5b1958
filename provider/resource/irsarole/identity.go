package irsarole

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	smithytime "github.com/aws/smithy-go/time"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// The values of identity: how pods get the role.
const (
	throughOIDC   = "oidc"
	byPodIdentity = "pod-identity"
	inBothWays    = "both"
)

// errNoPodCluster means that EKS Pod Identity is used without a cluster.
var errNoPodCluster = errors.New("identity: no EKS cluster is named: set `cluster_name` here or in the provider block")

// usesOIDC reports whether pods get the role through the cluster's OIDC issuer, which is the default.
func (m *model) usesOIDC() bool { return m.Identity.ValueString() != byPodIdentity }

// usesPodIdentity reports whether pods get the role through EKS Pod Identity.
func (m *model) usesPodIdentity() bool {
	return m.Identity.ValueString() == byPodIdentity || m.Identity.ValueString() == inBothWays
}

// identityOf returns the identity that a trust policy allows.
func identityOf(trust policy.Trust) types.String {
	switch {
	case trust.Cluster == "":
		return types.StringValue(throughOIDC)
	case trust.Issuer == "":
		return types.StringValue(byPodIdentity)
	}
	return types.StringValue(inBothWays)
}

// associations returns the declared pod identity associations, by namespace/name of the ServiceAccount.
func (m *model) associations() map[string]asset.Association {
	out := map[string]asset.Association{}
	if !m.usesPodIdentity() {
		return out
	}
	for _, account := range m.accounts() {
		out[account.Namespace+"/"+account.Name] = m.association(account)
	}
	return out
}

func (m *model) association(account policy.ServiceAccount) asset.Association {
	return asset.Association{Cluster: m.ClusterName.ValueString(), Account: account, Role: m.ARN.ValueString(), Tags: value.Strings(m.TagsAll)}
}

// associated returns the associations that may exist: the declared ones, and those that are left from an update
// that has failed.
func (m *model) associated() map[string]asset.Association {
	out := m.associations()
	for account := range value.Strings(m.PodIdentityAssociations) {
		namespace, name, _ := strings.Cut(account, "/")
		out[account] = m.association(policy.ServiceAccount{Namespace: namespace, Name: name})
	}
	return out
}

// associate creates, changes and deletes pod identity associations, from those of the state before. It waits until new ones
// have an effect, because resources that depend on the role may create pods at once.
func (m *model) associate(ctx context.Context, account *session.Account, before model) error {
	ids, was, known := map[string]string{}, before.associated(), value.Strings(before.PodIdentityAssociations)
	m.PodIdentityAssociations = value.Map(nil)
	created := false
	for pods, wanted := range m.associations() {
		id, err := account.Associations.Ensure(ctx, was[pods].Tags, wanted)
		if err != nil {
			return err
		}
		ids[pods] = id
		m.PodIdentityAssociations = value.Map(ids)
		created = created || known[pods] != id
		if was[pods].Cluster == wanted.Cluster {
			delete(was, pods)
		}
	}
	if err := dissociate(ctx, account.Associations, was); err != nil || !created {
		return err
	}
	_ = smithytime.SleepWithContext(ctx, account.AssociationLag) // everything is done, even if the wait ends early
	return nil
}

func dissociate(ctx context.Context, associations session.Associations, gone map[string]asset.Association) error {
	for _, association := range gone {
		if err := associations.Delete(ctx, association); err != nil {
			return err
		}
	}
	return nil
}

// refreshAssociations sets the ids of the associations that exist.
func (m *model) refreshAssociations(ctx context.Context, associations session.Associations) error {
	ids := map[string]string{}
	for account, expected := range m.associated() {
		id, err := associations.Find(ctx, expected)
		if err != nil {
			return err
		}
		if id != "" {
			ids[account] = id
		}
	}
	m.PodIdentityAssociations = value.Map(ids)
	return nil
}

// predictAssociations keeps the state's associations if none of them has to change.
func (m *model) predictAssociations(state *model) {
	declared, there := m.associations(), value.Strings(state.PodIdentityAssociations)
	m.PodIdentityAssociations = types.MapUnknown(types.StringType)
	if slices.Equal(slices.Sorted(maps.Keys(declared)), slices.Sorted(maps.Keys(there))) && (len(there) == 0 || state.ClusterName.Equal(m.ClusterName)) {
		m.PodIdentityAssociations = value.Map(there)
	}
}
