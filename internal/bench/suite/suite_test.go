package suite

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/measure"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
)

// TestExecute runs both planners on every kind of workload, at a small size: what
// the checker says about ours counts, what it says about the peer is reported.
func TestExecute(t *testing.T) {
	seen := map[string]bool{}
	for i := range Cases {
		c := Cases[i]
		if seen[c.Title] || c.Name == "one-cold" {
			continue
		}
		seen[c.Title] = true
		c.Pods = 75
		t.Run(c.Name, func(t *testing.T) {
			run, err := c.Execute(t.Context(), Options{Peer: true, PeerFirst: i%2 == 1})
			if err != nil {
				t.Fatal(err)
			}
			if run.Pods != 75 || run.Classes == 0 || run.Types == 0 || run.Ours.Machines == 0 && c.Name != "fleet-100000" {
				t.Errorf("got %+v with %+v", run, run.Ours)
			}
			if len(run.Ours.Faults) > 0 {
				t.Error(run.Ours.Faults)
			}
			if c.Alone != (run.Peer == nil) {
				t.Errorf("the peer was measured: %v", run.Peer != nil)
			}
			if p := run.Peer; p != nil && (p.Machines == 0 || p.Price <= 0 || p.Unplaced > 0 && run.Ours.Unplaced == 0 || p.Time.First.CPU <= 0) {
				t.Errorf("the peer got %+v", p)
			}
		})
	}
}

func TestNamesAreUnique(t *testing.T) {
	for i := range Cases {
		if Find(Cases[i].Name) != &Cases[i] {
			t.Errorf("there is another case %s", Cases[i].Name)
		}
	}
	if Find("none") != nil {
		t.Error("found a case that is not there")
	}
}

func resultOf(cpu time.Duration, machines int, price float64) *Result {
	s := measure.Sample{CPU: cpu, Wall: 2 * cpu, Allocated: uint64(cpu), Peak: 1 << 20}
	return &Result{Time: measure.Series{First: s, Typical: s, Times: 1}, Machines: machines, Price: price}
}

func TestCombine(t *testing.T) {
	var runs []*Run
	for _, c := range []struct{ ours, peer time.Duration }{{10, 1000}, {30, 1200}, {20, 4000}} {
		runs = append(runs, &Run{Case: "x", Ours: resultOf(c.ours, 3, 2), Peer: resultOf(c.peer, 4, 3), Proven: 1.5, Solved: 1.6})
	}
	o := Combine(runs)
	if o.Runs != 3 || o.Ours.Time.Typical.CPU != 20 || o.Peer.Time.Typical.CPU != 1200 || o.Ours.Time.Times != 3 {
		t.Errorf("got %+v, %+v, %+v", o, o.Ours, o.Peer)
	}
	if o.Ratio != 100 { // of 100, 40 and 200: pairs, not the ratio of medians
		t.Errorf("got a ratio of %v, want 100", o.Ratio)
	}
	if math.Abs(o.Gap()-0.25) > 1e-9 || math.Abs(o.PeerGap()-0.875) > 1e-9 {
		t.Errorf("gaps of %v and %v", o.Gap(), o.PeerGap())
	}
	if runs[2].Ours.Time.Typical.CPU != 20 || runs[0].Ours.Time.Typical.CPU != 10 {
		t.Error("the runs were changed")
	}
}

func TestBorrow(t *testing.T) {
	earlier := []Outcome{Combine([]*Run{{Case: "x", Pods: 5, Types: 3, Ours: resultOf(1, 1, 1), Peer: resultOf(400, 4, 3)}})}
	for name, c := range map[string]struct {
		run  Run
		want float64
	}{
		"the same case":  {Run{Case: "x", Pods: 5, Types: 3}, 40},
		"another case":   {Run{Case: "y", Pods: 5, Types: 3}, 0},
		"other types":    {Run{Case: "x", Pods: 5, Types: 4}, 0},
		"measured again": {Run{Case: "x", Pods: 5, Types: 3, Peer: resultOf(100, 4, 3)}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			c.run.Ours = resultOf(10, 1, 1)
			o := Combine([]*Run{&c.run})
			o.Borrow(earlier)
			if o.Borrowed != (c.want == 40) {
				t.Errorf("borrowed: %v", o.Borrowed)
			}
			if o.Ratio != c.want || (o.Peer != nil) != (c.want > 0) {
				t.Errorf("got a ratio of %v, want %v", o.Ratio, c.want)
			}
		})
	}
}

