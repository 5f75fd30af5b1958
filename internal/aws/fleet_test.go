package aws

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/refusal"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
)

// change has the account behave in another way.
func (f *fixture) change(alter func(*cloud.Behaviour)) {
	behaviour := f.account.Behaviour()
	alter(&behaviour)
	f.account.SetBehaviour(behaviour)
}

// An account may want machines to show their tags in their metadata. Then EC2 refuses keys with a slash, such as those of the agent's tags.
func TestTagsStayOutOfMetadata(t *testing.T) {
	f := start(t)
	f.change(func(b *cloud.Behaviour) { b.MetadataTags = true })
	d := f.launch(t, order("launch-1", 1, onDemand("m5.large", "a")))
	if len(d.Instances) != 1 {
		t.Errorf("refusals %+v, want a machine", d.Refusals)
	}
}

// UnfulfillableCapacity says that there is too little capacity now, not that an offering is not supported.
func TestUnfulfillableCapacityPassesInMinutes(t *testing.T) {
	f := start(t)
	f.account.Inject(cloud.Fault{Code: "UnfulfillableCapacity", InstanceType: "m5.large", CapacityType: "spot"})
	f.launch(t, order("launch-1", 1, spot("m5.large", "a"), onDemand("m5.large", "a")))
	if f.held(t, spot("m5.large", "a"), nil) == "" {
		t.Error("the offering is not held back")
	}
	f.clock.Step(shortFor)
	if why := f.held(t, spot("m5.large", "a"), nil); why != "" {
		t.Errorf("after three minutes, the offering is still held back: %s", why)
	}
}

// EC2 may add UnfulfillableCapacity, which names no offering, to the errors that say what is wrong with each of them.
func TestUnfulfillableCapacityHidesNoOtherError(t *testing.T) {
	summing := func(t *testing.T) *fixture {
		f := start(t)
		f.change(func(b *cloud.Behaviour) { b.SumsUp = true })
		return f
	}
	t.Run("one offering", func(t *testing.T) {
		f := summing(t)
		f.account.Inject(cloud.Fault{Code: "InsufficientInstanceCapacity", Zone: testRegion + "b"})
		d := f.launch(t, order("launch-1", 1, onDemand("m5.large", "b")))
		if len(d.Refusals) != 1 || !strings.HasPrefix(d.Refusals[0].Message, "InsufficientInstanceCapacity") {
			t.Errorf("refusals %+v, want the lack of capacity alone", d.Refusals)
		}
	})
	t.Run("throttling", func(t *testing.T) {
		f := summing(t)
		f.account.Inject(cloud.Fault{Code: "RequestLimitExceeded", InstanceType: "*", Times: 1})
		if d := f.launch(t, order("launch-1", 1, onDemand("m5.large", "a"))); len(d.Instances) != 1 {
			t.Errorf("refusals %+v, want a machine at the second attempt", d.Refusals)
		}
	})
	t.Run("misconfiguration", func(t *testing.T) {
		f := summing(t)
		f.account.Inject(cloud.Fault{Code: "InvalidParameterValue", Message: "Invalid IAM Instance Profile name", InstanceType: "*"})
		d, err := f.Launch(t.Context(), order("launch-1", 1, onDemand("m5.large", "a"), onDemand("m5.xlarge", "a")))
		if err == nil || !strings.Contains(err.Error(), "Invalid IAM Instance Profile name") {
			t.Errorf("error %v and refusals %+v, want EC2's message", err, d.Refusals)
		}
	})
	t.Run("alone", func(t *testing.T) {
		f := summing(t)
		f.account.Inject(cloud.Fault{Code: "UnfulfillableCapacity", InstanceType: "m5.large"})
		d := f.launch(t, order("launch-1", 1, onDemand("m5.large", "a")))
		if len(d.Refusals) == 0 || f.held(t, onDemand("m5.large", "a"), nil) == "" {
			t.Errorf("refusals %+v, want that of the offering, which is held back", d.Refusals)
		}
	})
}

// Where EC2 names an offering, UnfulfillableCapacity is about that one, whatever is wrong with others.
func TestUnfulfillableCapacityOfAnOffering(t *testing.T) {
	for _, other := range []string{"InsufficientInstanceCapacity", "UnfulfillableCapacity"} {
		f := start(t)
		f.change(func(b *cloud.Behaviour) { b.SumsUp = true })
		f.account.Inject(cloud.Fault{Code: "UnfulfillableCapacity", Zone: testRegion + "a"})
		f.account.Inject(cloud.Fault{Code: other, Zone: testRegion + "b"})
		d := f.launch(t, order("launch-1", 1, spot("m5.large", "a"), spot("m5.large", "b")))
		if len(d.Refusals) != 2 || f.held(t, spot("m5.large", "a"), nil) == "" || f.held(t, spot("m5.large", "b"), nil) == "" {
			t.Errorf("with %s of the other one: refusals %+v, want both offerings, which are held back", other, d.Refusals)
		}
	}
}

// As long as EC2 itself fails on all that an order asks for, later plans try something else, such as on-demand machines.
func TestFailuresOfEC2HoldBackWhatWasAskedFor(t *testing.T) {
	for code, want := range map[string]bool{"InternalError": true, "InternalFailure": true, "ServiceUnavailable": true, "Unavailable": true, refusal.CodeThrottled: false} {
		f := start(t)
		f.writes.CreateFleet = func(context.Context, *ec2.CreateFleetInput, ...func(*ec2.Options)) (*ec2.CreateFleetOutput, error) {
			return nil, &smithy.GenericAPIError{Code: code}
		}
		_, err := f.Launch(t.Context(), order("launch-1", 1, spot("m5.large", "a"), spot("m5.large", "b"), onDemand("m5.large", "a")))
		if err == nil || offer.IsPermanent(err) {
			t.Errorf("%s: error %v, want one that leaves open whether machines were bought", code, err)
		}
		for c, want := range map[offer.Candidate]bool{spot("m5.large", "a"): want, spot("m5.large", "b"): want, onDemand("m5.large", "a"): false} {
			if why := f.held(t, c, nil); (why != "") != want {
				t.Errorf("%s: %s in %s is held back: %q, want %t", code, c.CapacityType, c.Zone, why, want)
			}
		}
	}
}
