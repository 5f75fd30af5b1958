// Package irsarole is the resource packhorse_irsa_role.
package irsarole

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/awsresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// irsaRole is the resource packhorse_irsa_role.
type irsaRole struct{ awsresource.Named }

var _ lifecycle.Resource = &irsaRole{}

// New returns the resource packhorse_irsa_role.
func New() resource.Resource { return newRole() }

func newRole() *irsaRole {
	return &irsaRole{awsresource.Named{
		Base:  lifecycle.Base{Suffix: "_irsa_role", What: "Name of the role in IAM.", Shape: resourceSchema},
		Names: []lifecycle.Naming{awsresource.RoleName()}, Origin: "aws_iam_role",
	}}
}

// Create creates the role, writes the state, and then adds policies, associations and annotations. If that
// fails, the state has the role, and Terraform replaces it.
func (r *irsaRole) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	r.Change(ctx, m.Name, m.ARN, m.Timeouts.Create, &resp.Diagnostics, func(ctx context.Context, account *session.Account) error {
		record := issuerRecord{Derived: issuerIsDerived(ctx, req.Config, &resp.Diagnostics)}
		if err := r.complete(ctx, &m, account); err != nil {
			return err
		}
		m.PodIdentityAssociations = value.Map(nil)
		created, err := r.trustIssuer(ctx, account.Issuers, &m)
		if err == nil {
			var arn string
			arn, err = account.Roles.Create(ctx, m.role())
			m.ARN = types.StringValue(arn)
		}
		if err != nil && created { // maybe because the context has ended
			err = errors.Join(err, r.dropIssuer(context.WithoutCancel(ctx), account.Issuers, &m))
		}
		if err != nil {
			return err
		}
		lifecycle.SetName(ctx, resp.Identity, m.Name.ValueString(), &resp.Diagnostics)
		resp.Diagnostics.Append(lifecycle.Record(ctx, resp.Private, lifecycle.IssuerKey, record)...)
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		err = account.Roles.Update(ctx, m.bareRole(), m.role())
		if err == nil {
			err = m.associate(ctx, account, model{})
		}
		if err == nil {
			err = r.annotate(ctx, &m)
		}
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		return err
	})
}

// Update changes the role.
func (r *irsaRole) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var before, m model
	resp.Diagnostics.Append(req.State.Get(ctx, &before)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	r.Change(ctx, m.Name, before.ARN, m.Timeouts.Update, &resp.Diagnostics, func(ctx context.Context, account *session.Account) error {
		record := issuerRecord{Derived: issuerIsDerived(ctx, req.Config, &resp.Diagnostics)}
		var err error
		if m.ARN, err = before.KnownARN(ctx, account.Roles.ARN); err == nil {
			err = r.complete(ctx, &m, account)
		}
		if err != nil {
			return err
		}
		if err := r.change(ctx, account, &before, &m); err != nil {
			reached := either(before, m)
			resp.Diagnostics.Append(resp.State.Set(ctx, &reached)...)
			return err
		}
		lifecycle.SetName(ctx, resp.Identity, m.Name.ValueString(), &resp.Diagnostics)
		resp.Diagnostics.Append(lifecycle.Record(ctx, resp.Private, lifecycle.IssuerKey, record)...)
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		return nil
	})
}

// change makes the steps of an update in the order of their dependencies. It takes annotations back first: once the
// role does not trust a ServiceAccount any more, a refresh does not know that the ServiceAccount has been declared.
func (r *irsaRole) change(ctx context.Context, account *session.Account, before, now *model) error {
	if err := r.takeBack(ctx, before, now); err != nil {
		return err
	}
	if _, err := r.trustIssuer(ctx, account.Issuers, now); err != nil {
		return err
	}
	if err := account.Roles.Update(ctx, before.role(), now.role()); err != nil {
		return err
	}
	if err := now.associate(ctx, account, *before); err != nil {
		return err
	}
	if !now.OIDCProviderARN.Equal(before.OIDCProviderARN) {
		if err := r.dropIssuer(ctx, account.Issuers, before); err != nil {
			return err
		}
	}
	return r.annotate(ctx, now)
}

