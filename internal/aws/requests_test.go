package aws

import (
	"errors"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
)

// Each attempt is told, as the account has seen it.
func TestObserveRequests(t *testing.T) {
	f := start(t)
	var mu sync.Mutex
	codes := map[int]int{}
	cfg := f.config.Copy()
	ObserveRequests(&cfg, func(service, operation string, code int) {
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

// Nothing that changes something reaches AWS while the check refuses, and it is not
// tried again; what only looks does.
func TestGuardRequests(t *testing.T) {
	f := start(t)
	refusal := errors.New("no lease")
	cfg := f.config.Copy()
	asked := 0
	GuardRequests(&cfg, func() error { asked++; return refusal })
	id, url := []string{"i-0123456789abcdef0"}, "https://queue"
	machines, queue := ec2.NewFromConfig(cfg), sqs.NewFromConfig(cfg)
	before := len(f.account.Calls())
	calls := map[string]func() error{
		"CreateFleet": func() error {
			_, err := machines.CreateFleet(t.Context(), (&launch{cloud: f.Cloud, order: &offer.Order{}, resolved: &resolved{profile: &api.NodeProfile{}}}).fleetInput(&fleetRequest{}, "x"))
			return err
		},
		"TerminateInstances": func() error {
			_, err := machines.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: id})
			return err
		},
		"CreateTags": func() error {
			_, err := machines.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: id, Tags: tagList(map[string]string{"a": "b"})})
			return err
		},
		"DeleteMessage": func() error {
			_, err := queue.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: &url})
			return err
		},
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, refusal) {
			t.Errorf("%s: error = %v, want the refusal", name, err)
		}
	}
	if made := len(f.account.Calls()) - before; made != 0 || asked != len(calls) {
		t.Errorf("%d requests were made after %d checks, want none after one check for each of %d", made, asked, len(calls))
	}
	if _, err := machines.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{}); err != nil {
		t.Errorf("looking was refused: %v", err)
	}
}
