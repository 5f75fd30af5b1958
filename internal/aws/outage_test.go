package aws

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
)

// While EC2 throttles or denies it, a termination of many instances does not become a request for each of them.
// It does if some of the instances cannot be terminated.
func TestTerminationOfManyIsDividedOnlyForTheSakeOfOne(t *testing.T) {
	for code, want := range map[string]struct{ requests, gone int }{
		"RequestLimitExceeded":  {requests: 1},
		"UnauthorizedOperation": {requests: 4},
		"OperationNotPermitted": {requests: 7, gone: 2}, // the others are protected
	} {
		t.Run(code, func(t *testing.T) {
			f := start(t)
			all := ids(f.launch(t, order("launch-1", 6, onDemand("m5.large", "a"))).Instances)
			terminate, requests := f.writes.TerminateInstances, 0
			f.writes.TerminateInstances = func(ctx context.Context, in *ec2.TerminateInstancesInput, o ...func(*ec2.Options)) (*ec2.TerminateInstancesOutput, error) {
				requests++
				if code == "OperationNotPermitted" && len(in.InstanceIds) == 1 && slices.Contains(all[4:], in.InstanceIds[0]) {
					return terminate(ctx, in, o...)
				}
				return nil, &smithy.GenericAPIError{Code: code}
			}
			gone, err := f.Terminate(t.Context(), all)
			if err == nil || requests != want.requests || len(gone) != want.gone {
				t.Errorf("%d requests, %v gone, error %v; want %d requests and %d gone", requests, gone, err, want.requests, want.gone)
			}
		})
	}
}

// If a later request of an order fails, what the earlier ones have bought is returned with the error:
// nobody knows whether the request that failed has bought something.
func TestPartOfAnOrderThatFails(t *testing.T) {
	f := start(t)
	f.account.SetCapacity("m5.large", "*", "*", 1)
	create, requests := f.writes.CreateFleet, 0
	f.writes.CreateFleet = func(ctx context.Context, in *ec2.CreateFleetInput, o ...func(*ec2.Options)) (*ec2.CreateFleetOutput, error) {
		if requests++; requests > 1 {
			return nil, context.DeadlineExceeded
		}
		return create(ctx, in, o...)
	}
	d, err := f.Launch(t.Context(), order("launch-1", 3, spot("m5.large", "a"), onDemand("m5.xlarge", "a")))
	if !errors.Is(err, context.DeadlineExceeded) || offer.IsPermanent(err) || offer.IsUnsent(err) {
		t.Errorf("error = %v", err)
	}
	if len(d.Instances) != 1 || d.Instances[0].NodeName == "" {
		t.Errorf("delivery = %+v, want the instance of the first request", d)
	}
}

// An order that fails before it asks for a machine has bought nothing, and says so.
func TestAnOrderThatIsNotSent(t *testing.T) {
	broken := &smithy.GenericAPIError{Code: "ServiceUnavailable"}
	for what, set := range map[string]func(*fixture){
		"subnets": func(f *fixture) {
			f.reads.Subnets = func(context.Context, *ec2.DescribeSubnetsInput, ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error) {
				return nil, broken
			}
		},
		"launch templates": func(f *fixture) {
			f.writes.CreateLaunchTemplate = func(context.Context, *ec2.CreateLaunchTemplateInput, ...func(*ec2.Options)) (*ec2.CreateLaunchTemplateOutput, error) {
				return nil, broken
			}
		},
	} {
		f := start(t)
		set(f)
		d, err := f.Launch(t.Context(), order("launch-1", 1, onDemand("m5.large", "a")))
		if !errors.Is(err, broken) || !offer.IsUnsent(err) || len(d.Instances) > 0 {
			t.Errorf("%s: %+v, error %v, want one with which nothing was asked for", what, d, err)
		}
	}
}

