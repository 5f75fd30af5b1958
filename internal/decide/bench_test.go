package decide

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// realTypes are the instance types of EC2 in one region.
func realTypes(b testing.TB) []offer.InstanceType {
	b.Helper()
	c, err := offer.ReadCatalogue(bytes.NewReader(offer.EmbeddedCSV()))
	if err != nil {
		b.Fatal(err)
	}
	return c.Types(offer.Settings{Region: "us-east-1"})
}

// usual is a Provisioner with the API's defaults.
func usual(w *world, spec string) {
	w.provisioner("default", spec)
	p := &w.in.Provisioners[0]
	p.Spec = p.Spec.Defaulted()
}

const onDemand = "requirements: [{key: $capacity, operator: In, values: [on-demand]}]"

func BenchmarkDecide(b *testing.B) {
	types := realTypes(b)
	random := func() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }
	for _, c := range []struct {
		name  string
		given func(*world)
	}{
		{"one pod", func(w *world) { w.pods(1, "p", "requests: {cpu: 500m, memory: 1Gi}") }},
		{"uniform 10000 pods", func(w *world) { w.pods(10000, "p", "requests: {cpu: 500m, memory: 1Gi}") }},
		{"10000 pods in 40 classes", func(w *world) {
			r := random()
			for i := range 40 {
				w.pods(250, fmt.Sprintf("c%d-", i), fmt.Sprintf("requests: {cpu: %dm, memory: %dMi}", 100*(1+r.IntN(30)), 128*(1+r.IntN(60))))
			}
		}},
		{"1000 pods, mixed", func(w *world) {
			r := random()
			for i := range 100 {
				w.pods(10, fmt.Sprintf("c%d-", i), fmt.Sprintf("requests: {cpu: %dm, memory: %dMi}", 50+r.IntN(3000), 64+r.IntN(8000)))
			}
		}},
		{"26 pods with a DaemonSet", func(w *world) {
			w.daemonSet("agent", "requests: {cpu: 100m, memory: 128Mi}")
			w.pods(10, "a", "requests: {cpu: 250m, memory: 512Mi}")
			w.pods(10, "b", "requests: {cpu: 500m, memory: 1Gi}")
			w.pods(6, "c", "requests: {cpu: 100m, memory: 2Gi}")
		}},
		{"5000 pods, each different", func(w *world) {
			r := random()
			for i := range 5000 {
				w.pods(1, fmt.Sprintf("p%d", i), fmt.Sprintf("requests: {cpu: %dm, memory: %dMi}", 50+r.IntN(3000), 64+r.IntN(8000)))
			}
		}},
		{"5000 pods in 200 classes, zone spread", func(w *world) {
			r := random()
			for i := range 200 {
				labels := fmt.Sprintf("labels: {app: a%d}, topologySpreadConstraints: [{maxSkew: 1, topologyKey: $zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: a%d}}}]", i, i)
				w.pods(25, fmt.Sprintf("c%d-", i), fmt.Sprintf("{requests: {cpu: %dm, memory: %dMi}, %s}", 100*(1+r.IntN(30)), 128*(1+r.IntN(60)), labels))
			}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			w := newWorld(b, types)
			usual(w, onDemand)
			c.given(w)
			w.in.Snapshot.Sort()
			w.in.Prove = false
			b.ReportAllocs()
			var plan Plan
			for b.Loop() {
				plan = Decide(w.in)
			}
			b.ReportMetric(plan.HourlyPrice.Dollars(), "$/h")
			b.ReportMetric(float64(len(plan.Machines)), "machines")
			w.in.Prove = true
			plan = Decide(w.in)
			b.ReportMetric(100*(float64(plan.HourlyPrice)/float64(plan.LowerBound)-1), "gap-%")
		})
	}
}
