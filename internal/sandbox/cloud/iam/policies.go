package iam

import (
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
)

// findPolicy returns the managed policy or NoSuchEntity.
func (c *IAM) findPolicy(arn *string) (*managedPolicy, error) {
	p := c.Directory.policies[account.Deref(arn)]
	if p == nil {
		return nil, noSuchEntity("Policy %s does not exist or is not attachable.", account.Deref(arn))
	}
	return p, nil
}

// findOwnPolicy is findPolicy for calls that change it: AWS's own are not ours
// to change.
func (c *IAM) findOwnPolicy(arn *string) (*managedPolicy, error) {
	p, err := c.findPolicy(arn)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(p.arn, "arn:aws:iam::aws:") {
		return nil, account.Forbidden("AccessDenied", "Policy %s is managed by AWS and cannot be changed.", p.arn)
	}
	return p, nil
}

func parseManaged(text string) (policy.Document, error) {
	document, err := policy.Parse(text, policy.Identity)
	if err != nil {
		return policy.Document{}, account.Fail("MalformedPolicyDocument", "%s", err)
	}
	if sizeOf(text) > maxManagedPolicySize {
		return policy.Document{}, conflict("LimitExceeded", "Cannot exceed quota for PolicySize: %d", maxManagedPolicySize)
	}
	return document, nil
}

func (c *IAM) createPolicy(_ *account.Caller, in *iam.CreatePolicyInput) (*iam.CreatePolicyOutput, error) {
	name := account.Deref(in.PolicyName)
	if err := checkName("policyName", name, 128); err != nil {
		return nil, err
	}
	if err := checkPath(in.Path); err != nil {
		return nil, err
	}
	document, err := parseManaged(account.Deref(in.PolicyDocument))
	if err != nil {
		return nil, err
	}
	tags := TagsOfIAM(in.Tags)
	if err := account.CheckTags(tags); err != nil {
		return nil, err
	}
	for _, p := range c.Directory.policies {
		if strings.EqualFold(p.name, name) && strings.HasPrefix(p.arn, "arn:aws:iam::"+c.AccountID+":") {
			return nil, conflict("EntityAlreadyExists", "A policy called %s already exists. Duplicate names are not allowed.", name)
		}
	}
	path := pathOf(account.Deref(in.Path))
	p := &managedPolicy{
		name: name, path: path, arn: c.IAMARN("policy" + path + name), id: "ANPA" + c.NewToken(17), description: account.Deref(in.Description),
		created: c.Now(), updated: c.Now(), tags: tags, defaultVersion: "v1", nextVersion: 2,
		versions: []policyVersion{{id: "v1", created: c.Now(), text: *in.PolicyDocument, document: document}},
	}
	c.Directory.policies[p.arn] = p
	return &iam.CreatePolicyOutput{Policy: c.describedPolicy(p)}, nil
}

func (c *IAM) describedPolicy(p *managedPolicy) *types.Policy {
	return &types.Policy{
		Arn: &p.arn, PolicyName: &p.name, PolicyId: &p.id, Path: &p.path, Description: account.NilIfEmpty(p.description), DefaultVersionId: &p.defaultVersion,
		AttachmentCount: aws.Int32(int32(c.Directory.attachments(p.arn))), PermissionsBoundaryUsageCount: aws.Int32(0), IsAttachable: true,
		CreateDate: &p.created, UpdateDate: &p.updated, Tags: iamTags(p.tags),
	}
}

