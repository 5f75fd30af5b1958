package timeline

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/peer/live"
)

// number reads a number from the environment.
func number(t *testing.T, name string, usual float64) float64 {
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v < 0 {
		t.Fatalf("%s=%q is not a number of at least 0", name, text)
	}
	return v
}

// without turns off what TIMELINE_WITHOUT names.
func without(t *testing.T, label string) (string, agent.Options) {
	options := agent.Options{}
	for part := range strings.FieldsSeq(os.Getenv("TIMELINE_WITHOUT")) {
		label += ", without " + part
		switch part {
		case "guiding":
			options.NotGuided = true
		case "steering":
			options.NotSteered = true
		default:
			t.Fatalf("nothing that can be turned off is called %q", part)
		}
	}
	return label, options
}

// draw writes a picture of a timeline to the directory TIMELINE_PICTURES.
func draw(t *testing.T, timeline, picture string) {
	dir := os.Getenv("TIMELINE_PICTURES")
	if dir == "" {
		return
	}
	file := filepath.Join(dir, "timeline-"+strings.TrimSuffix(filepath.Base(timeline), ".csv")+".svg")
	if err := os.WriteFile(file, []byte(picture), 0o644); err != nil {
		t.Error(err)
	}
}

// TestTimelines plays the timelines that TIMELINES names, or the trace in the file
// TIMELINE_TRACE, and prints what was measured; see "make timeline".
func TestTimelines(t *testing.T) {
	names, trace := strings.Fields(os.Getenv("TIMELINES")), os.Getenv("TIMELINE_TRACE")
	if len(names) == 0 && trace == "" {
		t.Skip("no timeline was asked for")
	}
	seed := uint64(number(t, "TIMELINE_SEED", 1))
	size := Size{Scale: number(t, "TIMELINE_SCALE", 1), Days: number(t, "TIMELINE_DAYS", 0)}
	lines := map[string]*Timeline{}
	for _, name := range names {
		draw, known := Named[name]
		if !known {
			t.Fatalf("there is no timeline %q; there are %s", name, strings.Join(Names, ", "))
		}
		lines[name] = draw(seed, size)
	}
	if trace != "" {
		file, err := os.Open(trace)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		line, err := Read(trace, file)
		if err != nil {
			t.Fatal(err)
		}
		names, lines[trace] = append(names, trace), line
	}
	look := time.Duration(number(t, "TIMELINE_LOOK", 1) * float64(time.Minute))
	t.Logf("seed %d, scale %g", seed, size.Scale)
	for _, name := range names {
		var ours, rest []*Result
		for cost := range strings.FieldsSeq(cmp.Or(os.Getenv("TIMELINE_COSTS"), "1")) {
			label, options := without(t, "Packhorse, evictionCost "+cost)
			r := Play(t, lines[name], seed, Ours(label, cost, look, options))
			t.Log(r)
			draw(t, name, r.Chart())
			ours = append(ours, r)
		}
		for _, policy := range others(t, lines[name]) {
			r := Play(t, lines[name], seed, policy)
			t.Log(r)
			rest = append(rest, r)
		}
		if len(rest) > 0 {
			draw(t, strings.TrimSuffix(name, ".csv")+"-policies", Tradeoff(ours, rest))
		}
	}
}

// others are the policies besides ours that TIMELINE_AUTOSCALER and TIMELINE_PEER ask for.
func others(t *testing.T, line *Timeline) []Policy {
	var out []Policy
	if os.Getenv("TIMELINE_AUTOSCALER") != "" {
		out = append(out, Autoscaler())
	}
	for policy := range strings.FieldsSeq(os.Getenv("TIMELINE_PEER")) {
		if !slices.Contains(live.Policies, policy) {
			t.Fatalf("Karpenter has no policy %q; it has %s", policy, strings.Join(live.Policies, ", "))
		}
		out = append(out, Karpenter(policy, line.Types))
	}
	return out
}
