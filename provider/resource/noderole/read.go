package noderole

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/awsresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// Read refreshes the state from IAM and EKS.
func (r *nodeRole) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
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
		imported := awsresource.Imported(m.ARN)
		m.ARN = types.StringValue(arn)
		if imported {
			err = r.takeAll(ctx, &m, live, account)
		}
		resp.Diagnostics.Append(lifecycle.Record(ctx, resp.Private, lifecycle.DeclaredKey, true)...)
		if err == nil {
			m.RefreshRole(live)
			m.NodePolicyARNs = awsresource.Attached(m.NodePolicyARNs, live)
			err = m.refreshProfile(ctx, account.Profiles)
		}
		if err == nil {
			err = m.refreshEntry(ctx, account.Entries)
		}
		if err != nil {
			return err
		}
		resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
		return nil
	})
}

// takeAll sets the attributes of an imported role to everything that it has.
func (r *nodeRole) takeAll(ctx context.Context, m *model, live asset.Role, account *session.Account) error {
	needed := policy.NodePolicies(account.Partition, true)
	network := needed[len(needed)-1]
	m.CNIPolicy = types.BoolValue(slices.Contains(live.Attached, network))
	m.NodePolicyARNs = value.Set(needed)
	others := slices.DeleteFunc(slices.Clone(live.Attached), func(arn string) bool { return slices.Contains(needed, arn) })
	if len(others) > 0 {
		m.PolicyARNs = value.Set(others)
	}
	m.Policies = awsresource.Documents(live.Inline, false)
	m.Tags, m.TagsAll = awsresource.ImportedTags(live.Tags, r.Session.Config.DefaultTags)
	m.ClusterName = value.TextOrNull(r.Session.Config.ClusterName)
	m.AccessEntry = types.StringValue(linuxEntry)
	if m.ClusterName.IsNull() {
		m.AccessEntry = types.StringValue(noEntry)
	}
	held, err := account.Profiles.Holding(ctx, live.Name)
	if err != nil {
		return err
	}
	if m.InstanceProfile = m.Name; len(held) > 0 && !slices.Contains(held, live.Name) {
		m.InstanceProfile = types.StringValue(held[0])
	}
	return nil
}

// refreshProfile reads the instance profile. If it is gone or has another role, the name becomes empty, so that
// the plan creates it again.
func (m *model) refreshProfile(ctx context.Context, profiles session.Profiles) error {
	name := m.InstanceProfile.ValueString()
	if name == "" {
		return nil
	}
	live, arn, err := profiles.Read(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && live.Role != m.Name.ValueString():
		m.InstanceProfile, m.InstanceProfileARN = types.StringValue(""), types.StringNull()
		return nil
	case err != nil:
		return err
	}
	m.InstanceProfileARN = types.StringValue(arn)
	return nil
}

// refreshEntry sets access_entry to the type of the live access entry.
func (m *model) refreshEntry(ctx context.Context, entries session.Entries) error {
	declared := m.entry()
	if declared.Type == "" {
		return nil
	}
	live, err := entries.Read(ctx, declared.Cluster, declared.Principal)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		m.AccessEntry = types.StringValue(noEntry)
		return nil
	case err != nil:
		return err
	}
	m.AccessEntry = types.StringValue(live.Type)
	return nil
}