func (c *IAM) getPolicy(_ *account.Caller, in *iam.GetPolicyInput) (*iam.GetPolicyOutput, error) {
	p, err := c.findPolicy(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	return &iam.GetPolicyOutput{Policy: c.describedPolicy(p)}, nil
}

func (c *IAM) listPolicies(_ *account.Caller, in *iam.ListPoliciesInput) (*iam.ListPoliciesOutput, error) {
	list := []types.Policy{}
	for _, arn := range account.SortedKeys(c.Directory.policies) {
		p := c.Directory.policies[arn]
		byAWS := strings.HasPrefix(arn, "arn:aws:iam::aws:")
		if (in.Scope == types.PolicyScopeTypeLocal && byAWS) || (in.Scope == types.PolicyScopeTypeAws && !byAWS) ||
			(in.OnlyAttached && c.Directory.attachments(arn) == 0) || !strings.HasPrefix(p.path, pathOf(account.Deref(in.PathPrefix))) {
			continue
		}
		list = append(list, *c.describedPolicy(p))
	}
	part, truncated, next, err := pageIAM(list, in.Marker, in.MaxItems)
	return &iam.ListPoliciesOutput{Policies: part, IsTruncated: truncated, Marker: next}, err
}

func (c *IAM) deletePolicy(_ *account.Caller, in *iam.DeletePolicyInput) (*iam.DeletePolicyOutput, error) {
	p, err := c.findOwnPolicy(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	if c.Directory.attachments(p.arn) > 0 {
		return nil, conflict("DeleteConflict", "Cannot delete a policy attached to entities.")
	}
	if len(p.versions) > 1 {
		return nil, conflict("DeleteConflict", "This policy has more than one version. Before you delete a policy, you must delete the policy's versions. The default version is deleted with the policy.")
	}
	delete(c.Directory.policies, p.arn)
	return &iam.DeletePolicyOutput{}, nil
}

func (p *managedPolicy) describedVersion(v *policyVersion, withText bool) types.PolicyVersion {
	described := types.PolicyVersion{VersionId: &v.id, CreateDate: &v.created, IsDefaultVersion: v.id == p.defaultVersion}
	if withText {
		described.Document = encoded(v.text)
	}
	return described
}

func (p *managedPolicy) findVersion(id *string) (*policyVersion, error) {
	v := p.version(account.Deref(id))
	if v == nil {
		return nil, noSuchEntity("Policy %s version %s does not exist or is not attachable.", p.arn, account.Deref(id))
	}
	return v, nil
}

func (c *IAM) getPolicyVersion(_ *account.Caller, in *iam.GetPolicyVersionInput) (*iam.GetPolicyVersionOutput, error) {
	p, err := c.findPolicy(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	v, err := p.findVersion(in.VersionId)
	if err != nil {
		return nil, err
	}
	described := p.describedVersion(v, true)
	return &iam.GetPolicyVersionOutput{PolicyVersion: &described}, nil
}

func (c *IAM) createPolicyVersion(_ *account.Caller, in *iam.CreatePolicyVersionInput) (*iam.CreatePolicyVersionOutput, error) {
	p, err := c.findOwnPolicy(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	document, err := parseManaged(account.Deref(in.PolicyDocument))
	if err != nil {
		return nil, err
	}
	if len(p.versions) >= maxPolicyVersions {
		return nil, conflict("LimitExceeded", "A managed policy can have up to %d versions. Before you create a new version, you must delete an existing version.", maxPolicyVersions)
	}
	v := policyVersion{id: "v" + strconv.Itoa(p.nextVersion), created: c.Now(), text: *in.PolicyDocument, document: document}
	p.nextVersion++
	p.versions = append(p.versions, v)
	p.updated = c.Now()
	if in.SetAsDefault {
		p.defaultVersion = v.id
	}
	described := p.describedVersion(&v, false)
	return &iam.CreatePolicyVersionOutput{PolicyVersion: &described}, nil
}

func (c *IAM) listPolicyVersions(_ *account.Caller, in *iam.ListPolicyVersionsInput) (*iam.ListPolicyVersionsOutput, error) {
	p, err := c.findPolicy(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	list := []types.PolicyVersion{}
	for i := len(p.versions) - 1; i >= 0; i-- { // the newest first
		list = append(list, p.describedVersion(&p.versions[i], false))
	}
	part, truncated, next, err := pageIAM(list, in.Marker, in.MaxItems)
	return &iam.ListPolicyVersionsOutput{Versions: part, IsTruncated: truncated, Marker: next}, err
}

func (c *IAM) deletePolicyVersion(_ *account.Caller, in *iam.DeletePolicyVersionInput) (*iam.DeletePolicyVersionOutput, error) {
	p, err := c.findOwnPolicy(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	v, err := p.findVersion(in.VersionId)
	if err != nil {
		return nil, err
	}
	if v.id == p.defaultVersion {
		return nil, conflict("DeleteConflict", "Cannot delete the default version of a policy.")
	}
	p.versions = slices.DeleteFunc(p.versions, func(other policyVersion) bool { return other.id == account.Deref(in.VersionId) })
	return &iam.DeletePolicyVersionOutput{}, nil
}

func (c *IAM) setDefaultPolicyVersion(_ *account.Caller, in *iam.SetDefaultPolicyVersionInput) (*iam.SetDefaultPolicyVersionOutput, error) {
	p, err := c.findOwnPolicy(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	v, err := p.findVersion(in.VersionId)
	if err != nil {
		return nil, err
	}
	p.defaultVersion = v.id
	return &iam.SetDefaultPolicyVersionOutput{}, nil
}

func (c *IAM) listPolicyTags(_ *account.Caller, in *iam.ListPolicyTagsInput) (*iam.ListPolicyTagsOutput, error) {
	p, err := c.findPolicy(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	part, truncated, next, err := pageIAM(iamTags(p.tags), in.Marker, in.MaxItems)
	return &iam.ListPolicyTagsOutput{Tags: part, IsTruncated: truncated, Marker: next}, err
}

func (c *IAM) tagPolicy(_ *account.Caller, in *iam.TagPolicyInput) (*iam.TagPolicyOutput, error) {
	p, err := c.findOwnPolicy(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	return &iam.TagPolicyOutput{}, account.Retag(p.tags, TagsOfIAM(in.Tags), nil)
}

func (c *IAM) untagPolicy(_ *account.Caller, in *iam.UntagPolicyInput) (*iam.UntagPolicyOutput, error) {
	p, err := c.findOwnPolicy(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	return &iam.UntagPolicyOutput{}, account.Retag(p.tags, nil, in.TagKeys)
}
