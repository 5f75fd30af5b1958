package decide

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Whatever the request for a replacement returns is cheaper than the node that it replaces, also if nodes that are
// more expensive, or spot, go at the same time.
func TestReplacementIsCheaperWhateverElseGoes(t *testing.T) {
	for _, capacity := range []string{"[on-demand]", "[on-demand, spot]"} {
		types := []offer.InstanceType{sold("a-small", 2, 0.1), sold("b-medium", 4, 0.3), sold("c-large", 4, 0.5), sold("d-huge", 8, 0.8)}
		for i := range types {
			for k := range types[i].Offerings {
				if o := &types[i].Offerings[k]; o.CapacityType == api.CapacitySpot {
					o.Price = o.Price * 9 / 10
				}
			}
		}
		w := newWorld(t, types)
		w.provisioner("default", strings.Replace(consolidating, "[on-demand]", capacity, 1))
		w.node("n", "b-medium", "a", nil).replicas(1, "web", "n", "requests: {cpu: 1, memory: 4Gi}, nodeSelector: {$zone: a}")
		for i := range 30 { // their pods fit on one of them
			name := fmt.Sprintf("other-%02d", i)
			w.node(name, "d-huge", "b", func(n *cluster.Node) { n.Labels[api.LabelCapacityType] = api.CapacitySpot })
			w.replicas(1, "other", name, "requests: {cpu: 100m, memory: 100Mi}, nodeSelector: {$zone: b}")
		}
		p := w.older().decide()
		if len(p.Removals) != 30 || len(p.Machines) != 1 || p.Machines[0].Moving[0].From != "n" {
			t.Errorf("%s: %d nodes go, and %d machines are bought, want node n and all other nodes but one to go, and one machine; n stays: %s", capacity, len(p.Removals), len(p.Machines), why(p, "n"))
			continue
		}
		for _, c := range p.Machines[0].Candidates {
			if c.Price >= 300_000 {
				t.Errorf("%s: node n costs 0.30, and the request for its replacement may return a %s for %.2f", capacity, c.InstanceType, c.Price.Dollars())
			}
		}
	}
}

// A step that would save nothing, because those before have taken the last of what is cheap, is not taken.
func TestEachStepSavesByItself(t *testing.T) {
	const both = "consolidation: {enabled: true}, requirements: [{key: $capacity, operator: In, values: [on-demand, reserved]}], disruption: {drift: false, budgets: [{nodes: '100%'}]}"
	reserved := func(places int64) func(*world) {
		return func(w *world) {
			w.types = []offer.InstanceType{withReserved(sold("medium", 4, 0.2), places)}
			w.provisioner("default", both)
		}
	}
	limited := func(cpu int) func(*world) {
		return func(w *world) {
			w.types = []offer.InstanceType{sold("cheap", 4, 0.1)}
			w.provisioner("cheap", fmt.Sprintf("limits: {resources: {cpu: %d}}, ", cpu)+consolidating)
			w.types = []offer.InstanceType{sold("medium", 4, 0.2)}
			w.provisioner("default", consolidating)
		}
	}
	for name, prepare := range map[string]func(*world){
		"a reservation for one machine":                      reserved(1),
		"a reservation for three machines":                   reserved(3),
		"a reservation for five machines":                    reserved(5),
		"the limit of a cheaper Provisioner, one machine":    limited(4),
		"the limit of a cheaper Provisioner, three machines": limited(12),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			prepare(w)
			for i := range 10 {
				n := fmt.Sprintf("n%d", i)
				w.node(n, "medium", "a", nil).replicas(3, "web", n, "requests: {cpu: 1, memory: 4Gi}")
			}
			p := w.older().decide()
			if len(p.Removals) == 0 {
				t.Error("no node goes")
			}
			for i := range p.Machines {
				if c := p.Machines[i].Chosen(); c.Price >= 200_000 {
					t.Errorf("%v is replaced by a machine that costs as much", p.Machines[i].Moving)
				}
			}
		})
	}
}

// Steps whose pods share a machine are one, also if they share it only with a third one.
func TestStepsThatShareAMachineAreOne(t *testing.T) {
	got := join([]joined[int]{
		{[]string{"d"}, []int{4, 4}},
		{[]string{"a"}, []int{1, 1}},
		{[]string{"e"}, nil},
		{[]string{"c"}, []int{3, 2}},
		{[]string{"f"}, nil},
		{[]string{"b"}, []int{2, 1}},
	})
	want := []joined[int]{{[]string{"d"}, []int{4}}, {[]string{"e"}, nil}, {[]string{"f"}, nil}, {[]string{"a", "b", "c"}, []int{1, 2, 3}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A node stays if a limit leaves no room for what would replace it, and the reason names the limit.
func TestLimitThatKeepsANodeIsNamed(t *testing.T) {
	for limit, want := range map[string]string{
		"5": "pod default/web-0 would have no other place: provisioner default would exceed its limit of 5 CPU: 4 in use or planned, and the smallest machine for the pod has 2",
		"6": "",
	} {
		w := newWorld(t, shop()).provisioner("default", "limits: {resources: {cpu: "+limit+"}}, "+consolidating)
		w.node("n", "medium", "a", nil).replicas(1, "web", "n", "requests: {cpu: 1, memory: 1Gi}")
		p := w.older().decide()
		if got := why(p, "n"); got != want || (consolidated(p) == "n -> small") != (want == "") {
			t.Errorf("with a limit of %s: got %q, and n stays: %q, want %q", limit, consolidated(p), got, want)
		}
	}
}
