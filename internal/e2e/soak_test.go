package e2e

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
)

// TestSoak lets a cluster live for SOAK_MINUTES (1): workloads breathe, used nodes are
// consolidated, machines fail, capacity runs out, AWS throttles and the API server
// restarts, as SOAK_SEED (1) draws it. Afterwards all pods run, everything goes when it
// is deleted, and from half an hour on the agent must not have grown: memory, goroutines
// and open connections of the last quarter are those of the second. SOAK_CSV names a
// file for all samples. `make soak` is the long run.
func TestSoak(t *testing.T) {
	length := time.Duration(number(t, "SOAK_MINUTES", 1)) * time.Minute
	seed := number(t, "SOAK_SEED", 1)
	t.Logf("%s, seed %d", length, seed)
	s := &soak{scene: newScene(t), random: rand.New(rand.NewPCG(uint64(seed), 0)), end: time.Now().Add(length), length: length}
	s.prepare()
	s.breathe()
	s.settle()
	s.report()
}

// soak is one run.
type soak struct {
	*scene
	random  *rand.Rand
	length  time.Duration
	end     time.Time
	samples []sample
}

// sample is what the agent takes at one moment; requests count from its start.
type sample struct {
	at                              time.Duration // since the begin
	pods, nodes                     int
	memory, goroutines, sockets     float64
	kubernetesRequests, awsRequests float64
	series                          map[string]float64 // all that the agent measures
}

const (
	// soakSamples are taken in a run, at equal distances.
	soakSamples = 240
	// breaths are how often workloads grow and shrink in a run.
	breaths = 6
	// faultEvery so many samples something fails, on average.
	faultEvery = 8
	// flatFrom is the shortest run after which growth is told from noise.
	flatFrom = 30 * time.Minute
	// mostGrowth is how much more the last quarter may take than the second.
	mostGrowth = 1.15
)

// soakApps are the workloads, with the number of pods that they have on average. Each
// breathes in a phase of its own.
var soakApps = []struct {
	name string
	pods int
	cpu  string
}{{"web", 24, "700m"}, {"api", 16, "1500m"}, {"batch", 10, "3"}}

func (s *soak) prepare() {
	s.apply(provisioner("soak", `consolidation: {enabled: true}
disruption: {consolidateAfter: 10s, budgets: [{nodes: 30%}]}
ttlSecondsUntilExpired: 1800
`))
	for _, app := range soakApps {
		s.apply(deployment(app.name, "soak", app.pods, app.cpu, "512Mi"))
	}
	for _, app := range soakApps {
		s.untilRunning(app.name, app.pods)
	}
}

// breathe lets the cluster grow, shrink and fail until the end.
func (s *soak) breathe() {
	ticks := time.NewTicker(s.length / soakSamples)
	defer ticks.Stop()
	for time.Now().Before(s.end) {
		for i, app := range soakApps {
			if err := s.scale(s.t.Context(), app.name, s.wanted(i)); err != nil {
				s.t.Fatal(err)
			}
		}
		if s.random.IntN(faultEvery) == 0 {
			s.fail()
		}
		s.sample()
		select {
		case <-s.t.Context().Done():
			s.t.Fatal(s.t.Context().Err())
		case <-ticks.C:
		}
	}
}

// wanted is the number of pods of a workload now.
func (s *soak) wanted(i int) int {
	done := 1 - time.Until(s.end).Seconds()/s.length.Seconds()
	phase := 2*math.Pi*breaths*done + float64(i)
	return int(float64(soakApps[i].pods) * (1 + 0.8*math.Sin(phase) + 0.2*(s.random.Float64()-0.5)))
}

// fail lets one thing fail.
func (s *soak) fail() {
	switch s.random.IntN(5) {
	case 0, 1:
		if live := s.Live(); len(live) > 0 {
			if err := s.Sandbox.Cloud.TerminateInstance(live[s.random.IntN(len(live))].ID); err != nil {
				s.t.Fatal(err)
			}
		}
	case 2:
		s.Sandbox.Cloud.SetCapacity("*", []string{"eu-west-1a", "eu-west-1b"}[s.random.IntN(2)], "spot", s.random.IntN(6)-1)
	case 3:
		s.Sandbox.Cloud.Inject(cloud.Fault{Service: "ec2", Code: "RequestLimitExceeded", Rate: 0.5, Times: s.random.IntN(30)})
	case 4:
		if s.random.IntN(4) == 0 {
			s.restartAPIServer()
		}
	}
}

func (s *soak) sample() {
	series := s.metrics()
	total := totals(series)
	pods := 0
	for i := range soakApps {
		pods += s.wanted(i)
	}
	s.samples = append(s.samples, sample{
		at: s.length - time.Until(s.end), pods: pods, nodes: len(s.Live()),
		memory: total["process_resident_memory_bytes"], goroutines: total["go_goroutines"], sockets: sockets(s.t, s.agent.PID()),
		kubernetesRequests: total["packhorse_kubernetes_requests_total"], awsRequests: answered(series), series: series,
	})
}

