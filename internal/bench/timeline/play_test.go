package timeline

import (
	"encoding/xml"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/moves"
)

// steady is five pods for six hours; then one leaves.
func steady() *Timeline {
	t := &Timeline{Name: "steady", Length: 6 * time.Hour, Settles: time.Hour, Sample: time.Hour, Types: upTo(8)}
	load := sim.Workload{Name: "web", Replicas: 5, Spec: sim.Requests("1", "2Gi")}
	t.deploy(0, load)
	load.Replicas = 4
	t.deploy(4*time.Hour, load)
	return t.sort()
}

// What is measured is what happened: the price never falls below the bound, the integral is
// that of the samples where nothing happens between them, and pods are counted.
func TestPlayMeasures(t *testing.T) {
	r := Play(t, steady(), 1, Ours("ours", "Never", time.Minute, agent.Options{}))
	for _, p := range r.Points {
		if p.Price < p.Bound*(1-1e-9) || p.Fresh < p.Bound*(1-1e-9) || p.Bound <= 0 {
			t.Errorf("at %s: price %.4f, fresh %.4f, bound %.4f", p.At, p.Price, p.Fresh, p.Bound)
		}
	}
	if first := r.Points[0]; math.Abs(r.Spent-6*first.Price) > 1e-6 {
		t.Errorf("spent %.6f, but six hours at %.6f", r.Spent, first.Price)
	}
	if want := (3*5 + 4.5 + 2*4) / 24.0; math.Abs(r.PodDays-want) > 1e-9 || r.Stayed != 4 {
		t.Errorf("%.4f pod days, %d stay; want %.4f and 4", r.PodDays, r.Stayed, want)
	}
	if r.Evictions != 0 || r.Waiting != 0 {
		t.Errorf("%d evictions, %d pods wait", r.Evictions, r.Waiting)
	}
}

// The same seed gives the same life.
func TestPlayIsRepeatable(t *testing.T) {
	a := Play(t, steady(), 1, Ours("ours", "1", time.Minute, agent.Options{}))
	b := Play(t, steady(), 1, Ours("ours", "1", time.Minute, agent.Options{}))
	if a.Moves != b.Moves || math.Abs(a.Spent-b.Spent) > 1e-9 {
		t.Errorf("%+v, %.6f and then %+v, %.6f", a.Moves, a.Spent, b.Moves, b.Spent)
	}
}

func TestRead(t *testing.T) {
	line, err := Read("trace", strings.NewReader("created,deleted,cpu,memory\n10,70,500,1024\n0,,100,128\n"))
	if err != nil {
		t.Fatal(err)
	}
	if line.Length != time.Hour+10*time.Second || len(line.Changes) != 3 {
		t.Fatalf("%s, %+v", line.Length, line.Changes)
	}
	if c := line.Changes[1]; c.At != 10*time.Second || c.Deploy == nil || c.Deploy.Spec.Containers[0].Resources.Requests.Cpu().MilliValue() != 500 {
		t.Errorf("%+v", c)
	}
	if c := line.Changes[2]; c.At != 70*time.Second || c.Gone == "" {
		t.Errorf("%+v", c)
	}
	for text, want := range map[string]string{
		"a,b\n":                                    `it is ["a" "b"], and should be`,
		"created,deleted,cpu,memory\n1,2,x,4\n":    `line 2 of trace: "x" is not a number`,
		"created,deleted,cpu,memory\n5,2,1,4\n":    "it ends at 2s, before it begins at 5s",
		"created,deleted,cpu,memory\n1,2,3\n":      "wrong number of fields",
		"created,deleted,cpu,memory\n1,2,-3,4\n":   `"-3" is not a number`,
		"created,deleted,cpu,memory\n,2,100,128\n": `"" is not a number`,
	} {
		if _, err := Read("trace", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// All timelines can be drawn at every size, and nothing happens after their end.
func TestDraw(t *testing.T) {
	for _, name := range Names {
		for _, scale := range []float64{0.01, 0.1} {
			line := Named[name](1, Size{Scale: scale, Days: 2})
			again := Named[name](1, Size{Scale: scale, Days: 2})
			if line.Name != name || len(line.Changes) == 0 || len(line.Changes) != len(again.Changes) {
				t.Errorf("%s: %d changes, and then %d", name, len(line.Changes), len(again.Changes))
			}
			for i := range line.Changes {
				if i > 0 && line.Changes[i].At < line.Changes[i-1].At {
					t.Errorf("%s: change %d is before the one before it", name, i)
				}
			}
		}
	}
}

// A picture is well-formed, and its lines begin and end where the timeline does.
func TestChart(t *testing.T) {
	r := &Result{Timeline: "steady", Spent: 11, Bound: 10, PodDays: 4, ByPodDay: true, Points: []Point{
		{At: 0, Price: 10, Bound: 5}, {At: time.Hour, Price: 20, Bound: 10, Evictions: 3}, {At: 2 * time.Hour, Price: 5, Bound: 5, Evictions: 4},
	}}
	r.Moves = moves.Moves{Evictions: 4}
	chart := r.Chart()
	if err := xml.Unmarshal([]byte(chart), new(struct{})); err != nil {
		t.Fatalf("%v in\n%s", err, chart)
	}
	for _, want := range []string{
		"steady: 1.100 times the bound, 1.00 evictions",
		`class="price" d="M52.0 146.0L372.0 56.0L692.0 191.0"`,
		`class="evicted" d="M52.0 360.0L372.0 292.5L692.0 270.0"`,
		">2 h<", ">20<",
	} {
		if !strings.Contains(chart, want) {
			t.Errorf("%q is missing in\n%s", want, chart)
		}
	}
}

// Cheaper policies are lower in the picture, those that evict more are further to the right, and
// ours are joined by a line from the fewest evictions to the most.
func TestTradeoff(t *testing.T) {
	result := func(policy string, spent float64, evictions int) *Result {
		return &Result{Timeline: "steady", Policy: policy, Spent: spent, Bound: 10, Stayed: 10, Moves: moves.Moves{Evictions: evictions}}
	}
	picture := Tradeoff([]*Result{result("Packhorse, evictionCost 1", 11, 10), result("Packhorse, evictionCost Never", 12, 0)}, []*Result{result("Karpenter, Balanced", 15, 20)})
	if err := xml.Unmarshal([]byte(picture), new(struct{})); err != nil {
		t.Fatalf("%v in\n%s", err, picture)
	}
	for _, want := range []string{
		"steady: price and evictions", "evictions for each pod that stays",
		`class="price" d="M52.0 221.5L298.2 268.7"`,
		`<circle class="other" cx="544.3" cy="79.6" r="4"/><text x="552.3" y="75.6">Balanced</text>`,
		`y="264.7">evictionCost 1<`,
	} {
		if !strings.Contains(picture, want) {
			t.Errorf("%q is missing in\n%s", want, picture)
		}
	}
}
