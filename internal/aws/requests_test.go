package aws

import (
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
)

// Each attempt is told, as the account has seen it.
func TestTellRequests(t *testing.T) {
	f := start(t)
	var mu sync.Mutex
	codes := map[int]int{}
	cfg := f.config.Copy()
	TellRequests(&cfg, func(service, operation string, code int) {
		if service != "EC2" || operation != "DescribeSubnets" {
			t.Errorf("told of %s %s", service, operation)
		}
		mu.Lock()
		defer mu.Unlock()
		codes[code]++
	})
	f.account.Inject(cloud.Fault{Service: "ec2", Action: "DescribeSubnets", Code: "RequestLimitExceeded", Times: 2})
	before := len(f.account.Calls())
	if _, err := ec2.NewFromConfig(cfg).DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{}); err != nil {
		t.Fatal(err)
	}
	if seen := len(f.account.Calls()) - before; seen != 3 || codes[200] != 1 || codes[503] != 2 {
		t.Errorf("the account has seen %d requests, told were %v; want two that were throttled and one answer", seen, codes)
	}
}
