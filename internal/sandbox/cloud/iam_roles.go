package cloud

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
)

// findRole returns the role or NoSuchEntity.
func (c *Cloud) findRole(name *string) (*role, error) {
	r := c.iam.roles[deref(name)]
	if r == nil || c.unheardOf(r.created) {
		return nil, noSuchEntity("The role with name %s cannot be found.", deref(name))
	}
	return r, nil
}

func parseTrust(text string) (policy.Document, error) {
	document, err := policy.Parse(text, policy.Trust)
	if err != nil {
		return policy.Document{}, fail("MalformedPolicyDocument", "%s", err)
	}
	if sizeOf(text) > maxTrustPolicySize {
		return policy.Document{}, conflict("LimitExceeded", "Cannot exceed quota for ACLSizePerRole: %d", maxTrustPolicySize)
	}
	return document, nil
}

func (c *Cloud) createRole(_ *call, in *iam.CreateRoleInput) (*iam.CreateRoleOutput, error) {
	name := deref(in.RoleName)
	if err := checkName("roleName", name, 64); err != nil {
		return nil, err
	}
	if err := checkPath(in.Path); err != nil {
		return nil, err
	}
	trust, err := parseTrust(deref(in.AssumeRolePolicyDocument))
	if err != nil {
		return nil, err
	}
	session := int32(3600)
	if in.MaxSessionDuration != nil {
		session = *in.MaxSessionDuration
	}
	if session < 3600 || session > 43200 {
		return nil, fail("ValidationError", "Value '%d' at 'maxSessionDuration' failed to satisfy constraint: Member must be between 3600 and 43200", session)
	}
	tags := tagsOfIAM(in.Tags)
	if err := checkTags(tags); err != nil {
		return nil, err
	}
	if c.iam.roles[name] != nil {
		return nil, conflict("EntityAlreadyExists", "Role with name %s already exists.", name)
	}
	r := &role{
		name: name, path: pathOf(deref(in.Path)), id: "AROA" + c.newToken(17), description: deref(in.Description), created: c.now(),
		trust: *in.AssumeRolePolicyDocument, trustDocument: trust, maxSession: session, boundary: deref(in.PermissionsBoundary),
		tags: tags, inline: map[string]inlinePolicy{},
	}
	c.iam.roles[name] = r
	return &iam.CreateRoleOutput{Role: c.describedRole(r)}, nil
}

func (c *Cloud) describedRole(r *role) *types.Role {
	described := &types.Role{
		Arn: aws.String(c.roleARN(r)), RoleName: &r.name, RoleId: &r.id, Path: &r.path, CreateDate: &r.created,
		AssumeRolePolicyDocument: encoded(r.trust), Description: nilIfEmpty(r.description), MaxSessionDuration: &r.maxSession, Tags: iamTags(r.tags),
	}
	if r.boundary != "" {
		described.PermissionsBoundary = &types.AttachedPermissionsBoundary{PermissionsBoundaryArn: &r.boundary, PermissionsBoundaryType: "Policy"}
	}
	return described
}

func (c *Cloud) getRole(_ *call, in *iam.GetRoleInput) (*iam.GetRoleOutput, error) {
	r, err := c.findRole(in.RoleName)
	if err != nil {
		return nil, err
	}
	return &iam.GetRoleOutput{Role: c.describedRole(r)}, nil
}

func (c *Cloud) listRoles(_ *call, in *iam.ListRolesInput) (*iam.ListRolesOutput, error) {
	roles := []types.Role{}
	for _, name := range sortedKeys(c.iam.roles) {
		if strings.HasPrefix(c.iam.roles[name].path, pathOf(deref(in.PathPrefix))) {
			described := c.describedRole(c.iam.roles[name])
			described.Tags = nil // ListRoles leaves them out
			roles = append(roles, *described)
		}
	}
	part, truncated, next, err := pageIAM(roles, in.Marker, in.MaxItems)
	if err != nil {
		return nil, err
	}
	return &iam.ListRolesOutput{Roles: part, IsTruncated: truncated, Marker: next}, nil
}

