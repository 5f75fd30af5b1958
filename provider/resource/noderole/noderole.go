// Package noderole is the resource packhorse_node_role.
package noderole

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/awsresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// nodeRole is the resource packhorse_node_role.
type nodeRole struct{ awsresource.Named }

var _ lifecycle.Resource = &nodeRole{}

// New returns the resource packhorse_node_role.
func New() resource.Resource {
	return &nodeRole{awsresource.Named{
		Base:  lifecycle.Base{Suffix: "_node_role", What: "Name of the role in IAM.", Shape: resourceSchema},
		Names: []lifecycle.Naming{awsresource.RoleName(), profileName()}, Origin: "aws_iam_role",
	}}
}

// Create creates the role, and then adds policies, instance profile and access entry. If that fails, the state
// has what was created, and Terraform replaces the role.
func (r *nodeRole) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	r.Change(ctx, m.Name, m.ARN, m.Timeouts.Create, &resp.Diagnostics, func(ctx context.Context, account *session.Account) error {
		if err := r.complete(&m, account); err != nil {
			return err
		}
		arn, err := account.Roles.Create(ctx, m.role())
		if err != nil {
			return err
		}
		m.ARN = types.StringValue(arn)
		lifecycle.SetName(ctx, resp.Identity, m.Name.ValueString(), &resp.Diagnostics)
		resp.Diagnostics.Append(lifecycle.Record(ctx, resp.Private, lifecycle.DeclaredKey, true)...)
		reached, err := r.change(ctx, account, m.bare(), m, true)
		resp.Diagnostics.Append(resp.State.Set(ctx, &reached)...)
		return err
	})
}

// Update changes the role.
func (r *nodeRole) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var before, m model
	resp.Diagnostics.Append(req.State.Get(ctx, &before)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	r.Change(ctx, m.Name, before.ARN, m.Timeouts.Update, &resp.Diagnostics, func(ctx context.Context, account *session.Account) error {
		var err error
		if m.ARN, err = before.KnownARN(ctx, account.Roles.ARN); err == nil {
			err = r.complete(&m, account)
		}
		if err != nil {
			return err
		}
		reached, err := r.change(ctx, account, before, m, false)
		recorded := leftProfiles(ctx, req.Private, &resp.Diagnostics)
		left := leave(recorded, before.InstanceProfile, reached.InstanceProfile)
		if err != nil && !errors.As(err, new(takenError)) {
			left = leave(left, m.InstanceProfile, reached.InstanceProfile) // its creation may have taken effect
		}
		if !slices.Equal(left, recorded) {
			resp.Diagnostics.Append(lifecycle.Record(ctx, resp.Private, lifecycle.ProfilesKey, left)...)
		}
		lifecycle.SetName(ctx, resp.Identity, m.Name.ValueString(), &resp.Diagnostics)
		resp.Diagnostics.Append(resp.State.Set(ctx, &reached)...)
		return err
	})
}

// change makes the steps of an update in the order of their dependencies: policies first, so that no machine
// starts without them. It returns the state that was reached, also after an error. The role is new if it was created just now.
func (r *nodeRole) change(ctx context.Context, account *session.Account, before, now model, isNew bool) (reached model, err error) {
	reached = now
	reached.InstanceProfile, reached.InstanceProfileARN = before.InstanceProfile, before.InstanceProfileARN
	reached.AccessEntry, reached.ClusterName = before.AccessEntry, before.ClusterName
	if err := account.Roles.Update(ctx, before.role(), now.role()); err != nil {
		return either(before, now), err
	}
	arn, err := changeProfile(ctx, account.Profiles, before.profile(), now.profile())
	if err == nil || before.profile().Name == "" && !errors.As(err, new(takenError)) {
		// A creation that failed or was interrupted may have taken effect.
		reached.InstanceProfile = now.InstanceProfile
	}
	if err != nil {
		reached.TagsAll = awsresource.EitherTags(before.TagsAll, now.TagsAll)
		return reached, err
	}
	if arn != "" {
		reached.InstanceProfileARN = types.StringValue(arn)
	}
	err = changeEntry(ctx, account.Entries, before.entry(), now.entry(), isNew)
	if err == nil || before.entry().Type == "" && !errors.As(err, new(takenError)) {
		reached.AccessEntry, reached.ClusterName = now.AccessEntry, now.ClusterName
	}
	if err != nil {
		reached.TagsAll = awsresource.EitherTags(before.TagsAll, now.TagsAll)
	}
	return reached, err
}

// changeProfile creates the instance profile, or updates it. It leaves one of another name, because the credentials of
// machines that were launched with it end once it has no role. It returns the ARN of a new one.
func changeProfile(ctx context.Context, profiles session.Profiles, was, is asset.Profile) (arn string, err error) {
	if was.Name == is.Name {
		return "", profiles.Update(ctx, was, is)
	}
	arn, err = profiles.Create(ctx, is)
	if errors.Is(err, fs.ErrExist) {
		arn, err = fillProfile(ctx, profiles, is)
	}
	return arn, err
}

