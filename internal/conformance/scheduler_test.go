package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// Variables of the environment that steer TestScheduler.
const (
	casesVariable    = "CONFORMANCE_CASES"    // how many
	seedVariable     = "CONFORMANCE_SEED"     // of the first; the next ones count up
	minimiseVariable = "CONFORMANCE_MINIMISE" // 1: reduce the scenarios that differ
)

// sample is how many cases are part of every run of the tests.
const sample = 8

// reduceTimeout bounds a case while its scenario is being reduced: what remains of a
// cluster may make no sense, and then something is waited for that does not come.
const reduceTimeout = 4 * time.Second

// reduceBudget bounds a reduction; then the smallest scenario so far will do.
const reduceBudget = 2 * time.Minute

// shared is the control plane of all tests of this package.
var shared *lab

func TestMain(m *testing.M) {
	code, err := withLab(func(l *lab) int {
		shared = l
		return m.Run()
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// fromEnvironment reads a number, or returns the fallback where there is none.
func fromEnvironment(t *testing.T, name string, fallback uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%s: it is to be a whole number", name, text)
	}
	return n
}

// TestScheduler plans random clusters and lets the real kube-scheduler judge the
// plans.
func TestScheduler(t *testing.T) {
	cases := fromEnvironment(t, casesVariable, 0)
	fallback := uint64(time.Now().UnixNano() % 1e9)
	if cases == 0 {
		cases, fallback = sample, 1 // the sample is the same every time
	}
	seed := fromEnvironment(t, seedVariable, fallback)
	minimise := fromEnvironment(t, minimiseVariable, 0) == 1
	var total outcome
	for i := range cases {
		t.Run(fmt.Sprintf("seed %d", seed+i), func(t *testing.T) {
			total.add(judgeSeed(t, seed+i, minimise))
		})
	}
	t.Logf("%d cases from seed %d (%s=%d repeats them): the scheduler agrees with %d placements on %d machines and nodes that were there, %d pods without a place, the room for %d pods of DaemonSets, and the removal of %d nodes; it differs on %d pods",
		cases, seed, seedVariable, seed, total.placed, total.machines, total.unplaced, total.daemons, total.removed, len(total.disagreements))
}

func (o *outcome) add(more *outcome) {
	o.placed += more.placed
	o.unplaced += more.unplaced
	o.machines += more.machines
	o.daemons += more.daemons
	o.removed += more.removed
	o.disagreements = append(o.disagreements, more.disagreements...)
}

func judgeSeed(t *testing.T, seed uint64, minimise bool) *outcome {
	t.Helper()
	s := draw(seed)
	out, err := shared.compare(t.Context(), s, decide.Decide, randomOf(seed))
	if err != nil {
		t.Fatal(err)
	}
	if len(out.disagreements) == 0 {
		return out
	}
	if minimise {
		s, out = reduced(t, s, out, seed)
	}
	for _, d := range out.disagreements {
		t.Error(d)
	}
	file, err := s.file()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s=%d %s=1; the scenario as a file:\n%s", seedVariable, seed, casesVariable, file)
	return out
}

// reduced returns a smaller scenario that differs in the same way, and how.
func reduced(t *testing.T, s *scenario, out *outcome, seed uint64) (*scenario, *outcome) {
	t.Helper()
	end := time.Now().Add(reduceBudget)
	smallest := reduce(s, func(smaller *scenario) bool {
		if time.Now().After(end) {
			return false
		}
		ctx, cancel := context.WithTimeout(t.Context(), reduceTimeout)
		defer cancel()
		again, err := shared.compare(ctx, smaller, decide.Decide, randomOf(seed))
		if err != nil || len(again.disagreements) == 0 || again.disagreements[0].kind != out.disagreements[0].kind {
			return false
		}
		out = again
		return true
	})
	return smallest, out
}

func randomOf(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
