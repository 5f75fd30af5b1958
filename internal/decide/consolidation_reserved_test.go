package decide

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Full nodes move into a capacity reservation that has room, too, because what they cost on demand is saved whole. They
// are not looked at in vain where their pods may not use the reservation, or where there is room in it for few of them.
func TestFullNodesMoveIntoAReservation(t *testing.T) {
	const full = "its pods use nearly all of what it costs"
	spec := func(capacity string) string {
		return "consolidation: {enabled: true}, requirements: [{key: $capacity, operator: In, values: " + capacity + "}], disruption: {drift: false, budgets: [{nodes: '100%'}]}"
	}
	medium, gpu := sold("medium", 4, 0.2), with(sold("gpu", 4, 0.2), "nvidia.com/gpu", 4)
	both := map[string]string{"default": spec("[on-demand, reserved]")}
	for name, c := range map[string]struct {
		types        []offer.InstanceType
		provisioners map[string]string
		pods         int
		pod          string
		want, why    string
	}{
		"CPU and memory":              {[]offer.InstanceType{withReserved(medium, 5)}, both, 3, "requests: {cpu: 1300m, memory: 5Gi}", "n -> medium", ""},
		"nothing is left":             {[]offer.InstanceType{withReserved(medium, 0)}, both, 3, "requests: {cpu: 1300m, memory: 5Gi}", "->", full},
		"GPUs":                        {[]offer.InstanceType{withReserved(gpu, 5)}, both, 2, "requests: {cpu: 1, memory: 1Gi, nvidia.com/gpu: 2}, limits: {nvidia.com/gpu: 2}", "n -> gpu", ""},
		"no GPU is left":              {[]offer.InstanceType{withReserved(gpu, 0)}, both, 2, "requests: {cpu: 1, memory: 1Gi, nvidia.com/gpu: 2}, limits: {nvidia.com/gpu: 2}", "->", full},
		"pods that ask for on-demand": {[]offer.InstanceType{withReserved(medium, 5)}, both, 3, "requests: {cpu: 1300m, memory: 5Gi}, nodeSelector: {$capacity: on-demand}", "->", full},
		"too large for it":            {[]offer.InstanceType{medium, withReserved(sold("small", 2, 0.1), 5)}, both, 1, "requests: {cpu: 3900m, memory: 15Gi}", "->", full},
		"room for few":                {[]offer.InstanceType{sold("huge", 64, 3.2), withReserved(sold("tiny", 1, 0.05), 1)}, both, 100, "requests: {cpu: 630m, memory: 2500Mi}", "->", full},
		"of another Provisioner": {
			[]offer.InstanceType{withReserved(medium, 5)},
			map[string]string{"default": spec("[on-demand]"), "prepaid": spec("[reserved]")},
			3, "requests: {cpu: 1300m, memory: 5Gi}", "n -> medium", "",
		},
		"of a Provisioner with a taint": {
			[]offer.InstanceType{withReserved(medium, 5)},
			map[string]string{"default": spec("[on-demand]"), "prepaid": "taints: [{key: batch, effect: NoSchedule}], " + spec("[reserved]")},
			3, "requests: {cpu: 1300m, memory: 5Gi}", "->", full,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.types)
			for name, spec := range c.provisioners {
				w.provisioner(name, spec)
			}
			w.node("n", c.types[0].Name, "a", nil).replicas(c.pods, "web", "n", c.pod)
			p := w.older().decide()
			if got := consolidated(p); got != c.want || why(p, "n") != c.why {
				t.Errorf("got %q, want %q; the node stays: %q, want %q", got, c.want, why(p, "n"), c.why)
			}
		})
	}
}
