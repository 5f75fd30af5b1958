package provider_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// benchmarked is how many resources the benchmark declares.
const benchmarked = 300

// BenchmarkManyResources applies and plans many provisioners with the real
// Terraform, and counts the requests that each costs the API server.
func BenchmarkManyResources(b *testing.B) {
	all := map[string]arguments{}
	for i := range benchmarked {
		name := fmt.Sprintf("bench-%03d", i)
		all[name] = arguments{"name": name, "weight": 1 + i%100, "limits": arguments{"cpu": "100"}}
	}
	raw, err := json.Marshal(map[string]any{"resource": map[string]any{"packhorse_provisioner": all}})
	if err != nil {
		b.Fatal(err)
	}
	c := newCLI(b, nil)
	c.write(b, map[string]string{"versions.tf": requiring(), "main.tf.json": string(raw)})
	c.run(b, "init")
	for b.Loop() {
		measure(b, "apply", func() { c.run(b, "apply", "-auto-approve") })
		measure(b, "plan", func() { c.run(b, "plan") })
		measure(b, "destroy", func() { c.run(b, "destroy", "-auto-approve") })
	}
	if left, err := objects.Resource(api.ProvisionerGVR).List(b.Context(), metav1.ListOptions{}); err != nil || len(left.Items) > 0 {
		b.Errorf("%d objects are left: %v", len(left.Items), err)
	}
}

// measure reports how long a command takes and what it asks for each resource.
func measure(b *testing.B, command string, run func()) {
	requests, start := objectRequests(b), time.Now()
	run()
	b.ReportMetric(time.Since(start).Seconds(), "s/"+command)
	b.ReportMetric(float64(objectRequests(b)-requests)/benchmarked, "requests/resource/"+command)
}
