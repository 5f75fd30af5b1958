package decide

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// ec2 is what EC2 sells in eu-west-1 to a Provisioner with the default node
// profile, but for the offerings that are out of stock.
func ec2(settings offer.Settings, soldOut func(instanceType, zone, capacityType string) bool) func() []offer.InstanceType {
	return func() []offer.InstanceType {
		settings.Region = "eu-west-1"
		settings.Unavailable = func(h *offer.Hardware, zone, capacityType string) string {
			if soldOut != nil && soldOut(h.Name, zone, capacityType) {
				return "insufficient capacity"
			}
			return ""
		}
		return offer.Embedded().Types(settings)
	}
}

// defaulted adds a Provisioner as the agent sees it, with its defaults.
func (w *world) defaulted(spec string) {
	p := &api.Provisioner{}
	p.Name = "default"
	read(w.t, spec, &p.Spec)
	w.in.Provisioners = append(w.in.Provisioners, Provisioner{Spec: p.Defaulted(), Types: w.types})
}

// everyCandidate reports whether all candidates of all machines have a property.
func everyCandidate(is func(offer.Candidate) bool) func(Plan) string {
	return func(p Plan) string {
		for i := range p.Machines {
			for _, c := range p.Machines[i].Candidates {
				if !is(c) {
					return "not " + c.InstanceType + " " + c.CapacityType
				}
			}
		}
		return fmt.Sprintf("%d of %d", len(p.Machines), len(p.Machines)+len(p.Unplaced))
	}
}

const spotToo = "requirements: [{key: $capacity, operator: In, values: [spot, on-demand]}]"

// Facts about choosing among what EC2 really sells.
func TestEC2Facts(t *testing.T) {
	types := ec2(offer.Settings{}, nil)
	facts := []fact{
		{id: "AWS-041", types: types, given: func(w *world) {
			w.defaulted(spotToo)
			w.pods(1, "p", "requests: {cpu: 1}")
		}, see: func(p Plan) string {
			cheapest := offer.Price(0)
			for _, c := range p.Machines[0].Candidates {
				if c.CapacityType == api.CapacityOnDemand && (cheapest == 0 || c.Price < cheapest) {
					cheapest = c.Price
				}
			}
			return everyCandidate(func(c offer.Candidate) bool { return c.CapacityType == api.CapacityOnDemand || c.Price <= cheapest })(p)
		}, want: "1 of 1"},
		{id: "AWS-042", types: types, given: func(w *world) {
			w.defaulted(spotToo)
			w.pods(1, "p", "requests: {cpu: 1}")
		}, see: everyCandidate(func(c offer.Candidate) bool { return !strings.Contains(c.InstanceType, "metal") }), want: "1 of 1"},
		{id: "AWS-043", types: types, given: func(w *world) {
			w.defaulted("requirements: [{key: $type, operator: Exists}]")
			w.pods(1, "p", "requests: {cpu: 1}, nodeSelector: {karpenter.k8s.aws/instance-size: metal}")
		}, see: everyCandidate(func(c offer.Candidate) bool { return strings.HasSuffix(c.InstanceType, ".metal") }), want: "1 of 1"},
		{id: "AWS-044", types: types, given: func(w *world) {
			w.defaulted("requirements: [{key: $type, operator: Exists}]")
			w.pods(1, "p", "requests: {cpu: 1}")
		}, see: everyCandidate(hasNoGPU), want: "1 of 1"},
		{id: "AWS-049", types: ec2(offer.Settings{NodeOptions: offer.NodeOptions{PodENI: true}}, nil), given: func(w *world) {
			w.defaulted("requirements: [{key: $type, operator: Exists}]")
			w.pods(1, "p", "requests: {vpc.amazonaws.com/pod-eni: 1}, nodeSelector: {$type: t3.large}")
		}, want: "pending(p)"},
		{id: "AWS-051", types: ec2(offer.Settings{NodeOptions: offer.NodeOptions{PodENI: true}}, nil), given: func(w *world) {
			w.defaulted("requirements: [{key: $type, operator: Exists}]")
			w.pods(1, "p", "requests: {vpc.amazonaws.com/pod-eni: 1}")
		}, see: everyCandidate(trunks), want: "1 of 1"},
		{id: "AWS-055", types: ec2(offer.Settings{}, func(_, _, capacityType string) bool { return capacityType == api.CapacitySpot }), given: func(w *world) {
			w.defaulted(spotToo)
			w.pods(1, "p", "requests: {cpu: 1}")
		}, see: everyCandidate(func(c offer.Candidate) bool { return c.CapacityType == api.CapacityOnDemand }), want: "1 of 1"},
		{id: "AWS-059", types: ec2(offer.Settings{}, func(instanceType, _, _ string) bool { return instanceType == "m5.xlarge" }), given: func(w *world) {
			w.defaulted("requirements: [{key: $type, operator: In, values: [m5.large, m5.xlarge]}]")
			w.pods(2, "p", "requests: {cpu: 1.5}")
		}, want: "m5.large(p1), m5.large(p2)"},
		{id: "AWS-079", types: types, given: func(w *world) {
			w.defaulted("requirements: [{key: $type, operator: In, values: [m5.large]}]")
			w.pods(1, "a", "requests: {ephemeral-storage: 1G}").pods(1, "b", "requests: {ephemeral-storage: 10Gi}")
		}, want: "m5.large(a b)"},
		{id: "AWS-081", types: types, given: func(w *world) {
			w.defaulted("requirements: [{key: $type, operator: In, values: [m5.large]}]")
			w.pods(2, "p", "requests: {ephemeral-storage: 10Gi}")
		}, want: "m5.large(p1), m5.large(p2)"},
		{id: "AWS-103", types: types, given: func(w *world) {
			w.defaulted("weight: 10, requirements: [{key: $type, operator: In, values: [m5.large]}]")
			w.in.Provisioners[0].Spec.Name = "broken"
			w.in.Provisioners[0].Types, w.in.Provisioners[0].Blocked = nil, "no subnet matches"
			w.defaulted("requirements: [{key: $type, operator: In, values: [m5.large]}]")
			w.pods(1, "p", "requests: {cpu: 1}")
		}, see: func(p Plan) string { return view(p, byProvisioner) }, want: "default(p)"},
	}
	check(t, facts)
}

