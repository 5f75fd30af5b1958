package agent

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// TestCrashSim plays random scenarios in virtual time: workloads come and go,
// machines fail in every way, calls go wrong, agents are killed and replaced. At
// the end each must have come right; see (*simulation).check.
//
// CRASH_SIM_SEEDS is the number of scenarios, CRASH_SIM_SEED the first seed; a
// seed is one scenario. `make crash-sim` plays many.
func TestCrashSim(t *testing.T) {
	seeds, first := envInt(t, "CRASH_SIM_SEEDS", 30), envInt(t, "CRASH_SIM_SEED", 1)
	if os.Getenv("CRASH_SIM_SEEDS") != "" {
		t.Logf("%d scenarios from seed %d", seeds, first)
	}
	for seed := first; seed < first+seeds; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			playScenario(t, uint64(seed))
		})
	}
}

func envInt(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

func playScenario(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	sc := drawScenario(random)
	inBubble(t, sc.world, func(r *rig) {
		s := &simulation{rig: r, scenario: sc, seed: seed}
		s.play()
		s.settle()
		s.dismantle()
		if len(s.problems) > 0 {
			r.Fatalf("seed %d:\n%s\n%s\n%s", seed, strings.Join(s.problems, "\n"), sc, s.describe())
		}
	})
	runtime.Gosched()
}

// simulation is one scenario being played.
type simulation struct {
	*rig
	scenario *scenario
	seed     uint64
	replicas []*replica
	problems []string

	mu         sync.Mutex
	calls      map[string]int
	trouble    trouble
	impediment impediment
	disturbed  []time.Time
	stall      stall

	leftOut      int // percent of the machines in an answer of the cloud
	leftOutUntil time.Time
}

// trouble makes calls fail while it lasts.
type trouble struct {
	until          time.Time
	cluster, cloud int           // percent of the calls
	hang           time.Duration // before they fail
}

func (s *simulation) failf(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

// disturb notes a moment after which a machine may be bought for nothing.
func (s *simulation) disturb() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disturbed = append(s.disturbed, time.Now())
}

// play performs the scenario's steps.
func (s *simulation) play() {
	s.calls = map[string]int{}
	for _, p := range s.scenario.provisioners {
		s.Apply(p.spec())
	}
	for _, w := range s.scenario.workloads {
		s.Deploy(w.Workload)
		if w.minAvailable > 0 {
			s.Protect(sim.Budget{Name: w.Name, Selector: map[string]string{"app": w.Name}, MinAvailable: w.minAvailable})
		}
	}
	s.DaemonSet("logs", sim.Requests("50m", "50Mi"))
	for range s.scenario.replicas {
		s.replicas = append(s.replicas, s.newReplica())
	}
	for _, step := range s.scenario.steps {
		time.Sleep(step.after)
		s.log.Debug("STEP " + step.String())
		s.disturb()
		s.recreate()
		step.do(s)
	}
}

// intercept decides which calls go wrong. The decision depends on the seed, the
// call and how often it was made, so that a seed can be played again.
func (s *simulation) intercept(call string, when sim.When) error {
	hang, err := s.strikes(call, when)
	time.Sleep(hang)
	return err
}

func (s *simulation) strikes(call string, when sim.When) (hang time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[call+string(when)]++
	if i := s.impediment; i.call == call && time.Now().Before(i.until) && when == sim.Before {
		s.disturbed = append(s.disturbed, time.Now())
		if i.fails {
			return 0, fmt.Errorf("injected: %s is refused: %w", call, cluster.ErrRefused)
		}
		return i.takes, nil
	}
	if !time.Now().Before(s.trouble.until) {
		return 0, nil
	}
	share := s.trouble.cluster
	if slices.Contains(cloudCalls, call) {
		share = s.trouble.cloud
	}
	if when == sim.After {
		share /= 4
	}
	h := fnv.New64a()
	fmt.Fprint(h, s.seed, call, when, s.calls[call+string(when)])
	if int(h.Sum64()>>8%100) >= share {
		return 0, nil
	}
	s.disturbed = append(s.disturbed, time.Now())
	return s.trouble.hang, fmt.Errorf("injected trouble %s the effect", when)
}

// replica is one of the agent's processes; when one dies, the next is started.
type replica struct {
	s    *simulation
	mu   sync.Mutex
	doom doom
	die  context.CancelFunc // ends the process that runs now
	stop context.CancelFunc
	done chan struct{}
}

// doom is a call at which a process will be killed, or stopped for a while; n counts
// down to it.
type doom struct {
	call string
	when sim.When
	n    int
	stop time.Duration // 0: it is killed
}

func (s *simulation) newReplica() *replica {
	ctx, cancel := context.WithCancel(s.Context())
	r := &replica{s: s, stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		for ctx.Err() == nil {
			r.process(ctx)
			_ = pace.Sleep(ctx, 3*time.Second) // until it is started again
		}
	}()
	s.Cleanup(func() { r.stop(); <-r.done })
	return r
}

// process runs one process to its end.
func (r *replica) process(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var process *sim.Process
	kill := func() {
		process.Kill()
		cancel()
	}
	process = r.s.Connect(func(call string, when sim.When) error {
		r.mu.Lock()
		d := &r.doom
		if d.n > 0 && strings.HasPrefix(call, d.call) && when == d.when {
			if d.n--; d.n == 0 {
				r.s.log.Debug("STRUCK " + string(when) + " " + call)
				r.strike(process, kill)
			}
		}
		r.mu.Unlock()
		return r.s.intercept(call, when)
	})
	r.mu.Lock()
	r.die = kill
	r.mu.Unlock()
	options := r.s.scenario.options
	options.Notices = process.Notices
	a := New(&laggard{process.Cluster, r.s, time.Now()}, &forgetful{process.Cloud, r.s, map[string]bool{}}, options, r.s.log)
	_ = process.Cluster.Lead(ctx, func(ctx context.Context) { _ = a.Run(ctx) }) // ends in good order or with its process
}

// strike is the doom of a process. What is bought while one is stopped has to be of
// use: only a kill excuses what is not.
func (r *replica) strike(process *sim.Process, kill func()) {
	if r.doom.stop > 0 {
		process.Stop()
		time.AfterFunc(r.doom.stop, process.Continue)
		return
	}
	r.s.disturb()
	kill()
}

func (r *replica) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.die != nil {
		r.die()
	}
}

func (r *replica) killAt(d doom) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doom = d
}