// Orders that need the same launch template at the same time wait until it exists. EC2 would refuse
// their fleet requests before.
func TestLaunchTemplateIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests, ready atomic.Int64
		release := make(chan struct{})
		writes := &client.EC2{CreateLaunchTemplate: func(context.Context, *ec2.CreateLaunchTemplateInput, ...func(*ec2.Options)) (*ec2.CreateLaunchTemplateOutput, error) {
			requests.Add(1)
			<-release
			return &ec2.CreateLaunchTemplateOutput{}, nil
		}}
		made := newTemplates(nil, writes, Options{ClusterName: "prod", Now: time.Now})
		hasty, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var all sync.WaitGroup
		for _, ctx := range []context.Context{hasty, t.Context(), t.Context()} {
			all.Go(func() {
				if _, err := made.ensure(ctx, &types.RequestLaunchTemplateData{ImageId: awssdk.String("ami-1")}, nil); err != nil {
					t.Errorf("ensure: %v", err)
				}
				ready.Add(1)
			})
		}
		time.Sleep(5 * time.Second)
		if n := ready.Load(); n > 0 {
			t.Errorf("%d orders go on with a template that does not exist yet", n)
		}
		close(release)
		all.Wait()
		if n := requests.Load(); n != 1 {
			t.Errorf("%d requests for one template", n)
		}
	})
}

// While EKS fails there is no market. Once it answers there is one, without a restart.
func TestMarketOnceEKSAnswers(t *testing.T) {
	f := start(t)
	restore := f.account.Inject(cloud.Fault{Service: "eks", Action: "DescribeCluster", Code: "ThrottlingException"})
	f.config.RetryMaxAttempts = 1
	var said error
	f.Cloud = f.newCloud(t, func(o *Options) { o.Unreached = func(err error) { said = err } })
	if said == nil || !strings.Contains(said.Error(), "ThrottlingException") {
		t.Errorf("New says %v", said)
	}
	if _, err := f.Market(t.Context(), provisioner("default"), nil); err == nil || !strings.Contains(err.Error(), "ThrottlingException") {
		t.Errorf("error = %v, want that of EKS", err)
	}
	restore()
	f.clock.Step(time.Minute)
	if m := f.market(t, nil); m.Blocked != "" || len(m.Types) == 0 {
		t.Errorf("once EKS answers: blocked %q, %d types", m.Blocked, len(m.Types))
	}
}

// Nothing is claimed, taken over or bought for a cluster that is not the one that is meant, also if EKS describes it only
// later.
func TestAnotherCluster(t *testing.T) {
	f := start(t)
	meant := errors.New("the API server is another one")
	refuse := func(o *Options) { o.Accept = func(context.Context, *asset.Cluster) error { return meant } }
	o := Options{ClusterName: "prod", NoPricing: true}
	refuse(&o)
	if _, err := New(t.Context(), f.config, o); !errors.Is(err, meant) {
		t.Errorf("New: %v, want that %v", err, meant)
	}
	restore := f.account.Inject(cloud.Fault{Service: "eks", Action: "DescribeCluster", Code: "ThrottlingException"})
	f.config.RetryMaxAttempts = 1
	f.Cloud = f.newCloud(t, refuse, func(o *Options) { o.Unreached = func(error) {} })
	for range 2 {
		_, listed := f.Karpenters(t.Context())
		_, sold := f.Market(t.Context(), provisioner("default"), nil)
		for call, err := range map[string]error{"Claim": f.Claim(t.Context()), "Karpenters": listed, "Market": sold} {
			if err == nil {
				t.Errorf("%s succeeds", call)
			}
		}
		restore()
		f.clock.Step(time.Minute)
	}
	if err := f.Claim(t.Context()); !errors.Is(err, meant) {
		t.Errorf("Claim: %v, want that %v", err, meant)
	}
	if n := f.calls("DescribeLaunchTemplates", ""); n != 0 {
		t.Errorf("the launch templates of the other cluster are looked for")
	}
}

// An answer with neither machines nor errors does not tell whether something was bought. What was bought is found by its
// launch id, and not bought again.
func TestFleetOfWhichNothingIsSaid(t *testing.T) {
	for name, buys := range map[string]bool{"machines were bought": true, "nothing was bought": false} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			create, requests := f.writes.CreateFleet, 0
			f.writes.CreateFleet = func(ctx context.Context, in *ec2.CreateFleetInput, o ...func(*ec2.Options)) (*ec2.CreateFleetOutput, error) {
				requests++
				if *in.ClientToken != "launch-1" {
					return create(ctx, in, o...)
				}
				if buys && requests == 1 {
					if _, err := create(ctx, in, o...); err != nil {
						t.Error(err)
					}
				}
				return &ec2.CreateFleetOutput{FleetId: awssdk.String("fleet-1")}, nil
			}
			o := order("launch-1", 2, onDemand("m5.large", "a"))
			d, err := f.Launch(t.Context(), o)
			if !buys {
				if err == nil || offer.IsPermanent(err) || !strings.Contains(err.Error(), "launch id launch-1") {
					t.Errorf("right after it: %v, want an error that may pass and names the launch id", err)
				}
				f.clock.Step(offer.ListingLag)
				d, err = f.Launch(t.Context(), o)
			}
			if err != nil || len(d.Instances) != 2 || len(f.live()) != 2 {
				t.Errorf("got %v, and %d machines run, error %v; want two", ids(d.Instances), len(f.live()), err)
			}
		})
	}
}

