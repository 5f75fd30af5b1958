package cloud

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
)

func (c *Cloud) findProfile(name *string) (*instanceProfile, error) {
	p := c.iam.profiles[deref(name)]
	if p == nil || c.unheardOf(p.created) {
		return nil, noSuchEntity("Instance Profile %s cannot be found.", deref(name))
	}
	return p, nil
}

// profilesWith returns the instance profiles that hold a role, by name.
func (c *Cloud) profilesWith(roleName string) []*instanceProfile {
	var found []*instanceProfile
	for _, name := range sortedKeys(c.iam.profiles) {
		if slices.Contains(c.iam.profiles[name].roles, roleName) {
			found = append(found, c.iam.profiles[name])
		}
	}
	return found
}

func (c *Cloud) describedProfile(p *instanceProfile) *types.InstanceProfile {
	described := &types.InstanceProfile{
		Arn: aws.String(c.profileARN(p.name)), InstanceProfileName: &p.name, InstanceProfileId: &p.id, Path: &p.path,
		CreateDate: &p.created, Roles: []types.Role{}, Tags: iamTags(p.tags),
	}
	for _, name := range p.roles {
		described.Roles = append(described.Roles, *c.describedRole(c.iam.roles[name]))
	}
	return described
}

func (c *Cloud) createInstanceProfile(_ *call, in *iam.CreateInstanceProfileInput) (*iam.CreateInstanceProfileOutput, error) {
	name := deref(in.InstanceProfileName)
	if err := checkName("instanceProfileName", name, 128); err != nil {
		return nil, err
	}
	if err := checkPath(in.Path); err != nil {
		return nil, err
	}
	tags := tagsOfIAM(in.Tags)
	if err := checkTags(tags); err != nil {
		return nil, err
	}
	if c.iam.profiles[name] != nil {
		return nil, conflict("EntityAlreadyExists", "Instance Profile %s already exists.", name)
	}
	p := &instanceProfile{name: name, path: pathOf(deref(in.Path)), id: "AIPA" + c.newToken(17), created: c.now(), changed: c.now(), tags: tags}
	c.iam.profiles[name] = p
	return &iam.CreateInstanceProfileOutput{InstanceProfile: c.describedProfile(p)}, nil
}

func (c *Cloud) getInstanceProfile(_ *call, in *iam.GetInstanceProfileInput) (*iam.GetInstanceProfileOutput, error) {
	p, err := c.findProfile(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	return &iam.GetInstanceProfileOutput{InstanceProfile: c.describedProfile(p)}, nil
}

func (c *Cloud) listInstanceProfiles(_ *call, in *iam.ListInstanceProfilesInput) (*iam.ListInstanceProfilesOutput, error) {
	list := []types.InstanceProfile{}
	for _, name := range sortedKeys(c.iam.profiles) {
		list = append(list, *c.describedProfile(c.iam.profiles[name]))
	}
	part, truncated, next, err := pageIAM(list, in.Marker, in.MaxItems)
	return &iam.ListInstanceProfilesOutput{InstanceProfiles: part, IsTruncated: truncated, Marker: next}, err
}

func (c *Cloud) listInstanceProfilesForRole(_ *call, in *iam.ListInstanceProfilesForRoleInput) (*iam.ListInstanceProfilesForRoleOutput, error) {
	r, err := c.findRole(in.RoleName)
	if err != nil {
		return nil, err
	}
	list := []types.InstanceProfile{}
	for _, p := range c.profilesWith(r.name) {
		list = append(list, *c.describedProfile(p))
	}
	part, truncated, next, err := pageIAM(list, in.Marker, in.MaxItems)
	return &iam.ListInstanceProfilesForRoleOutput{InstanceProfiles: part, IsTruncated: truncated, Marker: next}, err
}

// accessesOfAddRoleToInstanceProfile includes the permission to pass the role.
func accessesOfAddRoleToInstanceProfile(c *Cloud, in *iam.AddRoleToInstanceProfileInput) []access {
	needed := onProfile[iam.AddRoleToInstanceProfileInput]("iam:AddRoleToInstanceProfile")(c, in)
	if r := c.iam.roles[deref(in.RoleName)]; r != nil {
		needed = append(needed, access{action: "iam:PassRole", resource: c.roleARN(r), context: map[string][]string{"iam:PassedToService": {"ec2.amazonaws.com"}}})
	}
	return needed
}

func (c *Cloud) addRoleToInstanceProfile(_ *call, in *iam.AddRoleToInstanceProfileInput) (*iam.AddRoleToInstanceProfileOutput, error) {
	p, err := c.findProfile(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	r, err := c.findRole(in.RoleName)
	if err != nil {
		return nil, err
	}
	if len(p.roles) > 0 {
		return nil, conflict("LimitExceeded", "Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1")
	}
	p.roles, p.changed = []string{r.name}, c.now()
	return &iam.AddRoleToInstanceProfileOutput{}, nil
}

func (c *Cloud) removeRoleFromInstanceProfile(_ *call, in *iam.RemoveRoleFromInstanceProfileInput) (*iam.RemoveRoleFromInstanceProfileOutput, error) {
	p, err := c.findProfile(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(p.roles, deref(in.RoleName)) {
		return nil, noSuchEntity("The role with name %s cannot be found.", deref(in.RoleName))
	}
	p.roles = nil
	return &iam.RemoveRoleFromInstanceProfileOutput{}, nil
}

func (c *Cloud) deleteInstanceProfile(_ *call, in *iam.DeleteInstanceProfileInput) (*iam.DeleteInstanceProfileOutput, error) {
	p, err := c.findProfile(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	if len(p.roles) > 0 {
		return nil, conflict("DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.")
	}
	delete(c.iam.profiles, p.name)
	return &iam.DeleteInstanceProfileOutput{}, nil
}

func (c *Cloud) tagInstanceProfile(_ *call, in *iam.TagInstanceProfileInput) (*iam.TagInstanceProfileOutput, error) {
	p, err := c.findProfile(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	return &iam.TagInstanceProfileOutput{}, retag(p.tags, tagsOfIAM(in.Tags), nil)
}

func (c *Cloud) untagInstanceProfile(_ *call, in *iam.UntagInstanceProfileInput) (*iam.UntagInstanceProfileOutput, error) {
	p, err := c.findProfile(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	return &iam.UntagInstanceProfileOutput{}, retag(p.tags, nil, in.TagKeys)
}
