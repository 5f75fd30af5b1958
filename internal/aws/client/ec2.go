package client

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// EC2 makes the calls of EC2 that the product needs. It holds functions instead of the
// SDK's client: if that were converted to an interface, alone or as a field of a struct,
// the linker would keep all of its 700 methods, which are a third of the program.
type EC2 struct {
	AvailabilityZones    ec2Call[ec2.DescribeAvailabilityZonesInput, ec2.DescribeAvailabilityZonesOutput]
	CreateFleet          ec2Call[ec2.CreateFleetInput, ec2.CreateFleetOutput]
	CreateTags           ec2Call[ec2.CreateTagsInput, ec2.CreateTagsOutput]
	CreateLaunchTemplate ec2Call[ec2.CreateLaunchTemplateInput, ec2.CreateLaunchTemplateOutput]
	DeleteTags           ec2Call[ec2.DeleteTagsInput, ec2.DeleteTagsOutput]
	DeleteLaunchTemplate ec2Call[ec2.DeleteLaunchTemplateInput, ec2.DeleteLaunchTemplateOutput]
	TerminateInstances   ec2Call[ec2.TerminateInstancesInput, ec2.TerminateInstancesOutput]
	CapacityReservations ec2Call[ec2.DescribeCapacityReservationsInput, ec2.DescribeCapacityReservationsOutput]
	Images               ec2Call[ec2.DescribeImagesInput, ec2.DescribeImagesOutput]
	Instances            ec2Call[ec2.DescribeInstancesInput, ec2.DescribeInstancesOutput]
	InstanceTypes        ec2Call[ec2.DescribeInstanceTypesInput, ec2.DescribeInstanceTypesOutput]
	Offerings            ec2Call[ec2.DescribeInstanceTypeOfferingsInput, ec2.DescribeInstanceTypeOfferingsOutput]
	LaunchTemplates      ec2Call[ec2.DescribeLaunchTemplatesInput, ec2.DescribeLaunchTemplatesOutput]
	SecurityGroups       ec2Call[ec2.DescribeSecurityGroupsInput, ec2.DescribeSecurityGroupsOutput]
	SpotPrices           ec2Call[ec2.DescribeSpotPriceHistoryInput, ec2.DescribeSpotPriceHistoryOutput]
	Subnets              ec2Call[ec2.DescribeSubnetsInput, ec2.DescribeSubnetsOutput]
}

type ec2Call[I, O any] func(context.Context, *I, ...func(*ec2.Options)) (*O, error)

// NewEC2 returns a client for the configuration with the options.
func NewEC2(cfg awssdk.Config, options ...func(*ec2.Options)) *EC2 {
	sdk := ec2.NewFromConfig(cfg, options...)
	return &EC2{
		AvailabilityZones:    sdk.DescribeAvailabilityZones,
		CreateFleet:          sdk.CreateFleet,
		CreateTags:           sdk.CreateTags,
		CreateLaunchTemplate: sdk.CreateLaunchTemplate,
		DeleteTags:           sdk.DeleteTags,
		DeleteLaunchTemplate: sdk.DeleteLaunchTemplate,
		TerminateInstances:   sdk.TerminateInstances,
		CapacityReservations: sdk.DescribeCapacityReservations,
		Images:               sdk.DescribeImages,
		Instances:            sdk.DescribeInstances,
		InstanceTypes:        sdk.DescribeInstanceTypes,
		Offerings:            sdk.DescribeInstanceTypeOfferings,
		LaunchTemplates:      sdk.DescribeLaunchTemplates,
		SecurityGroups:       sdk.DescribeSecurityGroups,
		SpotPrices:           sdk.DescribeSpotPriceHistory,
		Subnets:              sdk.DescribeSubnets,
	}
}

// pageSize is the largest size of a page. Those of these calls for which EC2 has no smaller default than this ask for it:
// otherwise EC2 answers with everything at once, or is too late to.
var pageSize = awssdk.Int32(1000)

// The SDK's paginators require these methods.

// DescribeCapacityReservations is a call of EC2.
func (c *EC2) DescribeCapacityReservations(ctx context.Context, in *ec2.DescribeCapacityReservationsInput, o ...func(*ec2.Options)) (*ec2.DescribeCapacityReservationsOutput, error) {
	return c.CapacityReservations(ctx, in, o...)
}

// DescribeImages is a call of EC2.
func (c *EC2) DescribeImages(ctx context.Context, in *ec2.DescribeImagesInput, o ...func(*ec2.Options)) (*ec2.DescribeImagesOutput, error) {
	in.MaxResults = pageSize
	return c.Images(ctx, in, o...)
}

// DescribeInstances is a call of EC2.
func (c *EC2) DescribeInstances(ctx context.Context, in *ec2.DescribeInstancesInput, o ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
	in.MaxResults = pageSize
	return c.Instances(ctx, in, o...)
}

// DescribeInstanceTypes is a call of EC2.
func (c *EC2) DescribeInstanceTypes(ctx context.Context, in *ec2.DescribeInstanceTypesInput, o ...func(*ec2.Options)) (*ec2.DescribeInstanceTypesOutput, error) {
	return c.InstanceTypes(ctx, in, o...)
}

// DescribeInstanceTypeOfferings is a call of EC2.
func (c *EC2) DescribeInstanceTypeOfferings(ctx context.Context, in *ec2.DescribeInstanceTypeOfferingsInput, o ...func(*ec2.Options)) (*ec2.DescribeInstanceTypeOfferingsOutput, error) {
	in.MaxResults = pageSize
	return c.Offerings(ctx, in, o...)
}

// DescribeLaunchTemplates is a call of EC2.
func (c *EC2) DescribeLaunchTemplates(ctx context.Context, in *ec2.DescribeLaunchTemplatesInput, o ...func(*ec2.Options)) (*ec2.DescribeLaunchTemplatesOutput, error) {
	return c.LaunchTemplates(ctx, in, o...)
}

// DescribeSecurityGroups is a call of EC2.
func (c *EC2) DescribeSecurityGroups(ctx context.Context, in *ec2.DescribeSecurityGroupsInput, o ...func(*ec2.Options)) (*ec2.DescribeSecurityGroupsOutput, error) {
	in.MaxResults = pageSize
	return c.SecurityGroups(ctx, in, o...)
}

// DescribeSpotPriceHistory is a call of EC2.
func (c *EC2) DescribeSpotPriceHistory(ctx context.Context, in *ec2.DescribeSpotPriceHistoryInput, o ...func(*ec2.Options)) (*ec2.DescribeSpotPriceHistoryOutput, error) {
	return c.SpotPrices(ctx, in, o...)
}

// DescribeSubnets is a call of EC2.
func (c *EC2) DescribeSubnets(ctx context.Context, in *ec2.DescribeSubnetsInput, o ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error) {
	in.MaxResults = pageSize
	return c.Subnets(ctx, in, o...)
}
