package aws

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// tagNodePool is the tag with the NodePool of an instance of Karpenter. Karpenter 0.33 and
// later finds its instances by it, and terminates those that have it and no NodeClaim. Its
// published policy does not let it terminate other instances.
//
// Karpenter 0.28 to 0.32 finds instances by the tag of Provisioners too, and terminates those that
// have karpenter.sh/managed-by and neither a Machine nor a NodeClaim: the agent's, bought or taken over.
const tagNodePool = api.LabelNodePool

// Karpenters returns the cluster's instances that belong to Karpenter and are not shutting
// down, sorted by id. Their Provisioner is the NodePool. They are Owned if TakeOver has tagged
// them. It waits until EKS has described the cluster.
func (c *Cloud) Karpenters(ctx context.Context) ([]offer.Instance, error) {
	if _, err := c.cluster.Get(ctx); err != nil {
		return nil, fmt.Errorf("list the instances of Karpenter: %w", err)
	}
	out, err := c.describe(ctx, c.listings, &ec2.DescribeInstancesInput{Filters: []types.Filter{
		client.Filter("tag-key", tagNodePool),
		client.Filter("tag:"+api.TagClusterPrefix+c.options.ClusterName, owned),
		client.Filter("instance-state-name", "pending", "running", "stopping", "stopped"),
	}})
	if err != nil {
		return nil, fmt.Errorf("list the instances of Karpenter: %w", err)
	}
	for i := range out {
		out[i].Provisioner = out[i].Tags[tagNodePool]
		// Karpenter before 1.0 sets the tags of ownership too, but never a launch id.
		out[i].Owned = out[i].Owned && out[i].LaunchID != ""
	}
	return out, nil
}

// TakeOver sets the tags on instances of Karpenter that Instances and Terminate require, as
// instances of a Provisioner. It returns the ids of those that have the tags now, sorted.
func (c *Cloud) TakeOver(ctx context.Context, provisioner string, ids []string) ([]string, error) {
	tags := c.options.ownership()
	tags[api.LabelProvisioner], tags[api.TagLaunchID] = provisioner, api.LaunchKarpenter
	return client.EachChunk(ids, idsPerCall, func(chunk []string) error {
		_, err := client.Invoke(ctx, c.writes.CreateTags, &ec2.CreateTagsInput{Resources: chunk, Tags: tagList(tags)})
		if err != nil {
			return fmt.Errorf("take over %v from Karpenter: tag them: %w", chunk, err)
		}
		return nil
	})
}

// Disown removes the tag by which Karpenter finds its instances. It returns the ids of those
// that do not have it any more, sorted.
func (c *Cloud) Disown(ctx context.Context, ids []string) ([]string, error) {
	key := tagNodePool
	return client.EachChunk(ids, idsPerCall, func(chunk []string) error {
		_, err := client.Invoke(ctx, c.writes.DeleteTags, &ec2.DeleteTagsInput{Resources: chunk, Tags: []types.Tag{{Key: &key}}})
		if err != nil {
			return fmt.Errorf("take over %v from Karpenter: remove the tag %s: %w", chunk, key, err)
		}
		return nil
	})
}

// GiveBack sets the tags by which Karpenter finds an instance of a NodePool. Releases before
// 1.0 require karpenter.sh/managed-by, which the agent's instances have, and later ones
// eks:eks-cluster-name.
func (c *Cloud) GiveBack(ctx context.Context, id, nodePool, nodeClass string) error {
	tags := tagList(map[string]string{
		tagNodePool: nodePool, api.LabelNodeClass: nodeClass, api.TagEKSCluster: c.options.ClusterName,
	})
	if _, err := client.Invoke(ctx, c.writes.CreateTags, &ec2.CreateTagsInput{Resources: []string{id}, Tags: tags}); err != nil {
		return fmt.Errorf("give %s back to Karpenter: tag it: %w", id, err)
	}
	return nil
}

// LetGo removes the tags that make an instance one of the agent's. It keeps those of ownership,
// which Karpenter needs too: without a launch id, the agent takes the instance for another program's.
func (c *Cloud) LetGo(ctx context.Context, id string) error {
	var tags []types.Tag
	for _, key := range []string{api.LabelProvisioner, api.TagLaunchID} {
		tags = append(tags, types.Tag{Key: &key})
	}
	if _, err := client.Invoke(ctx, c.writes.DeleteTags, &ec2.DeleteTagsInput{Resources: []string{id}, Tags: tags}); err != nil {
		return fmt.Errorf("give %s back to Karpenter: remove the agent's tags: %w", id, err)
	}
	return nil
}
