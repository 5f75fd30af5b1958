// Package irsarole is the resource packhorse_irsa_role.
package irsarole

import (
	"context"
	"errors"
	"fmt"

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
		Suffix: "_irsa_role", What: "Name of the role in IAM.", Shape: resourceSchema, Names: []lifecycle.Naming{awsresource.RoleName()}, Origin: "aws_iam_role",
	}}
}

// Create creates the role, writes the state, and then adds policies, associations and annotations. If that
// fails, the state has the role, and Terraform replaces it.
func (r *irsaRole) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	ctx, cancel, account := r.Changing(ctx, m.Timeouts.Create, &resp.Diagnostics)
	defer cancel()
	if account == nil {
		return
	}
	record := issuerRecord{Derived: issuerIsDerived(ctx, req.Config, &resp.Diagnostics)}
	if err := r.complete(ctx, &m, account); err != nil {
		resp.Diagnostics.Append(r.Error(m.Name.ValueString(), err))
		return
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
		resp.Diagnostics.Append(r.Error(m.Name.ValueString(), err))
		return
	}
	lifecycle.SetName(ctx, resp.Identity, m.Name.ValueString(), &resp.Diagnostics)
	resp.Diagnostics.Append(lifecycle.Record(ctx, resp.Private, lifecycle.IssuerKey, record)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	err = account.Roles.Update(ctx, m.bareRole(), m.role())
	if err == nil {
		err = m.associate(ctx, account.Associations, model{})
	}
	if err == nil {
		err = r.annotate(ctx, model{}, m)
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
	if err != nil {
		resp.Diagnostics.Append(r.Error(m.Name.ValueString(), err))
	}
}

// Update changes the role.
func (r *irsaRole) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var before, m model
	resp.Diagnostics.Append(req.State.Get(ctx, &before)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	ctx, cancel, account := r.Changing(ctx, m.Timeouts.Update, &resp.Diagnostics)
	defer cancel()
	if account == nil {
		return
	}
	m.ARN = before.ARN
	record := issuerRecord{Derived: issuerIsDerived(ctx, req.Config, &resp.Diagnostics)}
	if err := r.complete(ctx, &m, account); err != nil {
		resp.Diagnostics.Append(r.Error(m.Name.ValueString(), err))
		return
	}
	if err := r.change(ctx, account, &before, &m); err != nil {
		reached := either(before, m)
		resp.Diagnostics.Append(resp.State.Set(ctx, &reached)...)
		resp.Diagnostics.Append(r.Error(m.Name.ValueString(), err))
		return
	}
	lifecycle.SetName(ctx, resp.Identity, m.Name.ValueString(), &resp.Diagnostics)
	resp.Diagnostics.Append(lifecycle.Record(ctx, resp.Private, lifecycle.IssuerKey, record)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// change makes the steps of an update in the order of their dependencies.
func (r *irsaRole) change(ctx context.Context, account *session.Account, before, now *model) error {
	if _, err := r.trustIssuer(ctx, account.Issuers, now); err != nil {
		return err
	}
	if err := account.Roles.Update(ctx, before.role(), now.role()); err != nil {
		return err
	}
	if err := now.associate(ctx, account.Associations, *before); err != nil {
		return err
	}
	if !now.OIDCProviderARN.Equal(before.OIDCProviderARN) {
		if err := r.dropIssuer(ctx, account.Issuers, before); err != nil {
			return err
		}
	}
	return r.annotate(ctx, *before, *now)
}

// Delete deletes the role with its declared policies, associations and annotations, and the OIDC provider with
// the last role that trusts it. The provider goes first: if that fails, the state still has the role, and with it the
// provider.
func (r *irsaRole) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	ctx, cancel, account := r.Changing(ctx, m.Timeouts.Delete, &resp.Diagnostics)
	defer cancel()
	if account == nil {
		return
	}
	err := r.annotate(ctx, m, model{})
	if err == nil {
		err = dissociate(ctx, account.Associations, m.associated())
	}
	if err == nil {
		err = r.dropIssuer(ctx, account.Issuers, &m)
	}
	if err == nil {
		err = account.Roles.Delete(ctx, m.role())
	}
	if err != nil {
		resp.Diagnostics.Append(r.Error(m.Name.ValueString(), err))
	}
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
	return r.checkAccounts(ctx, *m)
}

// checkAccounts makes sure, before anything is changed, that the ServiceAccounts to annotate exist.
func (r *irsaRole) checkAccounts(ctx context.Context, m model) error {
	if !m.AnnotateServiceAccount.ValueBool() {
		return nil
	}
	annotation, err := r.annotation(ctx)
	if err != nil {
		return err
	}
	for _, account := range m.accounts() {
		if _, err := annotation.Get(ctx, account.Namespace, account.Name); err != nil {
			return fmt.Errorf("annotate_service_account: %w", err)
		}
	}
	return nil
}

func (r *irsaRole) annotation(ctx context.Context) (session.Annotation, error) {
	cluster, err := r.Session.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	return cluster.Accounts(), nil
}

// annotate changes the annotations of ServiceAccounts from those of the state before. Those of a cluster that is gone
// are gone with it.
func (r *irsaRole) annotate(ctx context.Context, before, now model) error {
	if !before.AnnotateServiceAccount.ValueBool() && !now.AnnotateServiceAccount.ValueBool() {
		return nil
	}
	annotation, err := r.annotation(ctx)
	if errors.Is(err, session.ErrMissingCluster) && !now.AnnotateServiceAccount.ValueBool() {
		return nil
	}
	if err != nil {
		return err
	}
	wanted := map[policy.ServiceAccount]bool{}
	if now.AnnotateServiceAccount.ValueBool() {
		for _, account := range now.accounts() {
			wanted[account] = true
			if err := annotation.Set(ctx, account.Namespace, account.Name, now.ARN.ValueString()); err != nil {
				return err
			}
		}
	}
	if !before.AnnotateServiceAccount.ValueBool() {
		return nil
	}
	for _, account := range before.accounts() {
		if !wanted[account] {
			if err := annotation.Remove(ctx, account.Namespace, account.Name, before.ARN.ValueString()); err != nil {
				return err
			}
		}
	}
	return nil
}

// errNoIssuer means that the trust policy has no issuer to trust.
var errNoIssuer = errors.New("no OIDC issuer is known: set `oidc_issuer_url`, or `cluster_name` here or in the provider block")
