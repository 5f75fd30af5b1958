package aws

import (
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

const (
	tagName = "Name"
	owned   = "owned"
)

// sharedTags returns the tags of everything that is created for a Provisioner, including
// launch templates. Users can override Name, but not the tags of ownership.
func (o *Options) sharedTags(provisioner string, profile *api.NodeProfile) map[string]string {
	out := map[string]string{tagName: api.LabelProvisioner + "/" + provisioner}
	maps.Copy(out, o.Tags)
	maps.Copy(out, profile.Tags)
	maps.Copy(out, o.ownership())
	out[api.LabelProvisioner] = provisioner
	return out
}

// ownership returns the tags by which the agent finds the cluster's resources.
func (o *Options) ownership() map[string]string {
	return map[string]string{
		api.TagClusterPrefix + o.ClusterName: owned,
		api.TagManagedBy:                     o.ClusterName,
	}
}

// maxTags is how many tags EC2 allows on a machine, and maxTagKey how many characters in a key.
const maxTags, maxTagKey = 50, 127

// launchTags returns the tags of everything that one launch creates. It leaves out those of the order that EC2 would
// refuse, because they only help to make a lost Node object again.
func (o *Options) launchTags(order *offer.Order, profile *api.NodeProfile) map[string]string {
	out := o.sharedTags(order.Provisioner, profile)
	out[api.TagLaunchID] = order.LaunchID
	for _, key := range slices.Sorted(maps.Keys(order.Tags)) { // the hashes before the labels
		if _, set := out[key]; !set && len(out) < maxTags && utf8.RuneCountInString(key) <= maxTagKey {
			out[key] = order.Tags[key]
		}
	}
	return out
}

func tagList(tags map[string]string) []types.Tag {
	out := make([]types.Tag, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		value := tags[key]
		out = append(out, types.Tag{Key: &key, Value: &value})
	}
	return out
}

func tagMap(tags []types.Tag) map[string]string {
	out := make(map[string]string, len(tags))
	for _, tag := range tags {
		if tag.Key != nil && tag.Value != nil {
			out[*tag.Key] = *tag.Value
		}
	}
	return out
}

// ownedFilters match resources with the tags of ownership.
func (o *Options) ownedFilters() []types.Filter {
	return []types.Filter{
		client.Filter("tag:"+api.TagManagedBy, o.ClusterName),
		client.Filter("tag:"+api.TagClusterPrefix+o.ClusterName, owned),
	}
}

// marked reports whether the tags that are left of an instance still show that it belongs to
// the cluster. These are the tags that the agent's IAM policy requires too.
func (o *Options) marked(tags map[string]string) bool {
	manager, managed := tags[api.TagManagedBy]
	_, provisioned := tags[api.LabelProvisioner]
	return manager == o.ClusterName || !managed && provisioned && tags[api.TagClusterPrefix+o.ClusterName] == owned
}

// owns reports whether tags include all tags of ownership.
func (o *Options) owns(tags map[string]string) bool {
	for key, value := range o.ownership() {
		if tags[key] != value {
			return false
		}
	}
	return true
}
