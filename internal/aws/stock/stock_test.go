package stock

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
)

// While DescribeInstanceTypes hangs after a start, callers wait for the first read only. Afterwards, all that ask in a
// turn wait for two seconds together, and get the reason why the last read failed.
func TestCatalogueThatCannotBeReadAfterAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hangs atomic.Bool
		hangs.Store(true)
		reads := &client.EC2{
			AvailabilityZones: func(context.Context, *ec2.DescribeAvailabilityZonesInput, ...func(*ec2.Options)) (*ec2.DescribeAvailabilityZonesOutput, error) {
				return &ec2.DescribeAvailabilityZonesOutput{AvailabilityZones: []types.AvailabilityZone{{}}}, nil
			},
			Offerings: func(context.Context, *ec2.DescribeInstanceTypeOfferingsInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceTypeOfferingsOutput, error) {
				return &ec2.DescribeInstanceTypeOfferingsOutput{InstanceTypeOfferings: []types.InstanceTypeOffering{{}}}, nil
			},
			SpotPrices: func(context.Context, *ec2.DescribeSpotPriceHistoryInput, ...func(*ec2.Options)) (*ec2.DescribeSpotPriceHistoryOutput, error) {
				return &ec2.DescribeSpotPriceHistoryOutput{}, nil
			},
			InstanceTypes: func(ctx context.Context, _ *ec2.DescribeInstanceTypesInput, _ ...func(*ec2.Options)) (*ec2.DescribeInstanceTypesOutput, error) {
				if hangs.Load() {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return &ec2.DescribeInstanceTypesOutput{InstanceTypes: []types.InstanceTypeInfo{{}}}, nil
			},
		}
		s := New(reads, awssdk.Config{Region: "eu-west-1"}, false, time.Now)
		turn := func(most time.Duration) {
			t.Helper()
			began, fails := time.Now(), hangs.Load()
			var all sync.WaitGroup
			for range 20 { // as many Provisioners
				all.Go(func() {
					for range 4 { // as often in a turn
						if _, err := s.Get(t.Context()); (err != nil) != fails || fails && !strings.Contains(err.Error(), "describe instance types") {
							t.Errorf("error %v", err)
						}
					}
				})
			}
			all.Wait()
			if took := time.Since(began); took > most {
				t.Errorf("a turn waited for %s, want at most %s", took, most)
			}
		}
		_, _ = s.Get(t.Context())
		for range 5 {
			time.Sleep(client.RetryInterval)
			turn(client.Patience)
		}
		hangs.Store(false)
		time.Sleep(time.Minute)
		turn(0)
	})
}
