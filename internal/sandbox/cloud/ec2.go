package cloud

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/wire"
)

func newEC2() *service {
	s := &service{
		name:       "ec2",
		protocol:   queryProtocol{dialect: wire.EC2(), namespace: "http://ec2.amazonaws.com/doc/2016-11-15/"},
		words:      ec2Dialect(),
		operations: map[string]operation{},
	}
	add(s, onAnything[ec2.DescribeInstanceTypesInput]("ec2:DescribeInstanceTypes"), (*Cloud).describeInstanceTypes)
	add(s, onAnything[ec2.DescribeInstanceTypeOfferingsInput]("ec2:DescribeInstanceTypeOfferings"), (*Cloud).describeInstanceTypeOfferings)
	add(s, onAnything[ec2.DescribeSpotPriceHistoryInput]("ec2:DescribeSpotPriceHistory"), (*Cloud).describeSpotPriceHistory)
	add(s, onAnything[ec2.DescribeAvailabilityZonesInput]("ec2:DescribeAvailabilityZones"), (*Cloud).describeAvailabilityZones)
	add(s, onAnything[ec2.DescribeVpcsInput]("ec2:DescribeVpcs"), (*Cloud).describeVpcs)
	add(s, onAnything[ec2.DescribeSubnetsInput]("ec2:DescribeSubnets"), (*Cloud).describeSubnets)
	add(s, onAnything[ec2.DescribeSecurityGroupsInput]("ec2:DescribeSecurityGroups"), (*Cloud).describeSecurityGroups)
	add(s, onAnything[ec2.DescribeImagesInput]("ec2:DescribeImages"), (*Cloud).describeImages)
	add(s, onAnything[ec2.DescribeLaunchTemplatesInput]("ec2:DescribeLaunchTemplates"), (*Cloud).describeLaunchTemplates)
	add(s, onAnything[ec2.DescribeLaunchTemplateVersionsInput]("ec2:DescribeLaunchTemplateVersions"), (*Cloud).describeLaunchTemplateVersions)
	add(s, onAnything[ec2.DescribeInstancesInput]("ec2:DescribeInstances"), (*Cloud).describeInstances)
	add(s, onAnything[ec2.DescribeTagsInput]("ec2:DescribeTags"), (*Cloud).describeTags)
	add(s, accessesOfCreateLaunchTemplate, (*Cloud).createLaunchTemplate)
	add(s, accessesOfDeleteLaunchTemplate, (*Cloud).deleteLaunchTemplate)
	add(s, accessesOfCreateFleet, (*Cloud).createFleet)
	add(s, accessesOfRunInstances, (*Cloud).runInstances)
	add(s, accessesOfTerminateInstances, (*Cloud).terminateInstances)
	add(s, accessesOfCreateTags, (*Cloud).createTags)
	add(s, accessesOfDeleteTags, (*Cloud).deleteTags)
	return s
}

// ec2ARN returns the ARN of an EC2 resource of this account.
func (c *Cloud) ec2ARN(kind, id string) string {
	return "arn:aws:ec2:" + c.region + ":" + c.account + ":" + kind + "/" + id
}

// ec2Tags turns tags into the SDK's form, sorted by key.
func ec2Tags(tags map[string]string) []types.Tag {
	list := make([]types.Tag, 0, len(tags))
	for _, key := range sortedKeys(tags) {
		value := tags[key]
		list = append(list, types.Tag{Key: &key, Value: &value})
	}
	return list
}

// readTags turns the SDK's form into a map, checking the limits on keys and
// values.
func readTags(list []types.Tag) (map[string]string, error) {
	tags := map[string]string{}
	for _, tag := range list {
		key, value := deref(tag.Key), deref(tag.Value)
		switch {
		case key == "" || len(key) > 127:
			return nil, fail("InvalidParameterValue", "Tag key must be between 1 and 127 characters long: '%s'", key)
		case len(key) >= 4 && key[:4] == "aws:":
			return nil, fail("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
		case len(value) > 255:
			return nil, fail("InvalidParameterValue", "Tag value exceeds the maximum length of 255 characters: '%s'", value)
		}
		if _, twice := tags[key]; twice {
			return nil, fail("InvalidParameterValue", "Duplicate tag key '%s' specified.", key)
		}
		tags[key] = value
	}
	if len(tags) > maxTags {
		return nil, fail("TagLimitExceeded", "The maximum number of tags for a resource has been reached: %d", maxTags)
	}
	return tags, nil
}

// maxTags is how many tags a resource may have.
const maxTags = 50

func boolText(b bool) []string { return []string{strconv.FormatBool(b)} }
