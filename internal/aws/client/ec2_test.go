package client

import (
	"context"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// asks is a call that notes the size of the page that it is asked for.
func asks[I, O any](size *int32, of func(*I) *int32) ec2Call[I, O] {
	return func(_ context.Context, in *I, _ ...func(*ec2.Options)) (*O, error) {
		*size = awssdk.ToInt32(of(in))
		return new(O), nil
	}
}

func ask[O any](t *testing.T, pages interface {
	NextPage(context.Context, ...func(*ec2.Options)) (*O, error)
}) {
	t.Helper()
	if _, err := pages.NextPage(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Where EC2 would answer with everything at once, pages are asked for.
func TestPagesHaveASize(t *testing.T) {
	var size int32
	c := &EC2{
		Images:         asks[ec2.DescribeImagesInput, ec2.DescribeImagesOutput](&size, func(in *ec2.DescribeImagesInput) *int32 { return in.MaxResults }),
		Instances:      asks[ec2.DescribeInstancesInput, ec2.DescribeInstancesOutput](&size, func(in *ec2.DescribeInstancesInput) *int32 { return in.MaxResults }),
		Offerings:      asks[ec2.DescribeInstanceTypeOfferingsInput, ec2.DescribeInstanceTypeOfferingsOutput](&size, func(in *ec2.DescribeInstanceTypeOfferingsInput) *int32 { return in.MaxResults }),
		SecurityGroups: asks[ec2.DescribeSecurityGroupsInput, ec2.DescribeSecurityGroupsOutput](&size, func(in *ec2.DescribeSecurityGroupsInput) *int32 { return in.MaxResults }),
		Subnets:        asks[ec2.DescribeSubnetsInput, ec2.DescribeSubnetsOutput](&size, func(in *ec2.DescribeSubnetsInput) *int32 { return in.MaxResults }),
	}
	for name, describe := range map[string]func(){
		"images":          func() { ask(t, ec2.NewDescribeImagesPaginator(c, nil)) },
		"instances":       func() { ask(t, ec2.NewDescribeInstancesPaginator(c, nil)) },
		"offerings":       func() { ask(t, ec2.NewDescribeInstanceTypeOfferingsPaginator(c, nil)) },
		"security groups": func() { ask(t, ec2.NewDescribeSecurityGroupsPaginator(c, nil)) },
		"subnets":         func() { ask(t, ec2.NewDescribeSubnetsPaginator(c, nil)) },
	} {
		size = 0
		if describe(); size != 1000 {
			t.Errorf("%s: pages of %d, want 1000", name, size)
		}
	}
}
