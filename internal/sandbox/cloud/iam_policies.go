package cloud

import (
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
)

// findPolicy returns the managed policy or NoSuchEntity.
func (c *Cloud) findPolicy(arn *string) (*managedPolicy, error) {
	p := c.iam.policies[deref(arn)]
	if p == nil {
		return nil, noSuchEntity("Policy %s does not exist or is not attachable.", deref(arn))
	}
	return p, nil
}

// findOwnPolicy is findPolicy for calls that change it: AWS's own are not ours
// to change.
func (c *Cloud) findOwnPolicy(arn *string) (*managedPolicy, error) {
	p, err := c.findPolicy(arn)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(p.arn, "arn:aws:iam::aws:") {
		return nil, forbidden("AccessDenied", "Policy %s is managed by AWS and cannot be changed.", p.arn)
	}
	return p, nil
}

func parseManaged(text string) (policy.Document, error) {
	document, err := policy.Parse(text, policy.Identity)
	if err != nil {
		return policy.Document{}, fail("MalformedPolicyDocument", "%s", err)
	}
	if sizeOf(text) > maxManagedPolicySize {
		return policy.Document{}, conflict("LimitExceeded", "Cannot exceed quota for PolicySize: %d", maxManagedPolicySize)
	}
	return document, nil
}

func (c *Cloud) createPolicy(_ *call, in *iam.CreatePolicyInput) (*iam.CreatePolicyOutput, error) {
	name := deref(in.PolicyName)
	if err := checkName("policyName", name, 128); err != nil {
		return nil, err
	}
	if err := checkPath(in.Path); err != nil {
		return nil, err
	}
	document, err := parseManaged(deref(in.PolicyDocument))
	if err != nil {
		return nil, err
	}
	tags := tagsOfIAM(in.Tags)
	if err := checkTags(tags); err != nil {
		return nil, err
	}
	for _, p := range c.iam.policies {
		if strings.EqualFold(p.name, name) && strings.HasPrefix(p.arn, "arn:aws:iam::"+c.account+":") {
			return nil, conflict("EntityAlreadyExists", "A policy called %s already exists. Duplicate names are not allowed.", name)
		}
	}
	path := pathOf(deref(in.Path))
	p := &managedPolicy{
		name: name, path: path, arn: c.iamARN("policy" + path + name), id: "ANPA" + c.newToken(17), description: deref(in.Description),
		created: c.now(), updated: c.now(), tags: tags, defaultVersion: "v1", nextVersion: 2,
		versions: []policyVersion{{id: "v1", created: c.now(), text: *in.PolicyDocument, document: document}},
	}
	c.iam.policies[p.arn] = p
	return &iam.CreatePolicyOutput{Policy: c.describedPolicy(p)}, nil
}

func (c *Cloud) describedPolicy(p *managedPolicy) *types.Policy {
	return &types.Policy{
		Arn: &p.arn, PolicyName: &p.name, PolicyId: &p.id, Path: &p.path, Description: nilIfEmpty(p.description), DefaultVersionId: &p.defaultVersion,
		AttachmentCount: aws.Int32(int32(c.iam.attachments(p.arn))), PermissionsBoundaryUsageCount: aws.Int32(0), IsAttachable: true,
		CreateDate: &p.created, UpdateDate: &p.updated, Tags: iamTags(p.tags),
	}
}