func TestVerdicts(t *testing.T) {
	bars := Bars{
		Speed: 50, Gap: 0.01, MachinesOfPeer: true, Machines: 5, Wall: 100, Cold: 100, Peak: 2 << 20, Exponent: 1.1,
	}
	c := &Case{Name: "x", Generate: workload.Mixed, Pods: 10, Bars: bars}
	good := Run{Case: "x", Ours: resultOf(10, 4, 1.005), Peer: resultOf(1000, 4, 1.3), Proven: 1}
	bad := Run{Case: "x", Ours: resultOf(60, 6, 1.4), Peer: resultOf(1000, 4, 1.3), Proven: 1}
	bad.Ours.Faults, bad.Ours.Unplaced = []string{"broken"}, 3
	bad.Ours.Time.First.Peak = 3 << 20
	alone := good
	alone.Peer = nil
	for name, want := range map[string]struct {
		run         Run
		met, missed []string
		unknown     []string
	}{
		"good":  {run: good, met: []string{"feasible", "all placed", "price ≤ peer's", "speed ≥ 50×", "machines ≤ peer's", "price ≤ bound + 1 %", "machines ≤ 5", "time < 100ns", "cold < 100ns", "memory < 2 MiB"}, unknown: []string{"time ≤ n^1.1", "memory ≤ n^1.1"}},
		"bad":   {run: bad, missed: []string{"feasible", "all placed", "price ≤ peer's", "speed ≥ 50×", "machines ≤ peer's", "price ≤ bound + 1 %", "machines ≤ 5", "time < 100ns", "cold < 100ns", "memory < 2 MiB"}, unknown: []string{"time ≤ n^1.1", "memory ≤ n^1.1"}},
		"alone": {run: alone, met: []string{"feasible", "all placed", "price ≤ bound + 1 %", "machines ≤ 5", "time < 100ns", "cold < 100ns", "memory < 2 MiB"}, unknown: []string{"price ≤ peer's", "speed ≥ 50×", "machines ≤ peer's", "time ≤ n^1.1", "memory ≤ n^1.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := Combine([]*Run{&want.run})
			got := map[string][]string{}
			for _, v := range c.Verdicts(&o, nil) {
				got[v.Mark()] = append(got[v.Mark()], v.Bar)
			}
			for mark, list := range map[string][]string{"✓": want.met, "✗": want.missed, "?": want.unknown} {
				if diff := cmp.Diff(slices.Sorted(slices.Values(list)), slices.Sorted(slices.Values(got[mark]))); diff != "" {
					t.Errorf("%s: -want +got\n%s", mark, diff)
				}
			}
		})
	}
}

func TestGrowth(t *testing.T) {
	series := func(power float64) []Outcome {
		var out []Outcome
		for i := range Cases {
			if c := &Cases[i]; c.Growth {
				cpu := time.Duration(100 * math.Pow(float64(c.Pods), power))
				out = append(out, Outcome{Run: Run{Case: c.Name, Pods: c.Pods, Ours: resultOf(cpu, 1, 1)}})
			}
		}
		return out
	}
	for power, met := range map[float64]bool{0.9: true, 1: true, 1.2: false, 2: false} {
		for _, v := range growth(1.1, series(power)) {
			if v.Met != met || v.Unknown {
				t.Errorf("n^%v: got %+v", power, v)
			}
		}
	}
}
