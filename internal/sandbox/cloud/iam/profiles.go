package iam

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
)

func profileIn[In any](c *IAM, in *In) (*instanceProfile, error) {
	name := account.TextMember(in, "InstanceProfileName")
	p := c.Directory.Profiles[name]
	if p == nil || c.UnheardOf(p.created) {
		return nil, noSuchEntity("Instance Profile %s cannot be found.", name)
	}
	return p, nil
}

// profilesWith returns the instance profiles that hold a role, by name.
func (d *Directory) profilesWith(roleName string) []*instanceProfile {
	var found []*instanceProfile
	for _, name := range account.SortedKeys(d.Profiles) {
		if slices.Contains(d.Profiles[name].Roles, roleName) {
			found = append(found, d.Profiles[name])
		}
	}
	return found
}

func (c *IAM) describedProfile(p *instanceProfile) *types.InstanceProfile {
	described := &types.InstanceProfile{
		Arn: aws.String(c.ProfileARN(p.name)), InstanceProfileName: &p.name, InstanceProfileId: &p.id, Path: &p.path,
		CreateDate: &p.created, Roles: []types.Role{}, Tags: iamTags(p.tags),
	}
	for _, name := range p.Roles {
		described.Roles = append(described.Roles, *c.describedRole(c.Directory.Roles[name]))
	}
	return described
}

func (c *IAM) createInstanceProfile(_ *account.Caller, in *iam.CreateInstanceProfileInput) (*iam.CreateInstanceProfileOutput, error) {
	name := account.Deref(in.InstanceProfileName)
	if err := checkName("instanceProfileName", name, 128); err != nil {
		return nil, err
	}
	if err := checkPath(in.Path); err != nil {
		return nil, err
	}
	tags := TagsOfIAM(in.Tags)
	if err := account.CheckTags(tags); err != nil {
		return nil, err
	}
	if c.Directory.Profiles[name] != nil {
		return nil, conflict("EntityAlreadyExists", "Instance Profile %s already exists.", name)
	}
	p := &instanceProfile{name: name, path: pathOf(account.Deref(in.Path)), id: "AIPA" + c.NewToken(17), created: c.Now(), Changed: c.Now(), tags: tags}
	c.Directory.Profiles[name] = p
	return &iam.CreateInstanceProfileOutput{InstanceProfile: c.describedProfile(p)}, nil
}

func (c *IAM) getInstanceProfile(p *instanceProfile, _ *iam.GetInstanceProfileInput) (*iam.GetInstanceProfileOutput, error) {
	return &iam.GetInstanceProfileOutput{InstanceProfile: c.describedProfile(p)}, nil
}

func (c *IAM) listInstanceProfilesForRole(r *Role, in *iam.ListInstanceProfilesForRoleInput) (*iam.ListInstanceProfilesForRoleOutput, error) {
	list := []types.InstanceProfile{}
	for _, p := range c.Directory.profilesWith(r.Name) {
		list = append(list, *c.describedProfile(p))
	}
	part, truncated, next, err := pageIAM(list, in.Marker, in.MaxItems)
	return &iam.ListInstanceProfilesForRoleOutput{InstanceProfiles: part, IsTruncated: truncated, Marker: next}, err
}

// accessesOfAddRoleToInstanceProfile includes the permission to pass the role.
func accessesOfAddRoleToInstanceProfile(c *IAM, in *iam.AddRoleToInstanceProfileInput) []account.Access {
	needed := onProfile[iam.AddRoleToInstanceProfileInput]("iam:AddRoleToInstanceProfile")(c, in)
	if r := c.Directory.Roles[account.Deref(in.RoleName)]; r != nil {
		needed = append(needed, account.Access{Action: "iam:PassRole", Resource: c.RoleARN(r), Context: map[string][]string{"iam:PassedToService": {"ec2.amazonaws.com"}}})
	}
	return needed
}

func (c *IAM) addRoleToInstanceProfile(p *instanceProfile, in *iam.AddRoleToInstanceProfileInput) (*iam.AddRoleToInstanceProfileOutput, error) {
	r, err := roleIn(c, in)
	if err != nil {
		return nil, err
	}
	if len(p.Roles) > 0 {
		return nil, conflict("LimitExceeded", "Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1")
	}
	p.Roles, p.Changed = []string{r.Name}, c.Now()
	return &iam.AddRoleToInstanceProfileOutput{}, nil
}

func (c *IAM) removeRoleFromInstanceProfile(p *instanceProfile, in *iam.RemoveRoleFromInstanceProfileInput) (*iam.RemoveRoleFromInstanceProfileOutput, error) {
	if !slices.Contains(p.Roles, account.Deref(in.RoleName)) {
		return nil, noSuchEntity("The role with name %s cannot be found.", account.Deref(in.RoleName))
	}
	p.Roles = nil
	return &iam.RemoveRoleFromInstanceProfileOutput{}, nil
}

func (c *IAM) deleteInstanceProfile(p *instanceProfile, _ *iam.DeleteInstanceProfileInput) (*iam.DeleteInstanceProfileOutput, error) {
	if len(p.Roles) > 0 {
		return nil, conflict("DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.")
	}
	delete(c.Directory.Profiles, p.name)
	return &iam.DeleteInstanceProfileOutput{}, nil
}

func (c *IAM) tagInstanceProfile(p *instanceProfile, in *iam.TagInstanceProfileInput) (*iam.TagInstanceProfileOutput, error) {
	return &iam.TagInstanceProfileOutput{}, account.Retag(p.tags, TagsOfIAM(in.Tags), nil)
}

func (c *IAM) untagInstanceProfile(p *instanceProfile, in *iam.UntagInstanceProfileInput) (*iam.UntagInstanceProfileOutput, error) {
	return &iam.UntagInstanceProfileOutput{}, account.Retag(p.tags, nil, in.TagKeys)
}
