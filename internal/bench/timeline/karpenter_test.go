package timeline

import (
	"testing"
	"time"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// shrunk fills five nodes. After an hour one of them is empty, and the others have five pods of twelve.
func shrunk(change func(*Timeline, *sim.Workload)) *Timeline {
	t := &Timeline{Name: "shrunk", Length: time.Hour, Settles: time.Hour, Sample: 10 * time.Minute, Types: upTo(4)}
	load := sim.Workload{Name: "web", Replicas: 12, Spec: sim.Requests("1", "2Gi")}
	if change != nil {
		change(t, &load)
	}
	t.deploy(0, load)
	t.deploy(0, sim.Workload{Name: "alone", Replicas: 1, Spec: sim.Requests("3", "6Gi")})
	load.Replicas = 5
	t.deploy(time.Hour, load)
	t.Changes = append(t.Changes, Change{At: time.Hour, Gone: "alone"})
	return t.sort()
}

// Karpenter's code removes the empty node with every policy, and those in use if its policy says so
// and their pods may go.
func TestKarpenter(t *testing.T) {
	guarded := func(t *Timeline, _ *sim.Workload) {
		t.Budgets = []sim.Budget{{Name: "web", Selector: map[string]string{"app": "web"}, MinAvailable: 12}}
	}
	protected := func(_ *Timeline, load *sim.Workload) {
		load.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	}
	tests := map[string]struct {
		policy v1.ConsolidationPolicy
		change func(*Timeline, *sim.Workload)
		nodes  int
	}{
		"WhenEmpty":                    {v1.ConsolidationPolicyWhenEmpty, nil, 4},
		"WhenEmptyOrUnderutilized":     {v1.ConsolidationPolicyWhenEmptyOrUnderutilized, nil, 2},
		"Balanced":                     {v1.ConsolidationPolicyBalanced, nil, 2},
		"a budget that lets no pod go": {v1.ConsolidationPolicyWhenEmptyOrUnderutilized, guarded, 4},
		"protected pods":               {v1.ConsolidationPolicyWhenEmptyOrUnderutilized, protected, 4},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			line := shrunk(tt.change)
			r := Play(t, line, 1, Karpenter(string(tt.policy), line.Types))
			first, last := r.Points[0], r.Points[len(r.Points)-1]
			if first.Nodes != 5 || last.Nodes != tt.nodes {
				t.Errorf("from %d nodes to %d, want from 5 to %d", first.Nodes, last.Nodes, tt.nodes)
			}
			if r.Waiting > 0 || last.Pods != 5 {
				t.Errorf("%d pods, of which %d wait", last.Pods, r.Waiting)
			}
			if moved := r.Evictions > 0; moved != (tt.nodes < 4) {
				t.Errorf("%d evictions", r.Evictions)
			}
		})
	}
}

// A node is drained only once its cheaper replacement is up, which takes a minute.
func TestKarpenterReplaces(t *testing.T) {
	line := &Timeline{Name: "one node", Length: time.Hour, Settles: time.Hour, Sample: 10 * time.Second, Types: upTo(8)}
	load := sim.Workload{Name: "web", Replicas: 6, Spec: sim.Requests("1", "2Gi")}
	line.deploy(0, load)
	load.Replicas = 2
	line.deploy(time.Hour, load)
	r := Play(t, line.sort(), 1, Karpenter(string(v1.ConsolidationPolicyWhenEmptyOrUnderutilized), line.Types))
	first, last := r.Points[0], r.Points[len(r.Points)-1]
	if first.Nodes != 1 || last.Nodes != 1 || last.Price > first.Price/2 || r.Evictions != 2 {
		t.Errorf("%d nodes for %.4f, and then %d for %.4f after %d evictions", first.Nodes, first.Price, last.Nodes, last.Price, r.Evictions)
	}
	paidFor := time.Duration(0) // both machines, before anything was evicted
	for _, p := range r.Points {
		if p.Price > first.Price && p.Evictions == 0 {
			paidFor += line.Sample
		}
	}
	if paidFor < bootTime {
		t.Errorf("the pods were evicted %s after the replacement was bought", paidFor)
	}
}