func (c *Cloud) updateRole(_ *call, in *iam.UpdateRoleInput) (*iam.UpdateRoleOutput, error) {
	r, err := c.findRole(in.RoleName)
	if err != nil {
		return nil, err
	}
	if in.Description != nil {
		r.description = *in.Description
	}
	if in.MaxSessionDuration != nil {
		if *in.MaxSessionDuration < 3600 || *in.MaxSessionDuration > 43200 {
			return nil, fail("ValidationError", "Value '%d' at 'maxSessionDuration' failed to satisfy constraint: Member must be between 3600 and 43200", *in.MaxSessionDuration)
		}
		r.maxSession = *in.MaxSessionDuration
	}
	return &iam.UpdateRoleOutput{}, nil
}

func (c *Cloud) updateAssumeRolePolicy(_ *call, in *iam.UpdateAssumeRolePolicyInput) (*iam.UpdateAssumeRolePolicyOutput, error) {
	r, err := c.findRole(in.RoleName)
	if err != nil {
		return nil, err
	}
	document, err := parseTrust(deref(in.PolicyDocument))
	if err != nil {
		return nil, err
	}
	r.trust, r.trustDocument = *in.PolicyDocument, document
	return &iam.UpdateAssumeRolePolicyOutput{}, nil
}

func (c *Cloud) deleteRole(_ *call, in *iam.DeleteRoleInput) (*iam.DeleteRoleOutput, error) {
	r, err := c.findRole(in.RoleName)
	if err != nil {
		return nil, err
	}
	switch {
	case len(r.attached) > 0:
		return nil, conflict("DeleteConflict", "Cannot delete entity, must detach all policies first.")
	case len(r.inline) > 0:
		return nil, conflict("DeleteConflict", "Cannot delete entity, must delete policies first.")
	case len(c.profilesWith(r.name)) > 0:
		return nil, conflict("DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.")
	}
	delete(c.iam.roles, r.name)
	return &iam.DeleteRoleOutput{}, nil
}

// retag sets and removes tags in place, unless there would be too many.
func retag(tags, set map[string]string, remove []string) error {
	after := maps.Clone(tags)
	maps.Copy(after, set)
	if err := checkTags(after); err != nil {
		return err
	}
	maps.Copy(tags, set)
	for _, key := range remove {
		delete(tags, key)
	}
	return nil
}

func (c *Cloud) tagRole(_ *call, in *iam.TagRoleInput) (*iam.TagRoleOutput, error) {
	r, err := c.findRole(in.RoleName)
	if err != nil {
		return nil, err
	}
	return &iam.TagRoleOutput{}, retag(r.tags, tagsOfIAM(in.Tags), nil)
}

func (c *Cloud) untagRole(_ *call, in *iam.UntagRoleInput) (*iam.UntagRoleOutput, error) {
	r, err := c.findRole(in.RoleName)
	if err != nil {
		return nil, err
	}
	return &iam.UntagRoleOutput{}, retag(r.tags, nil, in.TagKeys)
}

func (c *Cloud) listRoleTags(_ *call, in *iam.ListRoleTagsInput) (*iam.ListRoleTagsOutput, error) {
	r, err := c.findRole(in.RoleName)
	if err != nil {
		return nil, err
	}
	part, truncated, next, err := pageIAM(iamTags(r.tags), in.Marker, in.MaxItems)
	return &iam.ListRoleTagsOutput{Tags: part, IsTruncated: truncated, Marker: next}, err
}

func (c *Cloud) putRolePolicy(_ *call, in *iam.PutRolePolicyInput) (*iam.PutRolePolicyOutput, error) {
	r, err := c.findRole(in.RoleName)
	if err != nil {
		return nil, err
	}
	if err := checkName("policyName", deref(in.PolicyName), 128); err != nil {
		return nil, err
	}
	document, err := policy.Parse(deref(in.PolicyDocument), policy.Identity)
	if err != nil {
		return nil, fail("MalformedPolicyDocument", "%s", err)
	}
	size := sizeOf(*in.PolicyDocument)
	for name, other := range r.inline {
		if name != *in.PolicyName {
			size += sizeOf(other.text)
		}
	}
	if size > maxInlinePolicySize {
		return nil, conflict("LimitExceeded", "Maximum policy size of %d bytes exceeded for role %s", maxInlinePolicySize, r.name)
	}
	made := c.now()
	if replaced, ok := r.inline[*in.PolicyName]; ok {
		made = replaced.made
	}
	r.inline[*in.PolicyName] = inlinePolicy{text: *in.PolicyDocument, document: document, made: made}
	return &iam.PutRolePolicyOutput{}, nil
}