// fillProfile adds the role to an existing profile, whose other tags stay. It is a takenError if the profile has
// another role.
func fillProfile(ctx context.Context, profiles session.Profiles, wanted asset.Profile) (arn string, err error) {
	live, arn, err := profiles.Read(ctx, wanted.Name)
	switch {
	case err != nil:
		return "", err
	case live.Role == wanted.Role || live.Role == "":
		live.Tags = nil
		return arn, profiles.Update(ctx, live, wanted)
	}
	return "", profileTaken(live)
}

// changeEntry creates the access entry, updates it, or replaces it.
func changeEntry(ctx context.Context, entries session.Entries, was, is asset.Entry, isNew bool) error {
	if was.Type == is.Type && was.Cluster == is.Cluster {
		if is.Type == "" {
			return nil
		}
		return entries.Update(ctx, was, is)
	}
	if was.Type != "" {
		if err := entries.Delete(ctx, was.Cluster, was.Principal); err != nil {
			return err
		}
	}
	if is.Type == "" {
		return nil
	}
	err := entries.Create(ctx, is)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if isNew {
		return replaceEntry(ctx, entries, is)
	}
	return takenError(fmt.Sprintf("cluster %s already has an access entry for the role: delete it, or set `access_entry = \"none\"` to keep it as it is", is.Cluster))
}

// replaceEntry replaces the access entry that an earlier role of the name has left. EKS binds an entry to the unique id
// of its role, so that it does not admit the machines of a new one. An entry of another type than for machines is not
// ours to delete.
func replaceEntry(ctx context.Context, entries session.Entries, wanted asset.Entry) error {
	left, err := entries.Read(ctx, wanted.Cluster, wanted.Principal)
	if err != nil {
		return err
	}
	if left.Type != linuxEntry && left.Type != windowsEntry {
		return takenError(fmt.Sprintf("cluster %s has an access entry of type %s for an earlier role of the name: delete it", wanted.Cluster, left.Type))
	}
	if err := entries.Delete(ctx, wanted.Cluster, wanted.Principal); err != nil {
		return err
	}
	return entries.Create(ctx, wanted)
}

// Delete deletes the access entry, the instance profiles, and the role with its declared policies.
func (r *nodeRole) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m model
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	r.Change(ctx, m.Name, m.ARN, m.Timeouts.Delete, &resp.Diagnostics, func(ctx context.Context, account *session.Account) error {
		var err error
		if entry := m.entry(); entry.Type != "" {
			err = account.Entries.Delete(ctx, entry.Cluster, entry.Principal)
		}
		if profile := m.profile(); err == nil && profile.Name != "" {
			err = account.Profiles.Delete(ctx, profile)
		}
		for _, name := range leftProfiles(ctx, req.Private, &resp.Diagnostics) {
			if err == nil {
				err = deleteLeft(ctx, account.Profiles, name, m.Name.ValueString())
			}
		}
		if err == nil {
			err = account.Roles.Delete(ctx, m.role())
		}
		return err
	})
}

// complete sets everything that follows from the configuration and the account.
func (r *nodeRole) complete(m *model, account *session.Account) error {
	if m.ClusterName.IsUnknown() {
		m.ClusterName = value.TextOrNull(r.Session.Config.ClusterName)
	}
	if m.entry().Type != "" && m.ClusterName.ValueString() == "" {
		return errNoEntryCluster
	}
	m.TagsAll = r.WithDefaultTags(m.Tags)
	return m.settle(account)
}

// errNoEntryCluster means that an access entry is declared without a cluster.
var errNoEntryCluster = errors.New("access_entry: no EKS cluster is named: set `cluster_name` here or in the provider block, or `access_entry = \"none\"`")

// profileName returns the naming of the instance profile. A name is taken if the profile has another role.
func profileName() lifecycle.Naming {
	return lifecycle.Naming{Attribute: "instance_profile", Title: "instance profile", LookUp: func(ctx context.Context, account *session.Account, name string, plan tfsdk.Plan) (diag.Diagnostic, error) {
		live, _, err := account.Profiles.Read(ctx, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, err
		case live.Role == "" || live.Role == lifecycle.Text(ctx, plan.GetAttribute, "name"):
			return nil, nil
		}
		return diag.NewAttributeErrorDiagnostic(path.Root("instance_profile"), "instance_profile: "+profileTaken(live).Error(), ""), nil
	}}
}

// profileTaken returns the takenError of a profile that has another role.
func profileTaken(live asset.Profile) error {
	return takenError(fmt.Sprintf("instance profile %s already exists and has the role %s: set another name in `instance_profile`, or delete it", live.Name, live.Role))
}

// takenError means that something of the name exists and is used by somebody else.
type takenError string

func (e takenError) Error() string { return string(e) }
