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
