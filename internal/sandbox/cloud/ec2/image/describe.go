package image

import (
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/resource"
)

func (i *Images) describeImages(_ *account.Caller, in *ec2.DescribeImagesInput) (*ec2.DescribeImagesOutput, error) {
	for _, id := range in.ImageIds {
		if !strings.HasPrefix(id, "ami-") {
			return nil, account.Fail("InvalidAMIID.Malformed", "Invalid id: \"%s\" (expecting \"ami-...\")", id)
		}
		if i.ByID(id) == nil {
			return nil, account.Fail("InvalidAMIID.NotFound", "The image id '[%s]' does not exist", id)
		}
	}
	var candidates []*Image
	for _, im := range i.all {
		asked := slices.Contains(in.ImageIds, im.ID)
		if (len(in.ImageIds) == 0 || asked) && i.ownedByAny(im, in.Owners) && (asked || account.Deref(in.IncludeDeprecated) || i.listed(im)) {
			candidates = append(candidates, im)
		}
	}
	kept, err := resource.Selected(candidates, in.Filters, imageAttributes)
	if err != nil {
		return nil, err
	}
	part, next, err := account.Page(kept, in.NextToken, in.MaxResults, 1000)
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeImagesOutput{NextToken: next, Images: []types.Image{}}
	for _, im := range part {
		described := describedImage(im)
		if at := i.deprecation(im); !at.IsZero() {
			described.DeprecationTime = aws.String(at.UTC().Format(imageTime))
		}
		out.Images = append(out.Images, described)
	}
	return out, nil
}

// listed reports whether an answer has an image for which nobody asks by its id: others than
// its owner have to ask for a deprecated one.
func (i *Images) listed(im *Image) bool {
	at := i.deprecation(im)
	return im.owner == i.AccountID || at.IsZero() || i.Now().Before(at)
}

// imageTime is the format of the times of images.
const imageTime = "2006-01-02T15:04:05.000Z"

// ownedByAny understands account ids, aliases and "self".
func (i *Images) ownedByAny(im *Image, owners []string) bool {
	if len(owners) == 0 {
		return true
	}
	for _, owner := range owners {
		if owner == "self" {
			owner = i.AccountID
		}
		if owner == im.owner || (owner == im.ownerAlias && owner != "") {
			return true
		}
	}
	return false
}

func imageAttributes(im *Image) resource.Attributes {
	platform := ""
	if im.Windows {
		platform = "windows"
	}
	return resource.Attributes{
		"image-id": {im.ID}, "name": {im.name}, "description": {im.description}, "architecture": {im.Arch},
		"owner-id": {im.owner}, "owner-alias": {im.ownerAlias}, "state": {"available"}, "image-type": {"machine"},
		"is-public": {"true"}, "root-device-type": {"ebs"}, "virtualization-type": {"hvm"}, "platform": {platform},
		"creation-date": {im.created.Format(time.RFC3339)},
	}.WithTags(im.tags)
}

func describedImage(im *Image) types.Image {
	described := types.Image{
		ImageId: &im.ID, Name: &im.name, Description: &im.description, OwnerId: &im.owner, ImageOwnerAlias: account.NilIfEmpty(im.ownerAlias),
		Architecture: types.ArchitectureValues(im.Arch), CreationDate: aws.String(im.created.UTC().Format(imageTime)),
		State: types.ImageStateAvailable, Public: aws.Bool(true), ImageType: types.ImageTypeValuesMachine,
		RootDeviceName: &im.RootDevice, RootDeviceType: types.DeviceTypeEbs, VirtualizationType: types.VirtualizationTypeHvm,
		EnaSupport: aws.Bool(true), Hypervisor: types.HypervisorTypeXen, PlatformDetails: aws.String("Linux/UNIX"), Tags: resource.Tags(im.tags),
		BlockDeviceMappings: []types.BlockDeviceMapping{{
			DeviceName: &im.RootDevice,
			Ebs:        &types.EbsBlockDevice{VolumeSize: &im.RootSizeGiB, VolumeType: types.VolumeTypeGp3, DeleteOnTermination: aws.Bool(true)},
		}},
	}
	if im.Windows {
		described.Platform, described.PlatformDetails = types.PlatformValuesWindows, aws.String("Windows")
	}
	return described
}
