package provider_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// benchmarked is how many resources the benchmark declares.
const benchmarked = 20

// steps are the commands that are measured, in their order. The plan is saved, so
// that the apply does not plan again.
var steps = []struct {
	title string
	args  []string
}{
	{"plan", []string{"plan", "-out=plan.bin"}},
	{"apply", []string{"apply", "plan.bin"}},
	{"plan again", []string{"plan", "-detailed-exitcode"}}, // which fails if there is a change
	{"destroy", []string{"destroy", "-auto-approve"}},
}

// distances are how long a request to the API server takes at least: on the same
// machine, and as clusters in a near region are reached.
var distances = []time.Duration{0, 20 * time.Millisecond}

// sample is what one command took.
type sample struct {
	wall, cpu time.Duration // cpu is that of Terraform and the provider
	requests  int           // that the API server had to answer
}

// result is one command of one contestant, whose samples are compared.
type result struct {
	distance         time.Duration
	contestant, step int // their indices
}

// BenchmarkManyResources declares the same objects through this provider and
// through others, with the real Terraform, and prints what it takes side by side.
// `make bench-provider` builds what it needs.
func BenchmarkManyResources(b *testing.B) {
	apply(b, "bench", api.NodeTemplateGVR, "AWSNodeTemplate", "bench", `{amiFamily: AL2023, subnetSelector: {karpenter.sh/discovery: `+box.ClusterName+`}, securityGroupSelector: {karpenter.sh/discovery: `+box.ClusterName+`}}`)
	defer remove(b, api.NodeTemplateGVR, "bench")
	server := count(b)
	contestants := allContestants(b, server.kubeconfig)
	results := map[result][]sample{}
	first := 0 // of the contestants: what one leaves the API server to do slows down the next
	for b.Loop() {
		for _, distance := range distances {
			server.distance.Store(int64(distance))
			for n := range contestants {
				i := (first + n) % len(contestants)
				c := contestants[i].install(b)
				for s := range steps {
					key := result{distance, i, s}
					results[key] = append(results[key], measure(b, c, server, steps[s].args))
				}
				wantNoObjects(b)
			}
			first++
		}
	}
	text := page(contestants, results)
	fmt.Println("\n" + text) // a benchmark's log is cut
	if path := os.Getenv("BENCH_PAGE"); path != "" {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // a page for everybody
			b.Fatal(err)
		}
	}
}

func measure(b *testing.B, c *cli, server *counter, args []string) sample {
	b.Helper()
	runtime.GC() // of the sandbox, which lives in this process
	before, cpu, start := server.requests.Load(), c.cpu, time.Now()
	c.run(b, args...)
	return sample{time.Since(start), c.cpu - cpu, int(server.requests.Load() - before)}
}

func wantNoObjects(b *testing.B) {
	b.Helper()
	left, err := objects.Resource(api.ProvisionerGVR).List(b.Context(), metav1.ListOptions{})
	if err == nil && len(left.Items) > 0 {
		err = errors.New("objects are left after the destroy")
	}
	if err != nil {
		b.Fatal(err)
	}
}

// asJSON writes configuration, which is also JSON of any value.
func asJSON(b *testing.B, value any) string {
	b.Helper()
	raw, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		b.Fatal(err)
	}
	return string(raw)
}
