// Package resource is what the resources of EC2 have in common: a name, tags, and attributes
// that the filters of a call look at.
package resource

import (
	"maps"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
)

// ARN returns the ARN of a resource of the account. A kind is a word such as "instance".
func ARN(a *account.Account, kind, id string) string {
	return "arn:aws:ec2:" + a.Region + ":" + a.AccountID + ":" + kind + "/" + id
}

// Tags turns tags into the SDK's form, sorted by key.
func Tags(tags map[string]string) []types.Tag {
	list := make([]types.Tag, 0, len(tags))
	for _, key := range account.SortedKeys(tags) {
		value := tags[key]
		list = append(list, types.Tag{Key: &key, Value: &value})
	}
	return list
}

// TagMap turns the SDK's form into a map.
func TagMap(list []types.Tag) map[string]string {
	tags := map[string]string{}
	for _, tag := range list {
		tags[account.Deref(tag.Key)] = account.Deref(tag.Value)
	}
	return tags
}

// ReadTags is TagMap for the tags of a request: it checks the limits on keys and values.
func ReadTags(list []types.Tag) (map[string]string, error) {
	tags := map[string]string{}
	for _, tag := range list {
		key, value := account.Deref(tag.Key), account.Deref(tag.Value)
		switch {
		case key == "" || len(key) > 127:
			return nil, account.Fail("InvalidParameterValue", "Tag key must be between 1 and 127 characters long: '%s'", key)
		case len(key) >= 4 && key[:4] == "aws:":
			return nil, account.Fail("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
		case len(value) > 255:
			return nil, account.Fail("InvalidParameterValue", "Tag value exceeds the maximum length of 255 characters: '%s'", value)
		}
		if _, twice := tags[key]; twice {
			return nil, account.Fail("InvalidParameterValue", "Duplicate tag key '%s' specified.", key)
		}
		tags[key] = value
	}
	if len(tags) > account.MaxTags {
		return nil, account.Fail("TagLimitExceeded", "The maximum number of tags for a resource has been reached: %d", account.MaxTags)
	}
	return tags, nil
}

// TagsFor returns the tags that specifications give to a type of resource.
func TagsFor(specifications []types.TagSpecification, kind types.ResourceType) map[string]string {
	tags := map[string]string{}
	for _, s := range specifications {
		if s.ResourceType == kind {
			maps.Copy(tags, TagMap(s.Tags))
		}
	}
	return tags
}

// TaggingOnCreate is the permission to tag what a call makes; untagged it is
// not needed.
func TaggingOnCreate(creator, resource string, tags map[string]string) []account.Access {
	if len(tags) == 0 {
		return nil
	}
	keys := account.RequestTags(tags)
	keys["ec2:CreateAction"] = []string{creator}
	return []account.Access{{Action: "ec2:CreateTags", Resource: resource, Context: keys}}
}

// Bool is the value of an attribute that is true or false.
func Bool(b bool) []string { return []string{strconv.FormatBool(b)} }
