package lookup

import (
	"context"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
)

// A cluster that buys a machine every half minute does not fill a subnet in the agent's books: each
// machine counts only until EC2 counts its addresses.
func TestPromisesOfASteadyStream(t *testing.T) {
	now := time.Now()
	reads := &client.EC2{Subnets: func(context.Context, *ec2.DescribeSubnetsInput, ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error) {
		return &ec2.DescribeSubnetsOutput{Subnets: []types.Subnet{{SubnetId: awssdk.String("subnet-1"), AvailableIpAddressCount: awssdk.Int32(250)}}}, nil
	}}
	n := NewNetwork(reads, func() time.Time { return now })
	if _, err := n.Subnets(t.Context(), []map[string]string{{"Name": "*"}}); err != nil {
		t.Fatal(err)
	}
	for machine := range 120 {
		n.Promise("subnet-1", 10)
		now = now.Add(30 * time.Second)
		found, err := n.Subnets(t.Context(), []map[string]string{{"Name": "*"}})
		if err != nil {
			t.Fatal(err)
		}
		if taken := 250 - found[0].Free; taken < 10 || taken > 5*10 {
			t.Fatalf("after machine %d, %d addresses count as promised", machine+1, taken)
		}
	}
}

// What EC2 counts as taken by the machines of a burst is not subtracted again.
func TestPromisesOfABurstCountOnce(t *testing.T) {
	now, count := time.Now(), int32(251)
	reads := &client.EC2{Subnets: func(context.Context, *ec2.DescribeSubnetsInput, ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error) {
		return &ec2.DescribeSubnetsOutput{Subnets: []types.Subnet{{SubnetId: awssdk.String("subnet-1"), AvailableIpAddressCount: &count}}}, nil
	}}
	n := NewNetwork(reads, func() time.Time { return now })
	free := func(want int64) {
		t.Helper()
		found, err := n.Subnets(t.Context(), []map[string]string{{"Name": "*"}})
		if err != nil || found[0].Free != want {
			t.Errorf("subnets = %+v, error %v, want %d free addresses", found, err, want)
		}
	}
	free(251)
	now = now.Add(10 * time.Second)
	for range 5 {
		n.Promise("subnet-1", 30)
	}
	free(101)
	now = now.Add(50 * time.Second)
	count = 221 // one of the machines has its addresses
	free(101)
	now = now.Add(time.Minute)
	count = 101
	free(101)
}
