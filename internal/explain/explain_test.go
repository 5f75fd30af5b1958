package explain

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain/explaintest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

func TestText(t *testing.T) {
	r := Of(explaintest.Plan(), explaintest.Snapshot(), 1500*time.Microsecond)
	want := `5 of 7 pods placed, 1 of them on existing nodes; 2 machines to buy for $0.0820 per hour, at most 2.50 % above the best possible ($0.0800); decided in 1.5 ms.

count  provisioner  type       zone        bought  $/hour each  pods  CPU  memory  runner-up
2      default      m7g.large  eu-west-1a  spot    0.0410       4     75%  50%     m6g.large at 0.0430 (+4.9%)

Where pods go:

  default-1 and 1 more: default/web × 2 on m7g.large in eu-west-1a, cheapest of its 2 candidate types; CPU fills first (75%)
  ip-10-0-0-1: default/web

Not placed (2 pods):

  default/f and 1 more: no type is large enough
`
	if diff := cmp.Diff(want, r.Text()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestMarkdown(t *testing.T) {
	r := Of(explaintest.Plan(), explaintest.Snapshot(), 2*time.Second)
	r.Warnings = []string{"prices are estimates"}
	want := `5 of 7 pods placed, 1 of them on existing nodes; 2 machines to buy for $0.0820 per hour, at most 2.50 % above the best possible ($0.0800); decided in 2.00 s.

| count | provisioner | type | zone | bought | $/hour each | pods | CPU | memory | runner-up |
| ---: | --- | --- | --- | --- | ---: | ---: | ---: | ---: | --- |
| 2 | default | m7g.large | eu-west-1a | spot | 0.0410 | 4 | 75% | 50% | m6g.large at 0.0430 (+4.9%) |

Where pods go:

- default-1 and 1 more: default/web × 2 on m7g.large in eu-west-1a, cheapest of its 2 candidate types; CPU fills first (75%)
- ip-10-0-0-1: default/web

Not placed (2 pods):

- default/f and 1 more: no type is large enough

Notes:

- prices are estimates
`
	if diff := cmp.Diff(want, r.Markdown()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestNothingToDo(t *testing.T) {
	r := Of(decide.Plan{}, &cluster.Snapshot{}, 0)
	if got, want := r.Text(), "No pod is waiting for a node.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The JSON form is read by programs: every list is there even when it is empty.
func TestJSON(t *testing.T) {
	got, err := json.Marshal(Of(decide.Plan{}, &cluster.Snapshot{}, time.Second))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"seconds":1,"pods":0,"placed":0,"hourlyPrice":0,"lowerBound":0,"gapPercent":0,"machines":[],"bindings":[],"unplaced":[]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	full := Of(explaintest.Plan(), explaintest.Snapshot(), 0)
	if got, want := full.Machines[0].Used, map[string]string{"cpu": "1500m", "memory": "3Gi", "pods": "2"}; cmp.Diff(want, got) != "" {
		t.Errorf("-want +got\n%s", cmp.Diff(want, got))
	}
	if got, want := full.Machines[0].Workloads, map[string]int{"default/web": 2}; cmp.Diff(want, got) != "" {
		t.Errorf("-want +got\n%s", cmp.Diff(want, got))
	}
	if got, want := full.Machines[0].Why, "cheapest of its 2 candidate types; CPU fills first (75%)"; got != want {
		t.Errorf("why: %q, want %q", got, want)
	}
	if full.Pods != 7 || full.Placed != 5 {
		t.Errorf("%d of %d placed, want 5 of 7", full.Placed, full.Pods)
	}
}

// Rows that differ only in how full the machines are become one.
func TestTextFoldsKinds(t *testing.T) {
	p := explaintest.Plan()
	p.Machines[1].Used = amount.List{amount.CPU: 2000, amount.Memory: 6 << 30}
	p.Machines[1].RunnerUp = nil
	p.Machines[1].GivenUp = map[string][]string{"default/d": {"zone spread"}, "default/c": {"zone spread"}}
	third := p.Machines[0]
	third.Name = "default-3"
	third.Candidates = []offer.Candidate{{InstanceType: "m7g.large", Zone: "eu-west-1b", CapacityType: "spot", Price: 41_000}}
	p.Machines = append(p.Machines, third)
	r := Of(p, explaintest.Snapshot(), time.Millisecond)
	want := `7 of 9 pods placed, 1 of them on existing nodes; 3 machines to buy for $0.0820 per hour, at most 2.50 % above the best possible ($0.0800); decided in 1.0 ms.

count  provisioner  type       zone        bought  $/hour each  pods  CPU           memory        runner-up
2      default      m7g.large  eu-west-1a  spot    0.0410       4     88% (75-100)  75% (50-100)  m6g.large at 0.0430 (+4.9%) or others
1      default      m7g.large  eu-west-1b  spot    0.0410       2     75%           50%           m6g.large at 0.0430 (+4.9%)

Where pods go:

  default-1: default/web × 2 on m7g.large in eu-west-1a, cheapest of its 2 candidate types; CPU fills first (75%)
  default-2: default/web × 2 on m7g.large in eu-west-1a, cheapest of its 2 candidate types; CPU fills first (100%)
  default-3: default/web × 2 on m7g.large in eu-west-1b, the only candidate type; CPU fills first (75%)
  ip-10-0-0-1: default/web

Not placed (2 pods):

  default/f and 1 more: no type is large enough

Preferences that are not met:

  default/c and 1 more: zone spread
`
	if diff := cmp.Diff(want, r.Text()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// The runner-up says how it would be bought where that is not as the machine is.
func TestRunnerUpOfAnotherCapacityType(t *testing.T) {
	p := explaintest.Plan()
	for i := range p.Machines {
		p.Machines[i].RunnerUp = &offer.Candidate{InstanceType: "m7g.xlarge", CapacityType: "on-demand", Price: 82_000}
	}
	r := Of(p, explaintest.Snapshot(), 0)
	if want := "m7g.xlarge on-demand at 0.0820 (+100.0%)"; !strings.Contains(r.Text(), want) {
		t.Errorf("the text lacks %q:\n%s", want, r.Text())
	}
}

func TestWhy(t *testing.T) {
	cheap, dear := offer.Candidate{InstanceType: "a", Price: 1}, offer.Candidate{InstanceType: "b", Price: 2}
	equal := offer.Candidate{InstanceType: "c", Price: 1}
	for name, c := range map[string]struct {
		machine decide.Machine
		want    string
	}{
		"one":      {decide.Machine{Candidates: []offer.Candidate{cheap}}, "the only candidate type"},
		"zones":    {decide.Machine{Candidates: []offer.Candidate{cheap, cheap}}, "the only candidate type (2 offerings)"},
		"two":      {decide.Machine{Candidates: []offer.Candidate{cheap, dear}, RunnerUp: &dear}, "cheapest of its 2 candidate types"},
		"reserved": {decide.Machine{Candidates: []offer.Candidate{{InstanceType: "a", Reservation: "cr-1", Price: 1}}}, "in capacity reservation cr-1, which is paid for"},
		"equal":    {decide.Machine{Candidates: []offer.Candidate{cheap, equal}, RunnerUp: &equal}, "as cheap as any of its 2 candidate types"},
		"memory": {decide.Machine{
			Candidates: []offer.Candidate{cheap}, Used: amount.List{amount.CPU: 1, amount.Memory: 3}, Allocatable: amount.List{amount.CPU: 4, amount.Memory: 4},
		}, "the only candidate type; memory fills first (75%)"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := why(&c.machine); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A plan that only moves pods and removes nodes is told as well.
func TestNodesInText(t *testing.T) {
	p := explaintest.Plan()
	p.Machines, p.HourlyPrice, p.LowerBound = p.Machines[:1], 41_000, 41_000
	p.Machines[0].Pods, p.Machines[0].Moving = nil, []decide.Move{{Pod: explaintest.Key("running"), From: "ip-10-0-0-1"}}
	p.Bindings = []decide.Binding{{Pod: explaintest.Key("b"), Node: "n2", From: "n3"}}
	p.Unplaced = []decide.Unplaced{{Pod: explaintest.Key("c"), From: "n4", Reason: "there is no Provisioner"}}
	p.Removals = []decide.Removal{{Node: "ip-10-0-0-1", Reason: decide.Expired, Message: "older than 1h", Replacements: []string{"default-1"}}}
	p.Kept = []decide.Kept{{Node: "n5", Reason: decide.Drifted, Why: "pods are on their way to it"}}
	p.Chosen = []decide.Chosen{{Node: "n8", Verdict: decide.Go}, {Node: "n9", Verdict: decide.Wait, Why: "its replacement n2 is not up yet"}, {Node: "n10", Verdict: decide.Stay, Why: "it has work again"}}
	p.Emptiness = []decide.Emptiness{{Node: "n6", Since: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}, {Node: "n7"}}
	r := Of(p, explaintest.Snapshot(), time.Millisecond)
	want := `No pod is waiting for a node; 1 machine to buy for $0.0410 per hour, the best possible; decided in 1.0 ms.

count  provisioner  type       zone        bought  $/hour each  pods  CPU  memory  runner-up
1      default      m7g.large  eu-west-1a  spot    0.0410       1     75%  50%     m6g.large at 0.0430 (+4.9%)

Where pods go:

  default-1: default/web from ip-10-0-0-1 on m7g.large in eu-west-1a, cheapest of its 2 candidate types; CPU fills first (75%)
  n2: room for default/web from n3

Not placed (1 pod):

  default/c from n4: there is no Provisioner

Nodes to remove:

  ip-10-0-0-1: has expired: older than 1h, as soon as default-1 can take its pods

Nodes already chosen for removal:

  n8: can be removed now
  n9: is waiting: its replacement n2 is not up yet
  n10: is kept after all: it has work again

Nodes that are kept for now:

  n5: has drifted but is kept: pods are on their way to it

Nodes that have become empty or are in use again:

  n6: has had no workload pods since 12:00:00 UTC
  n7: is in use again
`
	if diff := cmp.Diff(want, r.Text()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestNoBoundIsSaidThatIsNotProven: JSON has neither bound nor gap where none is known.
func TestNoBoundIsSaidThatIsNotProven(t *testing.T) {
	for name, c := range map[string]struct {
		plan decide.Plan
		want bool
	}{
		"nothing is proven": {decide.Plan{HourlyPrice: 41_000}, false},
		"a bound":           {decide.Plan{HourlyPrice: 41_000, LowerBound: 40_000}, true},
		"nothing is bought": {decide.Plan{}, true},
	} {
		text, err := json.Marshal(Of(c.plan, &cluster.Snapshot{}, 0))
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{`"lowerBound"`, `"gapPercent"`} {
			if got := strings.Contains(string(text), key); got != c.want {
				t.Errorf("%s: %s is said: %v, want %v", name, key, got, c.want)
			}
		}
	}
}

// TestGapIsRoundedUp: a plan above the bound is never said to be the best possible, and the gap is
// never said to be smaller than it is.
func TestGapIsRoundedUp(t *testing.T) {
	for price, want := range map[offer.Price]float64{1_000_000: 0, 1_000_001: 0.01, 1_000_100: 0.01, 1_000_101: 0.02, 1_025_000: 2.5} {
		p := proof(decide.Plan{HourlyPrice: price, LowerBound: 1_000_000})
		if p.GapPercent != want {
			t.Errorf("price %d: a gap of %v %%, want %v %%", price, p.GapPercent, want)
		}
	}
}

func TestBound(t *testing.T) {
	for name, c := range map[string]struct {
		report Report
		want   string
	}{
		"nothing to buy": {Report{}, ""},
		"unknown":        {Report{Machines: make([]Machine, 1)}, "It is not known how far this is from the best possible price."},
		"the best":       {Report{Machines: make([]Machine, 1), Proof: &Proof{LowerBound: 2}}, "This is the best possible: no plan that honours the same constraints costs less than $2.0000 per hour (proven)."},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.report.Bound(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestReasonsHaveWords(t *testing.T) {
	for _, reason := range decide.RemovalReasons {
		if got := state(string(reason)); strings.Contains(got, string(reason)+")") {
			t.Errorf("%s has no words: add them to `state` of internal/explain/nodes.go", reason)
		}
	}
}