// EC2 may list only some of the machines of an earlier order at first. The others are not bought again.
func TestEarlierOrderIsListedInParts(t *testing.T) {
	f := start(t)
	first := f.launch(t, order("launch-1", 5, onDemand("m5.large", "a")))
	restarted := &fixture{Cloud: f.newCloud(t), account: f.account, clock: f.clock, config: f.config}
	describe, answers := restarted.reads.Instances, 0
	restarted.reads.Instances = func(ctx context.Context, in *ec2.DescribeInstancesInput, o ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
		out, err := describe(ctx, in, o...)
		if answers++; answers <= 2 && err == nil {
			out.Reservations = out.Reservations[:2] // each of one machine
		}
		return out, err
	}
	second := restarted.launch(t, order("launch-1", 5, onDemand("m5.large", "a"), onDemand("m5.large", "b")))
	if !slices.Equal(ids(first.Instances), ids(second.Instances)) || len(f.live()) != 5 {
		t.Errorf("got %v, and %d machines run; want the 5 of before", ids(second.Instances), len(f.live()))
	}
}

// If EC2 lists the others only later than the search takes, an error says that they may have been bought. Once
// EC2 would have listed them, they are bought.
func TestEarlierOrderIsListedInPartsForLonger(t *testing.T) {
	f := start(t)
	o := order("launch-1", 5, onDemand("m5.large", "a"), onDemand("m5.large", "b"))
	f.launch(t, order("launch-1", 5, onDemand("m5.large", "a")))
	restarted := &fixture{Cloud: f.newCloud(t), account: f.account, clock: f.clock, config: f.config}
	describe := restarted.reads.Instances
	restarted.reads.Instances = func(ctx context.Context, in *ec2.DescribeInstancesInput, o ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error) {
		out, err := describe(ctx, in, o...)
		if err == nil && len(out.Reservations) > 3 {
			out.Reservations = out.Reservations[:3]
		}
		return out, err
	}
	d, err := restarted.Launch(t.Context(), o)
	if err == nil || offer.IsPermanent(err) || !strings.Contains(err.Error(), "lists only 3 yet") || len(d.Instances) != 3 || len(f.live()) != 5 {
		t.Errorf("%d machines run, got %v, %v; want 5, of which 3 are known, and an error that may pass", len(f.live()), ids(d.Instances), err)
	}
	f.clock.Step(offer.ListingLag)
	if d, err = restarted.Launch(t.Context(), o); err != nil || len(d.Instances) != 5 {
		t.Errorf("later: got %v, %v; want 5", ids(d.Instances), err)
	}
}

// If AWS does not answer a lookup again, the old answer is used, and the market says so long before it is too old.
func TestOutdatedLookupsAreToldOf(t *testing.T) {
	for action, c := range map[string]struct {
		service string
		due     time.Duration
	}{
		"DescribeSubnets":        {"ec2", 10 * time.Minute},
		"DescribeSecurityGroups": {"ec2", 10 * time.Minute},
		"GetParameters":          {"ssm", 10 * time.Minute},
		"DescribeCluster":        {"eks", 20 * time.Minute},
	} {
		t.Run(action, func(t *testing.T) {
			f := start(t)
			if m := f.market(t, nil); m.Fault != "" {
				t.Fatalf("fault before: %s", m.Fault)
			}
			restore := f.account.Inject(cloud.Fault{Service: c.service, Action: action, Code: "UnauthorizedOperation"})
			f.clock.Step(c.due)
			m := f.market(t, nil)
			if len(m.Types) == 0 || m.FaultReason != "LookupsOutdated" || !strings.Contains(m.Fault, "UnauthorizedOperation") || !strings.Contains(m.Fault, "is used until 20") {
				t.Errorf("%d types, fault %q, %q", len(m.Types), m.FaultReason, m.Fault)
			}
			restore()
			f.clock.Step(time.Minute)
			if m := f.market(t, nil); m.Fault != "" {
				t.Errorf("fault after: %s", m.Fault)
			}
		})
	}
}
