package iam

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
)

// roleIn returns the role that an input names or NoSuchEntity.
func roleIn[In any](c *IAM, in *In) (*Role, error) {
	name := account.TextMember(in, "RoleName")
	r := c.Directory.Roles[name]
	if r == nil || c.UnheardOf(r.created) {
		return nil, noSuchEntity("The role with name %s cannot be found.", name)
	}
	return r, nil
}

func parseTrust(text string) (policy.Document, error) {
	document, err := policy.Parse(text, policy.Trust)
	if err != nil {
		return policy.Document{}, account.Fail("MalformedPolicyDocument", "%s", err)
	}
	if sizeOf(text) > maxTrustPolicySize {
		return policy.Document{}, conflict("LimitExceeded", "Cannot exceed quota for ACLSizePerRole: %d", maxTrustPolicySize)
	}
	return document, nil
}

func (c *IAM) createRole(_ *account.Caller, in *iam.CreateRoleInput) (*iam.CreateRoleOutput, error) {
	name := account.Deref(in.RoleName)
	if err := checkName("roleName", name, 64); err != nil {
		return nil, err
	}
	if err := checkPath(in.Path); err != nil {
		return nil, err
	}
	trust, err := parseTrust(account.Deref(in.AssumeRolePolicyDocument))
	if err != nil {
		return nil, err
	}
	session := int32(3600)
	if in.MaxSessionDuration != nil {
		session = *in.MaxSessionDuration
	}
	if session < 3600 || session > 43200 {
		return nil, account.Fail("ValidationError", "Value '%d' at 'maxSessionDuration' failed to satisfy constraint: Member must be between 3600 and 43200", session)
	}
	tags := TagsOfIAM(in.Tags)
	if err := account.CheckTags(tags); err != nil {
		return nil, err
	}
	if err := c.Directory.checkBoundary(in.PermissionsBoundary); err != nil {
		return nil, err
	}
	if c.Directory.Roles[name] != nil {
		return nil, conflict("EntityAlreadyExists", "Role with name %s already exists.", name)
	}
	r := &Role{
		Name: name, path: pathOf(account.Deref(in.Path)), ID: "AROA" + c.NewToken(17), description: account.Deref(in.Description), created: c.Now(),
		trust: *in.AssumeRolePolicyDocument, TrustDocument: trust, MaxSession: session, boundary: account.Deref(in.PermissionsBoundary),
		tags: tags, inline: map[string]inlinePolicy{},
	}
	c.Directory.Roles[name] = r
	return &iam.CreateRoleOutput{Role: c.describedRole(r)}, nil
}

func (c *IAM) describedRole(r *Role) *types.Role {
	described := &types.Role{
		Arn: aws.String(c.RoleARN(r)), RoleName: &r.Name, RoleId: &r.ID, Path: &r.path, CreateDate: &r.created,
		AssumeRolePolicyDocument: encoded(r.trust), Description: account.NilIfEmpty(r.description), MaxSessionDuration: &r.MaxSession, Tags: iamTags(r.tags),
	}
	if r.boundary != "" {
		described.PermissionsBoundary = &types.AttachedPermissionsBoundary{PermissionsBoundaryArn: &r.boundary, PermissionsBoundaryType: "Policy"}
	}
	return described
}

func (c *IAM) getRole(r *Role, _ *iam.GetRoleInput) (*iam.GetRoleOutput, error) {
	return &iam.GetRoleOutput{Role: c.describedRole(r)}, nil
}

func (c *IAM) listRoles(_ *account.Caller, in *iam.ListRolesInput) (*iam.ListRolesOutput, error) {
	roles := []types.Role{}
	for _, name := range account.SortedKeys(c.Directory.Roles) {
		if r := c.Directory.Roles[name]; strings.HasPrefix(r.path, pathOf(account.Deref(in.PathPrefix))) && !c.UnheardOf(r.created) {
			described := c.describedRole(r)
			described.Tags = nil // ListRoles leaves them out
			roles = append(roles, *described)
		}
	}
	part, truncated, next, err := pageIAM(roles, in.Marker, in.MaxItems)
	return &iam.ListRolesOutput{Roles: part, IsTruncated: truncated, Marker: next}, err
}

func (c *IAM) updateRole(r *Role, in *iam.UpdateRoleInput) (*iam.UpdateRoleOutput, error) {
	if in.Description != nil {
		r.description = *in.Description
	}
	if in.MaxSessionDuration != nil {
		if *in.MaxSessionDuration < 3600 || *in.MaxSessionDuration > 43200 {
			return nil, account.Fail("ValidationError", "Value '%d' at 'maxSessionDuration' failed to satisfy constraint: Member must be between 3600 and 43200", *in.MaxSessionDuration)
		}
		r.MaxSession = *in.MaxSessionDuration
	}
	return &iam.UpdateRoleOutput{}, nil
}

func (c *IAM) updateAssumeRolePolicy(r *Role, in *iam.UpdateAssumeRolePolicyInput) (*iam.UpdateAssumeRolePolicyOutput, error) {
	document, err := parseTrust(account.Deref(in.PolicyDocument))
	if err != nil {
		return nil, err
	}
	r.trust, r.TrustDocument = *in.PolicyDocument, document
	return &iam.UpdateAssumeRolePolicyOutput{}, nil
}

func (c *IAM) deleteRole(r *Role, _ *iam.DeleteRoleInput) (*iam.DeleteRoleOutput, error) {
	switch {
	case len(r.attached) > 0:
		return nil, conflict("DeleteConflict", "Cannot delete entity, must detach all policies first.")
	case len(r.inline) > 0:
		return nil, conflict("DeleteConflict", "Cannot delete entity, must delete policies first.")
	case len(c.Directory.profilesWith(r.Name)) > 0:
		return nil, conflict("DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.")
	}
	delete(c.Directory.Roles, r.Name)
	return &iam.DeleteRoleOutput{}, nil
}

