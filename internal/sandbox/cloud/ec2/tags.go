package ec2

import (
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/resource"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
)

// tagging changes the tags of what there is.
type tagging struct{ *EC2 }

// taggable is a resource that can be tagged after it was made. Volumes and
// interfaces are not modelled on their own.
type taggable struct {
	kind, id string
	tags     map[string]string
}

// taggables returns all resources that can be tagged, by id.
func (c tagging) taggables() map[string]taggable {
	all := map[string]taggable{c.Network.VPC: {"vpc", c.Network.VPC, c.Network.Tags}}
	for id, m := range c.Machines {
		all[id] = taggable{"instance", id, m.tags}
	}
	for id, tags := range c.Templates.Tags() {
		all[id] = taggable{"launch-template", id, tags}
	}
	for id, s := range c.Network.Subnets {
		all[id] = taggable{"subnet", id, s.Tags}
	}
	for id, g := range c.Network.Groups {
		all[id] = taggable{"security-group", id, g.Tags}
	}
	return all
}

// findTaggables looks resources up by id; all must exist.
func (c tagging) findTaggables(ids []string) ([]taggable, error) {
	if len(ids) == 0 {
		return nil, account.Fail("MissingParameter", "The request must contain the parameter resourceIdSet")
	}
	all := c.taggables()
	var found []taggable
	for _, id := range ids {
		resource, ok := all[id]
		if !ok {
			prefix, _, _ := strings.Cut(id, "-")
			return nil, unknownResource(prefix, id)
		}
		found = append(found, resource)
	}
	return found, nil
}

func unknownResource(prefix, id string) *account.APIError {
	switch prefix {
	case "i":
		return account.Fail("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", id)
	case "lt":
		return account.Fail("InvalidLaunchTemplateId.NotFound", "The launch template ID '%s' does not exist", id)
	case "subnet":
		return account.Fail("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
	case "sg":
		return account.Fail("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
	}
	return account.Fail("InvalidID", "The ID '%s' is not valid", id)
}

// accessesToTags is the permission to change tags of each resource.
func (c tagging) accessesToTags(action string, ids []string, request policy.ContextKeys) []account.Access {
	all := c.taggables()
	var needed []account.Access
	for _, id := range ids {
		r := all[id]
		needed = append(needed, account.Access{Action: action, Resource: resource.ARN(c.Account, r.kind, id), Context: account.Merge(request, account.ResourceTags("ec2", r.tags))})
	}
	return needed
}

func accessesOfCreateTags(c tagging, in *ec2.CreateTagsInput) []account.Access {
	wanted := map[string]string{}
	for _, tag := range in.Tags {
		wanted[account.Deref(tag.Key)] = account.Deref(tag.Value)
	}
	return c.accessesToTags("ec2:CreateTags", in.Resources, account.RequestTags(wanted))
}

func (c tagging) createTags(_ *account.Caller, in *ec2.CreateTagsInput) (*ec2.CreateTagsOutput, error) {
	if len(in.Tags) == 0 {
		return nil, account.Fail("MissingParameter", "The request must contain the parameter tagSet")
	}
	tags, err := resource.ReadTags(in.Tags)
	if err != nil {
		return nil, err
	}
	resources, err := c.findTaggables(in.Resources)
	if err != nil {
		return nil, err
	}
	for _, resource := range resources {
		after := maps.Clone(resource.tags)
		maps.Copy(after, tags)
		if len(after) > account.MaxTags {
			return nil, account.Fail("TagLimitExceeded", "The maximum number of tags for resource %s has been reached: %d", resource.id, account.MaxTags)
		}
	}
	for _, resource := range resources {
		maps.Copy(resource.tags, tags)
	}
	return &ec2.CreateTagsOutput{}, nil
}

func accessesOfDeleteTags(c tagging, in *ec2.DeleteTagsInput) []account.Access {
	var keys []string
	for _, tag := range in.Tags {
		keys = append(keys, account.Deref(tag.Key))
	}
	return c.accessesToTags("ec2:DeleteTags", in.Resources, policy.ContextKeys{"aws:TagKeys": keys})
}

// deleteTags removes the given tags; one with a value only if it has that
// value, and all of them if none is given.
func (c tagging) deleteTags(_ *account.Caller, in *ec2.DeleteTagsInput) (*ec2.DeleteTagsOutput, error) {
	resources, err := c.findTaggables(in.Resources)
	if err != nil {
		return nil, err
	}
	for _, resource := range resources {
		if len(in.Tags) == 0 {
			clear(resource.tags)
		}
		for _, tag := range in.Tags {
			if tag.Value == nil || resource.tags[account.Deref(tag.Key)] == *tag.Value {
				delete(resource.tags, account.Deref(tag.Key))
			}
		}
	}
	return &ec2.DeleteTagsOutput{}, nil
}
