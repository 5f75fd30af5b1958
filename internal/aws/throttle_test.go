package aws

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
)

// Half of all calls are throttled: what is asked for is done all the same, and
// once, also where the agent has to ask again for what was refused every time.
func TestThrottlingOfHalfTheCalls(t *testing.T) {
	f := start(t)
	f.account.Inject(cloud.Fault{Service: "ec2", Action: "*", Code: "RequestLimitExceeded", Rate: 0.5})
	eventually(t, "a first look", func() bool {
		_, err := f.Market(t.Context(), provisioner("default"), nil)
		return err == nil
	})
	var bought []offer.Instance
	eventually(t, "the launch", func() bool {
		d, err := f.Launch(t.Context(), order("launch-1", 2, onDemand("m5.large", "a")))
		bought = d.Instances
		return err == nil && len(bought) == 2
	})
	if got := len(f.live()); got != 2 {
		t.Fatalf("%d instances run, want 2", got)
	}
	eventually(t, "the end", func() bool {
		gone, err := f.Terminate(t.Context(), ids(bought))
		return err == nil && len(gone) == 2
	})
}
