package irsarole

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/awsresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// Read refreshes the state from IAM.
func (r *irsaRole) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	name := m.Name.ValueString()
	r.Refresh(ctx, name, m.ARN, resp, func(ctx context.Context, account *session.Account) error {
		live, arn, err := account.Roles.Read(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			resp.State.RemoveResource(ctx)
			return nil
		}
		if err != nil {
			return err
		}
		record := lifecycle.Recorded[issuerRecord](ctx, req.Private, lifecycle.IssuerKey, &resp.Diagnostics)
		if awsresource.Imported(m.ARN) {
			resp.Diagnostics.Append(m.takeAll(live, account, r.Session.Config.DefaultTags)...)
		}
		if record == nil {
			record = &issuerRecord{Derived: r.adoptCluster(ctx, account.Issuers, &m)}
			resp.Diagnostics.Append(lifecycle.Record(ctx, resp.Private, lifecycle.IssuerKey, record)...)
		}
		r.refreshIssuer(ctx, account.Issuers, *record, &m)
		m.ARN = types.StringValue(arn)
		m.refresh(live)
		if err := r.refreshProvider(ctx, account.Issuers, &m); err != nil {
			resp.Diagnostics.Append(r.Error(name, err))
		}
		if err := m.refreshAssociations(ctx, account.Associations); err != nil {
			resp.Diagnostics.Append(r.Error(name, err))
		}
		if err := r.refreshAnnotation(ctx, &m); errors.Is(err, session.ErrMissingCluster) {
			m.AnnotateServiceAccount = types.BoolValue(false)
			resp.Diagnostics.AddWarning(fmt.Sprintf("IAM role %s: its ServiceAccounts are gone with their cluster: %s", name, err),
				"If you did not intend this, correct the provider block.")
		} else if session.Unnamed(err) && m.ClusterName.ValueString() != "" { // as during a destroy
			resp.Diagnostics.Append(lifecycle.NotRefreshed(fmt.Sprintf("The annotation with IAM role %s", name), err))
		} else if err != nil {
			resp.Diagnostics.Append(r.Error(name, err))
		}
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		return nil
	})
}

// takeAll sets the attributes of an imported role to everything that it has.
func (m *model) takeAll(live asset.Role, account *session.Account, defaults map[string]string) diag.Diagnostics {
	var diags diag.Diagnostics
	own, preset := map[string]string{}, map[string]string{}
	for name, document := range live.Inline {
		if slices.Contains(policy.Names, name) {
			preset[name] = document
		} else {
			own[name] = document
		}
	}
	m.Identity = types.StringValue(throughOIDC)
	m.PresetPolicies = awsresource.Documents(preset, true)
	m.Policies = awsresource.Documents(own, false)
	m.adoptPreset(preset, account)
	if len(live.Attached) > 0 {
		m.PolicyARNs = value.Set(live.Attached)
	}
	m.Tags, m.TagsAll = awsresource.ImportedTags(live.Tags, defaults)
	trust, err := policy.ParseTrust(live.Trust)
	if err != nil {
		diags.AddWarning(fmt.Sprintf("IAM role %s trusts others than ServiceAccounts, or under other conditions", live.Name),
			fmt.Sprintf("The next apply replaces its trust policy: %s.", err))
		return diags
	}
	m.OIDCIssuerURL = value.TextOrNull(trust.Issuer)
	m.OIDCProviderARN = value.TextOrNull(trust.Provider)
	if _, cluster, ok := strings.Cut(trust.Cluster, ":cluster/"); ok {
		m.ClusterName = types.StringValue(cluster)
	}
	return diags
}

// adoptCluster reports whether a role without a record trusts the issuer of its cluster, so that the issuer can be looked up
// by the name of the cluster. If the role does not tell its cluster, that is the one of the provider block.
func (r *irsaRole) adoptCluster(ctx context.Context, issuers session.Issuers, m *model) (derived bool) {
	name := cmp.Or(m.ClusterName.ValueString(), r.Session.Config.ClusterName)
	if name == "" || m.OIDCIssuerURL.IsNull() {
		return false
	}
	url, err := issuers.Of(ctx, name)
	if err != nil || policy.IssuerPath(url) != policy.IssuerPath(m.OIDCIssuerURL.ValueString()) {
		return false
	}
	m.ClusterName = types.StringValue(name)
	return true
}

// adoptPreset recognises the preset agent by its policies, and reads its arguments from them.
func (m *model) adoptPreset(preset map[string]string, account *session.Account) {
	if len(preset) == 0 {
		return
	}
	m.Preset = types.StringValue(presetAgent)
	facts := policy.ParseAgent(preset)
	m.ClusterName = value.TextOrNull(facts.Cluster)
	m.InterruptionQueueARN = value.TextOrNull(facts.Queue)
	if facts.NodePools {
		m.NodePools = types.BoolValue(true)
	}
	if roles := policy.RoleNames(facts.NodeRoles, fmt.Sprintf("arn:%s:iam::%s", account.Partition, account.ID)); len(roles) > 0 {
		m.NodeRoles = value.Set(roles)
	}
}

// refresh sets the declared attributes to the live values.
func (m *model) refresh(live asset.Role) {
	m.RefreshRole(live)
	m.MaxSessionDuration = types.Int64Value(int64(live.MaxSession))
	if trust, err := policy.ParseTrust(live.Trust); err == nil {
		m.ServiceAccounts = accountSet(trust.Accounts)
		m.Identity = identityOf(trust)
	}
	m.PresetPolicies = awsresource.Documents(awsresource.Common(value.Strings(m.PresetPolicies), live.Inline), true)
}

// refreshAnnotation sets annotate_service_account to false if a ServiceAccount is not annotated.
func (r *irsaRole) refreshAnnotation(ctx context.Context, m *model) error {
	if !m.AnnotateServiceAccount.ValueBool() {
		return nil
	}
	annotation, err := r.annotation(ctx)
	if err != nil {
		return err
	}
	for _, account := range m.accounts() {
		arn, err := annotation.Get(ctx, account.Namespace, account.Name)
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		if arn != m.ARN.ValueString() {
			m.AnnotateServiceAccount = types.BoolValue(false)
		}
	}
	return nil
}
