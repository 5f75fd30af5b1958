package aws

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// ec2Client makes the calls of EC2 that are needed. It holds them as functions: where a
// client of the SDK is in an interface, or in a struct that is, the linker keeps all of
// its 700 calls, which are a third of the program.
type ec2Client struct {
	availabilityZones    ec2Call[ec2.DescribeAvailabilityZonesInput, ec2.DescribeAvailabilityZonesOutput]
	createFleet          ec2Call[ec2.CreateFleetInput, ec2.CreateFleetOutput]
	createTags           ec2Call[ec2.CreateTagsInput, ec2.CreateTagsOutput]
	createLaunchTemplate ec2Call[ec2.CreateLaunchTemplateInput, ec2.CreateLaunchTemplateOutput]
	deleteTags           ec2Call[ec2.DeleteTagsInput, ec2.DeleteTagsOutput]
	deleteLaunchTemplate ec2Call[ec2.DeleteLaunchTemplateInput, ec2.DeleteLaunchTemplateOutput]
	terminateInstances   ec2Call[ec2.TerminateInstancesInput, ec2.TerminateInstancesOutput]
	capacityReservations ec2Call[ec2.DescribeCapacityReservationsInput, ec2.DescribeCapacityReservationsOutput]
	images               ec2Call[ec2.DescribeImagesInput, ec2.DescribeImagesOutput]
	instances            ec2Call[ec2.DescribeInstancesInput, ec2.DescribeInstancesOutput]
	instanceTypes        ec2Call[ec2.DescribeInstanceTypesInput, ec2.DescribeInstanceTypesOutput]
	offerings            ec2Call[ec2.DescribeInstanceTypeOfferingsInput, ec2.DescribeInstanceTypeOfferingsOutput]
	launchTemplates      ec2Call[ec2.DescribeLaunchTemplatesInput, ec2.DescribeLaunchTemplatesOutput]
	securityGroups       ec2Call[ec2.DescribeSecurityGroupsInput, ec2.DescribeSecurityGroupsOutput]
	spotPrices           ec2Call[ec2.DescribeSpotPriceHistoryInput, ec2.DescribeSpotPriceHistoryOutput]
	subnets              ec2Call[ec2.DescribeSubnetsInput, ec2.DescribeSubnetsOutput]
}

type ec2Call[I, O any] func(context.Context, *I, ...func(*ec2.Options)) (*O, error)

func newEC2(cfg awssdk.Config, options ...func(*ec2.Options)) *ec2Client {
	sdk := ec2.NewFromConfig(cfg, options...)
	return &ec2Client{
		availabilityZones:    sdk.DescribeAvailabilityZones,
		createFleet:          sdk.CreateFleet,
		createTags:           sdk.CreateTags,
		createLaunchTemplate: sdk.CreateLaunchTemplate,
		deleteTags:           sdk.DeleteTags,
		deleteLaunchTemplate: sdk.DeleteLaunchTemplate,
		terminateInstances:   sdk.TerminateInstances,
		capacityReservations: sdk.DescribeCapacityReservations,
		images:               sdk.DescribeImages,
		instances:            sdk.DescribeInstances,
		instanceTypes:        sdk.DescribeInstanceTypes,
		offerings:            sdk.DescribeInstanceTypeOfferings,
		launchTemplates:      sdk.DescribeLaunchTemplates,
		securityGroups:       sdk.DescribeSecurityGroups,
		spotPrices:           sdk.DescribeSpotPriceHistory,
		subnets:              sdk.DescribeSubnets,
	}
}

// The SDK's paginators want methods.

func (c *ec2Client) DescribeCapacityReservations(ctx context.Context, in *ec2.DescribeCapacityReservationsInput, o ...func(*ec2.Options)) (*ec2.DescribeCapacityReservationsOutput, error) {
	return c.capacityReservations(ctx, in, o...)
}

func (c *ec2Client) DescribeImages(ctx context.Context, in *ec2.DescribeImagesInput, o ...func(*ec2.Options)) (*ec2.DescribeImagesOutput, error) {
	return c.images(ctx, in, o...)
}

func (c *ec2Client) DescribeInstances(ctx context.Context, in *ec2.DescribeInstancesInput, o ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
	return c.instances(ctx, in, o...)
}

func (c *ec2Client) DescribeInstanceTypes(ctx context.Context, in *ec2.DescribeInstanceTypesInput, o ...func(*ec2.Options)) (*ec2.DescribeInstanceTypesOutput, error) {
	return c.instanceTypes(ctx, in, o...)
}

func (c *ec2Client) DescribeInstanceTypeOfferings(ctx context.Context, in *ec2.DescribeInstanceTypeOfferingsInput, o ...func(*ec2.Options)) (*ec2.DescribeInstanceTypeOfferingsOutput, error) {
	return c.offerings(ctx, in, o...)
}

func (c *ec2Client) DescribeLaunchTemplates(ctx context.Context, in *ec2.DescribeLaunchTemplatesInput, o ...func(*ec2.Options)) (*ec2.DescribeLaunchTemplatesOutput, error) {
	return c.launchTemplates(ctx, in, o...)
}

func (c *ec2Client) DescribeSecurityGroups(ctx context.Context, in *ec2.DescribeSecurityGroupsInput, o ...func(*ec2.Options)) (*ec2.DescribeSecurityGroupsOutput, error) {
	return c.securityGroups(ctx, in, o...)
}

func (c *ec2Client) DescribeSpotPriceHistory(ctx context.Context, in *ec2.DescribeSpotPriceHistoryInput, o ...func(*ec2.Options)) (*ec2.DescribeSpotPriceHistoryOutput, error) {
	return c.spotPrices(ctx, in, o...)
}

func (c *ec2Client) DescribeSubnets(ctx context.Context, in *ec2.DescribeSubnetsInput, o ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error) {
	return c.subnets(ctx, in, o...)
}