func (c *Cloud) getRolePolicy(_ *call, in *iam.GetRolePolicyInput) (*iam.GetRolePolicyOutput, error) {
	r, err := c.findRole(in.RoleName)
	if err != nil {
		return nil, err
	}
	found, ok := r.inline[deref(in.PolicyName)]
	if !ok {
		return nil, noSuchEntity("The role policy with name %s cannot be found.", deref(in.PolicyName))
	}
	return &iam.GetRolePolicyOutput{RoleName: &r.name, PolicyName: in.PolicyName, PolicyDocument: encoded(found.text)}, nil
}

func (c *Cloud) deleteRolePolicy(_ *call, in *iam.DeleteRolePolicyInput) (*iam.DeleteRolePolicyOutput, error) {
	r, err := c.findRole(in.RoleName)
	if err != nil {
		return nil, err
	}
	if _, ok := r.inline[deref(in.PolicyName)]; !ok {
		return nil, noSuchEntity("The role policy with name %s cannot be found.", deref(in.PolicyName))
	}
	delete(r.inline, *in.PolicyName)
	return &iam.DeleteRolePolicyOutput{}, nil
}

func (c *Cloud) listRolePolicies(_ *call, in *iam.ListRolePoliciesInput) (*iam.ListRolePoliciesOutput, error) {
	r, err := c.findRole(in.RoleName)
	if err != nil {
		return nil, err
	}
	part, truncated, next, err := pageIAM(sortedKeys(r.inline), in.Marker, in.MaxItems)
	return &iam.ListRolePoliciesOutput{PolicyNames: part, IsTruncated: truncated, Marker: next}, err
}

func (c *Cloud) attachRolePolicy(_ *call, in *iam.AttachRolePolicyInput) (*iam.AttachRolePolicyOutput, error) {
	r, err := c.findRole(in.RoleName)
	if err != nil {
		return nil, err
	}
	p, err := c.findPolicy(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	if slices.Contains(r.attached, p.arn) {
		return &iam.AttachRolePolicyOutput{}, nil
	}
	if len(r.attached) >= maxAttachedPolicies {
		return nil, conflict("LimitExceeded", "Cannot exceed quota for PoliciesPerRole: %d", maxAttachedPolicies)
	}
	r.attached = append(r.attached, p.arn)
	slices.Sort(r.attached)
	return &iam.AttachRolePolicyOutput{}, nil
}

func (c *Cloud) detachRolePolicy(_ *call, in *iam.DetachRolePolicyInput) (*iam.DetachRolePolicyOutput, error) {
	r, err := c.findRole(in.RoleName)
	if err != nil {
		return nil, err
	}
	i := slices.Index(r.attached, deref(in.PolicyArn))
	if i < 0 {
		return nil, noSuchEntity("Policy %s was not found.", deref(in.PolicyArn))
	}
	r.attached = slices.Delete(r.attached, i, i+1)
	return &iam.DetachRolePolicyOutput{}, nil
}

func (c *Cloud) listAttachedRolePolicies(_ *call, in *iam.ListAttachedRolePoliciesInput) (*iam.ListAttachedRolePoliciesOutput, error) {
	r, err := c.findRole(in.RoleName)
	if err != nil {
		return nil, err
	}
	attached := []types.AttachedPolicy{}
	for _, arn := range r.attached {
		attached = append(attached, types.AttachedPolicy{PolicyArn: &arn, PolicyName: &c.iam.policies[arn].name})
	}
	part, truncated, next, err := pageIAM(attached, in.Marker, in.MaxItems)
	return &iam.ListAttachedRolePoliciesOutput{AttachedPolicies: part, IsTruncated: truncated, Marker: next}, err
}