// Delete deletes the role with its declared policies, associations and annotations, and the OIDC provider with
// the last role that trusts it. The provider goes first: if that fails, the state still has the role, and with it the
// provider.
func (r *irsaRole) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	r.Change(ctx, m.Name, m.ARN, m.Timeouts.Delete, &resp.Diagnostics, func(ctx context.Context, account *session.Account) error {
		err := r.takeBack(ctx, &m, &model{})
		if err == nil {
			err = dissociate(ctx, account.Associations, m.associated())
		}
		if err == nil {
			err = r.dropIssuer(ctx, account.Issuers, &m)
		}
		if err == nil {
			err = account.Roles.Delete(ctx, m.role())
		}
		return err
	})
}

// complete looks up what the configuration does not set, and sets everything that follows from it.
func (r *irsaRole) complete(ctx context.Context, m *model, account *session.Account) error {
	if m.ClusterName.IsUnknown() {
		m.ClusterName = value.TextOrNull(r.Session.Config.ClusterName)
	}
	switch {
	case !m.usesOIDC():
		m.OIDCIssuerURL = types.StringNull()
	case m.OIDCIssuerURL.ValueString() == "":
		if m.ClusterName.ValueString() == "" {
			return errNoIssuer
		}
		url, err := account.Issuers.Of(ctx, m.ClusterName.ValueString())
		if err != nil {
			return err
		}
		m.OIDCIssuerURL = types.StringValue(url)
	}
	nodeRoles, err := awsresource.RoleARNs(ctx, account.Roles.ARN, m.NodeRoles)
	if err != nil {
		return err
	}
	if err := m.settle(account, nodeRoles); err != nil {
		return err
	}
	m.TagsAll = r.WithDefaultTags(m.Tags)
	return r.checkAccounts(ctx, m)
}

// checkAccounts makes sure, before anything is changed, that the ServiceAccounts to annotate exist. The cluster may be as
// new as the role.
func (r *irsaRole) checkAccounts(ctx context.Context, m *model) error {
	if len(m.annotated()) > 0 {
		if _, err := r.Session.AwaitCluster(ctx); err != nil {
			return err
		}
	}
	return r.eachAccount(ctx, m.annotated(), func(annotation session.Annotation, account policy.ServiceAccount) error {
		if _, err := annotation.Get(ctx, account.Namespace, account.Name); err != nil {
			return fmt.Errorf("annotate_service_account: %w", err)
		}
		return nil
	})
}

// annotate writes the annotations that the model declares.
func (r *irsaRole) annotate(ctx context.Context, m *model) error {
	return r.eachAccount(ctx, m.annotated(), func(annotation session.Annotation, account policy.ServiceAccount) error {
		return annotation.Set(ctx, account.Namespace, account.Name, m.ARN.ValueString())
	})
}

// takeBack removes the annotations of the state before, except those that stay declared. The state says that none is
// declared if only one is missing, such as after an update that has failed. Those of a cluster that is gone are gone with
// it.
func (r *irsaRole) takeBack(ctx context.Context, before, now *model) error {
	if !before.AnnotateServiceAccount.ValueBool() && !now.AnnotateServiceAccount.ValueBool() {
		return nil
	}
	kept := now.annotated()
	gone := slices.DeleteFunc(before.accounts(), func(account policy.ServiceAccount) bool { return slices.Contains(kept, account) })
	err := r.eachAccount(ctx, gone, func(annotation session.Annotation, account policy.ServiceAccount) error {
		return annotation.Remove(ctx, account.Namespace, account.Name, before.ARN.ValueString())
	})
	if session.Unnamed(err) && before.ClusterName.ValueString() != "" {
		if _, found := r.Session.Naming(before.ClusterName.ValueString()).Cluster(ctx); errors.Is(found, session.ErrMissingCluster) {
			err = found
		}
	}
	if errors.Is(err, session.ErrMissingCluster) && !now.AnnotateServiceAccount.ValueBool() {
		return nil
	}
	return err
}

// eachAccount calls change for each ServiceAccount. It needs the cluster only if there are any.
func (r *irsaRole) eachAccount(ctx context.Context, accounts []policy.ServiceAccount, change func(session.Annotation, policy.ServiceAccount) error) error {
	if len(accounts) == 0 {
		return nil
	}
	annotation, err := r.annotation(ctx)
	for _, account := range accounts {
		if err == nil {
			err = change(annotation, account)
		}
	}
	return err
}

func (r *irsaRole) annotation(ctx context.Context) (session.Annotation, error) {
	cluster, err := r.Session.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	return cluster.Accounts(), nil
}

// errNoIssuer means that the trust policy has no issuer to trust.
var errNoIssuer = errors.New("no OIDC issuer is known: set `oidc_issuer_url`, or `cluster_name` here or in the provider block")