func (c *IAM) tagRole(r *Role, in *iam.TagRoleInput) (*iam.TagRoleOutput, error) {
	set := TagsOfIAM(in.Tags)
	return &iam.TagRoleOutput{}, account.Retag(r.tags, set, r.inOtherCase(slices.Collect(maps.Keys(set))))
}

func (c *IAM) untagRole(r *Role, in *iam.UntagRoleInput) (*iam.UntagRoleOutput, error) {
	return &iam.UntagRoleOutput{}, account.Retag(r.tags, nil, slices.Concat(in.TagKeys, r.inOtherCase(in.TagKeys)))
}

// inOtherCase returns the role's keys of tags that differ from the given ones only in case. IAM takes them for the same.
func (r *Role) inOtherCase(keys []string) []string {
	return slices.DeleteFunc(slices.Collect(maps.Keys(r.tags)), func(have string) bool {
		return !slices.ContainsFunc(keys, func(key string) bool { return key != have && strings.EqualFold(key, have) })
	})
}

func (c *IAM) listRoleTags(r *Role, in *iam.ListRoleTagsInput) (*iam.ListRoleTagsOutput, error) {
	part, truncated, next, err := pageIAM(iamTags(r.tags), in.Marker, in.MaxItems)
	return &iam.ListRoleTagsOutput{Tags: part, IsTruncated: truncated, Marker: next}, err
}

func (c *IAM) putRolePolicy(r *Role, in *iam.PutRolePolicyInput) (*iam.PutRolePolicyOutput, error) {
	if err := checkName("policyName", account.Deref(in.PolicyName), 128); err != nil {
		return nil, err
	}
	document, err := policy.Parse(account.Deref(in.PolicyDocument), policy.Identity)
	if err != nil {
		return nil, account.Fail("MalformedPolicyDocument", "%s", err)
	}
	size := sizeOf(*in.PolicyDocument)
	for name, other := range r.inline {
		if name != *in.PolicyName {
			size += sizeOf(other.text)
		}
	}
	if size > maxInlinePolicySize {
		return nil, conflict("LimitExceeded", "Maximum policy size of %d bytes exceeded for role %s", maxInlinePolicySize, r.Name)
	}
	made := c.Now()
	if replaced, ok := r.inline[*in.PolicyName]; ok {
		made = replaced.made
	}
	r.inline[*in.PolicyName] = inlinePolicy{text: *in.PolicyDocument, document: document, made: made}
	return &iam.PutRolePolicyOutput{}, nil
}

func (c *IAM) getRolePolicy(r *Role, in *iam.GetRolePolicyInput) (*iam.GetRolePolicyOutput, error) {
	found, ok := r.inline[account.Deref(in.PolicyName)]
	if !ok {
		return nil, noSuchEntity("The role policy with name %s cannot be found.", account.Deref(in.PolicyName))
	}
	return &iam.GetRolePolicyOutput{RoleName: &r.Name, PolicyName: in.PolicyName, PolicyDocument: encoded(found.text)}, nil
}

func (c *IAM) deleteRolePolicy(r *Role, in *iam.DeleteRolePolicyInput) (*iam.DeleteRolePolicyOutput, error) {
	if _, ok := r.inline[account.Deref(in.PolicyName)]; !ok {
		return nil, noSuchEntity("The role policy with name %s cannot be found.", account.Deref(in.PolicyName))
	}
	delete(r.inline, *in.PolicyName)
	return &iam.DeleteRolePolicyOutput{}, nil
}

func (c *IAM) listRolePolicies(r *Role, in *iam.ListRolePoliciesInput) (*iam.ListRolePoliciesOutput, error) {
	part, truncated, next, err := pageIAM(account.SortedKeys(r.inline), in.Marker, in.MaxItems)
	return &iam.ListRolePoliciesOutput{PolicyNames: part, IsTruncated: truncated, Marker: next}, err
}

func (c *IAM) attachRolePolicy(r *Role, in *iam.AttachRolePolicyInput) (*iam.AttachRolePolicyOutput, error) {
	arn := account.Deref(in.PolicyArn)
	if c.Directory.policies[arn] == nil {
		return nil, noSuchEntity("Policy %s does not exist or is not attachable.", arn)
	}
	if slices.Contains(r.attached, arn) {
		return &iam.AttachRolePolicyOutput{}, nil
	}
	r.attached = append(r.attached, arn)
	slices.Sort(r.attached)
	return &iam.AttachRolePolicyOutput{}, nil
}

func (c *IAM) detachRolePolicy(r *Role, in *iam.DetachRolePolicyInput) (*iam.DetachRolePolicyOutput, error) {
	i := slices.Index(r.attached, account.Deref(in.PolicyArn))
	if i < 0 {
		return nil, noSuchEntity("Policy %s was not found.", account.Deref(in.PolicyArn))
	}
	r.attached = slices.Delete(r.attached, i, i+1)
	return &iam.DetachRolePolicyOutput{}, nil
}

func (c *IAM) listAttachedRolePolicies(r *Role, in *iam.ListAttachedRolePoliciesInput) (*iam.ListAttachedRolePoliciesOutput, error) {
	attached := []types.AttachedPolicy{}
	for _, arn := range r.attached {
		attached = append(attached, types.AttachedPolicy{PolicyArn: &arn, PolicyName: &c.Directory.policies[arn].name})
	}
	part, truncated, next, err := pageIAM(attached, in.Marker, in.MaxItems)
	return &iam.ListAttachedRolePoliciesOutput{AttachedPolicies: part, IsTruncated: truncated, Marker: next}, err
}
