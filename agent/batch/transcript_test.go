package batch

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

var update = flag.Bool("update", false, "rewrite the transcripts")

// start is 0s in transcripts.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// TestTranscripts replays testdata: each line is a time and an event, and the indented
// line below it is what the batch does next.
//
//	0s open quiet=100ms idle=100ms max=10s
//	0s poll web+3 web=3 untried=0s     three pods of web came, it has three, and the
//	                                   scheduler has not tried one that was made at 0s
//	0s poll web+2@                     two came that have a place in the last plan
//	0s answer web 60 certain           or without "certain", or "unknown"
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no transcripts: ", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, string(want))
			if *update {
				err = os.WriteFile(file, []byte(got), 0o644)
			}
			if err != nil || got != string(want) && !*update {
				t.Errorf("%v; got:\n%s", err, got)
			}
		})
	}
}

func replay(t *testing.T, script string) string {
	var out strings.Builder
	var s State
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, "\t") {
			continue
		}
		out.WriteString(line)
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		now := start.Add(duration(t, words[0]))
		var next Next
		s, next = Step(s, event(t, words[1:]), now)
		out.WriteString("\t" + next.text() + "\n")
	}
	return out.String()
}

func (n Next) text() string {
	if n.Close {
		return "close"
	}
	out := "wake " + n.Wake.Sub(start).String()
	for _, p := range n.Ask {
		out += ", ask " + p.Owner.UID
	}
	return out
}

func event(t *testing.T, words []string) Event {
	switch words[0] {
	case "open":
		v := map[string]time.Duration{}
		for _, word := range words[1:] {
			name, value, _ := strings.Cut(word, "=")
			v[name] = duration(t, value)
		}
		return Open{Quiet: v["quiet"], Idle: v["idle"], Max: v["max"]}
	case "poll":
		return poll(t, words[1:])
	case "answer":
		a := Answer{Pod: pod(words[1], 0, cluster.PodPending)}
		if words[2] == "unknown" {
			a.Err = errors.New("forbidden")
			return a
		}
		a.Wanted = cluster.Wanted{Pods: number(t, words[2]), Certain: len(words) > 3}
		return a
	}
	t.Fatalf("there is no event %q", words[0])
	return nil
}

// poll makes a snapshot of which NewPoll reads what the words say.
func poll(t *testing.T, words []string) Poll {
	s, placed := &cluster.Snapshot{}, map[string]bool{}
	var came []*cluster.Pod
	for _, word := range words {
		if owner, n, ok := strings.Cut(word, "+"); ok {
			n, has := strings.CutSuffix(n, "@")
			for i := range number(t, n) {
				p := pod(owner, i, cluster.PodPending)
				placed[p.UID] = has
				came = append(came, p)
			}
			continue
		}
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "untried", "presumed":
			p := pod(name, 0, cluster.PodNew)
			p.Created = start.Add(duration(t, value))
			if name == "presumed" {
				p.State, p.PresumedUnschedulable = cluster.PodPending, true
			}
			s.Pods = append(s.Pods, *p)
		default:
			for i := range number(t, value) {
				s.Pods = append(s.Pods, *pod(name, i, cluster.PodBound))
			}
			s.Pods = append(s.Pods, *pod(name, -1, cluster.PodTerminating)) // which does not count
		}
	}
	return NewPoll(s, came, func(uid string) bool { return placed[uid] })
}

func pod(owner string, i int, state cluster.PodState) *cluster.Pod {
	name := fmt.Sprintf("%s-%d", owner, i)
	return &cluster.Pod{
		PodKey: cluster.PodKey{Name: name, UID: name}, State: state,
		Owner: cluster.Owner{Name: owner, UID: owner}, Template: &cluster.Template{},
	}
}

func number(t *testing.T, text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func duration(t *testing.T, text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