// answered counts the requests to AWS that were not refused for now. How many are refused, and
// made again, is drawn.
func answered(series map[string]float64) float64 {
	sum := 0.0
	for one, n := range series {
		if strings.HasPrefix(one, "packhorse_aws_requests_total{") && !strings.Contains(one, `code="503"`) {
			sum += n
		}
	}
	return sum
}

// sockets counts the open connections of a process, and what it listens on.
func sockets(t *testing.T, pid int) float64 {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	open := 0.0
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil && strings.HasPrefix(target, "socket:") {
			open++
		}
	}
	return open
}

// settle lets everything run once more, and then go.
func (s *soak) settle() {
	s.Sandbox.Cloud.SetCapacity("*", "eu-west-1a", "spot", -1)
	s.Sandbox.Cloud.SetCapacity("*", "eu-west-1b", "spot", -1)
	for _, app := range soakApps {
		if err := s.scale(s.t.Context(), app.name, app.pods); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, app := range soakApps {
		s.untilRunning(app.name, app.pods)
	}
	for _, app := range soakApps {
		s.delete(app.name)
	}
	s.deleteProvisioner("soak")
	s.until("no instance is left", func(context.Context) (bool, string, error) {
		live := len(s.Live())
		return live == 0, fmt.Sprintf("%d instances", live), nil
	})
}

// report prints the quarters of the run, writes the samples, and checks that nothing grows.
func (s *soak) report() {
	if path := os.Getenv("SOAK_CSV"); path != "" {
		file, err := os.Create(path)
		if err != nil {
			s.t.Fatal(err)
		}
		if err := s.write(file); err != nil {
			s.t.Fatal(err)
		}
	}
	s.t.Logf("what the agent took, on average:\n%s\n%s", s.table(), chart(s.samples))
	if s.length < flatFrom {
		return
	}
	for _, i := range []int{1, 3} {
		for _, metric := range []string{"packhorse_aws_requests_total", "packhorse_kubernetes_requests_total", "packhorse_launches_total"} {
			s.t.Logf("most in quarter %d:\n%s", i+1, largest(s.took(i), metric))
		}
	}
	second, last := s.quarter(1), s.quarter(3)
	for what, ratio := range map[string]float64{
		"memory": last.memory / second.memory, "goroutines": last.goroutines / second.goroutines, "connections": last.sockets / second.sockets,
		"API requests": last.kubernetesRequests / second.kubernetesRequests, "AWS requests": last.awsRequests / second.awsRequests,
	} {
		if ratio > mostGrowth {
			s.t.Errorf("the last quarter took %.2f times the %s of the second, want at most %.2f", ratio, what, mostGrowth)
		}
	}
}

// quarter averages a quarter of the samples, of which i is 0 to 3. Its requests are those
// of an hour.
func (s *soak) quarter(i int) sample {
	part := s.samples[i*len(s.samples)/4 : (i+1)*len(s.samples)/4]
	first, last := part[0], part[len(part)-1]
	hours := (last.at - first.at).Hours()
	mean := sample{
		at:                 last.at,
		kubernetesRequests: (last.kubernetesRequests - first.kubernetesRequests) / hours,
		awsRequests:        (last.awsRequests - first.awsRequests) / hours,
	}
	for _, one := range part {
		mean.pods += one.pods
		mean.nodes += one.nodes
		mean.memory += one.memory / float64(len(part))
		mean.goroutines += one.goroutines / float64(len(part))
		mean.sockets += one.sockets / float64(len(part))
	}
	mean.pods /= len(part)
	mean.nodes /= len(part)
	return mean
}

// took is how much each series has grown in a quarter.
func (s *soak) took(i int) map[string]float64 {
	part := s.samples[i*len(s.samples)/4 : (i+1)*len(s.samples)/4]
	out := map[string]float64{}
	for one, value := range part[len(part)-1].series {
		out[one] = value - part[0].series[one]
	}
	return out
}

func (s *soak) table() string {
	var b strings.Builder
	b.WriteString("| until | pods | nodes | memory | goroutines | sockets | API requests per hour | AWS requests per hour |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for i := range 4 {
		q := s.quarter(i)
		_, _ = fmt.Fprintf(&b, "| %s | %d | %d | %.0f MiB | %.0f | %.0f | %.0f | %.0f |\n",
			q.at.Round(time.Second), q.pods, q.nodes, q.memory/(1<<20), q.goroutines, q.sockets, q.kubernetesRequests, q.awsRequests)
	}
	return b.String()
}

// write writes the samples as CSV.
func (s *soak) write(file io.WriteCloser) error {
	w := csv.NewWriter(file)
	rows := [][]string{{"seconds", "pods", "nodes", "memory_bytes", "goroutines", "sockets", "kubernetes_requests_total", "aws_requests_total"}}
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	for _, one := range s.samples {
		rows = append(rows, []string{
			number(one.at.Seconds()), strconv.Itoa(one.pods), strconv.Itoa(one.nodes), number(one.memory),
			number(one.goroutines), number(one.sockets), number(one.kubernetesRequests), number(one.awsRequests),
		})
	}
	if err := w.WriteAll(rows); err != nil {
		return err
	}
	return file.Close()
}
