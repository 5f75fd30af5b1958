package timeline

import (
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// A node goes that is less than half used and whose pod fits elsewhere; one that is fuller
// stays, and so does the last one.
func TestAutoscaler(t *testing.T) {
	line := &Timeline{Name: "two nodes", Length: 2 * time.Hour, Settles: time.Hour, Sample: 5 * time.Minute, Types: upTo(2)}
	load := sim.Workload{Name: "web", Replicas: 4, Spec: sim.Requests("800m", "1Gi")}
	line.deploy(0, load)
	load.Replicas = 2
	line.deploy(time.Hour, load)
	r := Play(t, line.sort(), 1, Autoscaler())
	first, last := r.Points[0], r.Points[len(r.Points)-1]
	if last.Nodes >= first.Nodes || r.Waiting > 0 {
		t.Errorf("%d nodes, and then %d; %d pods wait", first.Nodes, last.Nodes, r.Waiting)
	}
	for _, p := range r.Points {
		if p.At > 0 && p.At < unneededFor && p.Nodes < first.Nodes {
			t.Errorf("a node went after %s", p.At)
		}
	}
}