func (c *Cloud) getPolicy(_ *call, in *iam.GetPolicyInput) (*iam.GetPolicyOutput, error) {
	p, err := c.findPolicy(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	return &iam.GetPolicyOutput{Policy: c.describedPolicy(p)}, nil
}

func (c *Cloud) listPolicies(_ *call, in *iam.ListPoliciesInput) (*iam.ListPoliciesOutput, error) {
	list := []types.Policy{}
	for _, arn := range sortedKeys(c.iam.policies) {
		p := c.iam.policies[arn]
		byAWS := strings.HasPrefix(arn, "arn:aws:iam::aws:")
		if (in.Scope == types.PolicyScopeTypeLocal && byAWS) || (in.Scope == types.PolicyScopeTypeAws && !byAWS) ||
			(in.OnlyAttached && c.iam.attachments(arn) == 0) || !strings.HasPrefix(p.path, pathOf(deref(in.PathPrefix))) {
			continue
		}
		list = append(list, *c.describedPolicy(p))
	}
	part, truncated, next, err := pageIAM(list, in.Marker, in.MaxItems)
	return &iam.ListPoliciesOutput{Policies: part, IsTruncated: truncated, Marker: next}, err
}

func (c *Cloud) deletePolicy(_ *call, in *iam.DeletePolicyInput) (*iam.DeletePolicyOutput, error) {
	p, err := c.findOwnPolicy(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	if c.iam.attachments(p.arn) > 0 {
		return nil, conflict("DeleteConflict", "Cannot delete a policy attached to entities.")
	}
	if len(p.versions) > 1 {
		return nil, conflict("DeleteConflict", "This policy has more than one version. Before you delete a policy, you must delete the policy's versions. The default version is deleted with the policy.")
	}
	delete(c.iam.policies, p.arn)
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
	v := p.version(deref(id))
	if v == nil {
		return nil, noSuchEntity("Policy %s version %s does not exist or is not attachable.", p.arn, deref(id))
	}
	return v, nil
}

func (c *Cloud) getPolicyVersion(_ *call, in *iam.GetPolicyVersionInput) (*iam.GetPolicyVersionOutput, error) {
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

func (c *Cloud) createPolicyVersion(_ *call, in *iam.CreatePolicyVersionInput) (*iam.CreatePolicyVersionOutput, error) {
	p, err := c.findOwnPolicy(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	document, err := parseManaged(deref(in.PolicyDocument))
	if err != nil {
		return nil, err
	}
	if len(p.versions) >= maxPolicyVersions {
		return nil, conflict("LimitExceeded", "A managed policy can have up to %d versions. Before you create a new version, you must delete an existing version.", maxPolicyVersions)
	}
	v := policyVersion{id: "v" + strconv.Itoa(p.nextVersion), created: c.now(), text: *in.PolicyDocument, document: document}
	p.nextVersion++
	p.versions = append(p.versions, v)
	p.updated = c.now()
	if in.SetAsDefault {
		p.defaultVersion = v.id
	}
	described := p.describedVersion(&v, false)
	return &iam.CreatePolicyVersionOutput{PolicyVersion: &described}, nil
}

func (c *Cloud) listPolicyVersions(_ *call, in *iam.ListPolicyVersionsInput) (*iam.ListPolicyVersionsOutput, error) {
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

func (c *Cloud) deletePolicyVersion(_ *call, in *iam.DeletePolicyVersionInput) (*iam.DeletePolicyVersionOutput, error) {
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
	p.versions = slices.DeleteFunc(p.versions, func(other policyVersion) bool { return other.id == deref(in.VersionId) })
	return &iam.DeletePolicyVersionOutput{}, nil
}

func (c *Cloud) setDefaultPolicyVersion(_ *call, in *iam.SetDefaultPolicyVersionInput) (*iam.SetDefaultPolicyVersionOutput, error) {
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

func (c *Cloud) listPolicyTags(_ *call, in *iam.ListPolicyTagsInput) (*iam.ListPolicyTagsOutput, error) {
	p, err := c.findPolicy(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	part, truncated, next, err := pageIAM(iamTags(p.tags), in.Marker, in.MaxItems)
	return &iam.ListPolicyTagsOutput{Tags: part, IsTruncated: truncated, Marker: next}, err
}

func (c *Cloud) tagPolicy(_ *call, in *iam.TagPolicyInput) (*iam.TagPolicyOutput, error) {
	p, err := c.findOwnPolicy(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	return &iam.TagPolicyOutput{}, retag(p.tags, tagsOfIAM(in.Tags), nil)
}

func (c *Cloud) untagPolicy(_ *call, in *iam.UntagPolicyInput) (*iam.UntagPolicyOutput, error) {
	p, err := c.findOwnPolicy(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	return &iam.UntagPolicyOutput{}, retag(p.tags, nil, in.TagKeys)
}