// TestNeuronDevices (AWS-047): pods with 1, 2 and 4 devices run on machines that
// have as many, for no more than two inf1.6xlarge cost.
func TestNeuronDevices(t *testing.T) {
	for name, tt := range map[string]struct{ allowed, want string }{
		"AWS-047 of one type":  {"In, values: [inf1.6xlarge]", "inf1.6xlarge(four), inf1.6xlarge(one two)"},
		"AWS-047 of any types": {"Exists", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, ec2(offer.Settings{}, nil)())
			w.defaulted("requirements: [{key: $type, operator: " + tt.allowed + "}]")
			for pod, devices := range map[string]int{"one": 1, "two": 2, "four": 4} {
				w.pods(1, pod, fmt.Sprintf("requests: {aws.amazon.com/neuron: %d}", devices))
			}
			plan := w.decide()
			i := slices.IndexFunc(w.types, func(it offer.InstanceType) bool { return it.Name == "inf1.6xlarge" })
			if most := 2 * w.types[i].Offerings[0].Price; len(plan.Unplaced) > 0 || plan.HourlyPrice > most {
				t.Errorf("%s costs %d, want at most %d", view(plan, byType), plan.HourlyPrice, most)
			}
			if got := view(plan, byType); tt.want != "" && got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func hasNoGPU(c offer.Candidate) bool {
	h, ok := offer.Embedded().Find(c.InstanceType)
	return ok && h.GPU == nil && h.Accelerator == nil
}

// trunks reports whether a type has interfaces for single pods.
func trunks(c offer.Candidate) bool {
	h, ok := offer.Embedded().Find(c.InstanceType)
	return ok && h.BranchInterfaces > 0
}
