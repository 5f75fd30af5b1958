package ec2

import (
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
)

func (c *EC2) describeImages(_ *account.Caller, in *ec2.DescribeImagesInput) (*ec2.DescribeImagesOutput, error) {
	for _, id := range in.ImageIds {
		if !strings.HasPrefix(id, "ami-") {
			return nil, account.Fail("InvalidAMIID.Malformed", "Invalid id: \"%s\" (expecting \"ami-...\")", id)
		}
		if c.imageByID(id) == nil {
			return nil, account.Fail("InvalidAMIID.NotFound", "The image id '[%s]' does not exist", id)
		}
	}
	var candidates []*Image
	for _, im := range c.images {
		if (len(in.ImageIds) == 0 || slices.Contains(in.ImageIds, im.id)) && c.ownedByAny(im, in.Owners) {
			candidates = append(candidates, im)
		}
	}
	kept, err := selected(candidates, in.Filters, imageAttributes)
	if err != nil {
		return nil, err
	}
	part, next, err := account.Page(kept, in.NextToken, in.MaxResults, 1000)
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeImagesOutput{NextToken: next, Images: []types.Image{}}
	for _, im := range part {
		out.Images = append(out.Images, describedImage(im))
	}
	return out, nil
}

// ownedByAny understands account ids, aliases and "self".
func (c *EC2) ownedByAny(im *Image, owners []string) bool {
	if len(owners) == 0 {
		return true
	}
	for _, owner := range owners {
		if owner == "self" {
			owner = c.AccountID
		}
		if owner == im.owner || (owner == im.ownerAlias && owner != "") {
			return true
		}
	}
	return false
}

func imageAttributes(im *Image) attributes {
	platform := ""
	if im.windows {
		platform = "windows"
	}
	return attributes{
		"image-id": {im.id}, "name": {im.name}, "description": {im.description}, "architecture": {im.arch},
		"owner-id": {im.owner}, "owner-alias": {im.ownerAlias}, "state": {"available"}, "image-type": {"machine"},
		"is-public": {"true"}, "root-device-type": {"ebs"}, "virtualization-type": {"hvm"}, "platform": {platform},
		"creation-date": {im.created.Format(time.RFC3339)},
	}.withTags(im.tags)
}

func describedImage(im *Image) types.Image {
	described := types.Image{
		ImageId: &im.id, Name: &im.name, Description: &im.description, OwnerId: &im.owner, ImageOwnerAlias: account.NilIfEmpty(im.ownerAlias),
		Architecture: types.ArchitectureValues(im.arch), CreationDate: aws.String(im.created.Format("2006-01-02T15:04:05.000Z")),
		State: types.ImageStateAvailable, Public: aws.Bool(true), ImageType: types.ImageTypeValuesMachine,
		RootDeviceName: &im.rootDevice, RootDeviceType: types.DeviceTypeEbs, VirtualizationType: types.VirtualizationTypeHvm,
		EnaSupport: aws.Bool(true), Hypervisor: types.HypervisorTypeXen, PlatformDetails: aws.String("Linux/UNIX"), Tags: ec2Tags(im.tags),
		BlockDeviceMappings: []types.BlockDeviceMapping{{
			DeviceName: &im.rootDevice,
			Ebs:        &types.EbsBlockDevice{VolumeSize: &im.rootSizeGiB, VolumeType: types.VolumeTypeGp3, DeleteOnTermination: aws.Bool(true)},
		}},
	}
	if im.windows {
		described.Platform, described.PlatformDetails = types.PlatformValuesWindows, aws.String("Windows")
	}
	return described
}
