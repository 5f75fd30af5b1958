package aws

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
)

// What minValues need is among the candidates of each request, or no machine is bought.
func TestNeededCandidatesAreOffered(t *testing.T) {
	for name, c := range map[string]struct {
		free int // addresses of each subnet
		want int // machines of the first request: m5.large takes 20 addresses, and m5.xlarge 30
	}{
		"for as many machines as there are addresses for": {65, 2},
		"one lacks addresses":                             {25, 1},
		"both lack addresses":                             {3, 1},
		"there is no address":                             {0, 0},
	} {
		f := start(t)
		for _, s := range f.market(t, nil).Status.Subnets {
			must(t, f.account.SetFreeAddresses(s.ID, c.free))
		}
		f.network.Forget()
		o := order("launch-1", 3, onDemand("m5.large", "a"), onDemand("r5.large", "a"), onDemand("m5.xlarge", "a"))
		o.Needed = []offer.Candidate{o.Candidates[0], o.Candidates[2]}
		l := must2(f.newLaunch(t.Context(), &o))(t)
		request := must2(l.prepare(t.Context()))(t)
		if c.want == 0 {
			if len(request.overrides) > 0 || len(l.refusals) != 3 {
				t.Errorf("%s: request %+v, refusals %+v", name, request, l.refusals)
			}
			continue
		}
		if request.count != c.want || !request.has(o.Needed[0]) || !request.has(o.Needed[1]) || len(l.refusals) > 0 {
			t.Errorf("%s: request %+v, refusals %+v", name, request, l.refusals)
		}
	}
}

// Once EC2 has refused what minValues need, the next plan chooses anew.
func TestNeededCandidatesAreRefused(t *testing.T) {
	f := start(t)
	for _, name := range []string{"m5.large", "c5.large"} {
		f.account.Inject(cloud.Fault{Code: "InsufficientInstanceCapacity", InstanceType: name})
	}
	o := order("launch-1", 1, onDemand("m5.large", "a"), onDemand("c5.large", "a"), spot("r5.large", "a"))
	o.Needed = o.Candidates[:2]
	if d := f.launch(t, o); len(d.Instances) > 0 || len(d.Refusals) != 2 {
		t.Errorf("delivery = %+v, want none without what is needed", d)
	}
}
