package drain

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/go-hclog"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// evictions are accepted, except for one pod, and noted.
type evictions struct {
	Pods
	blocked string
	mu      sync.Mutex
	names   []string
}

func (e *evictions) Evict(_ context.Context, pod cluster.PodKey) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if pod.Name == e.blocked {
		return cluster.ErrStale
	}
	e.names = append(e.names, pod.Name)
	return nil
}

// Consolidation evicts one pod in each pass, the largest first. One that may not go now does not
// hold up the others. Other removals, and those of machines that end within minutes, evict all at once.
func TestLargestPodsGoFirst(t *testing.T) {
	room := amount.List{amount.CPU: 4000, amount.Memory: 8 << 30}
	for name, c := range map[string]struct {
		reason, blocked string
		interrupted     bool
		want            string // after each pass
	}{
		"consolidation":                      {api.ReasonConsolidation, "", false, "memory; memory cpu; memory cpu small"},
		"consolidation, the largest may not": {api.ReasonConsolidation, "memory", false, "; cpu; cpu small"},
		"consolidation, its machine ends":    {api.ReasonConsolidation, "", true, "cpu memory small; cpu memory small; cpu memory small"},
		"a drifted node":                     {api.ReasonDrift, "", false, "cpu memory small; cpu memory small; cpu memory small"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := &evictions{blocked: c.blocked}
				d := New(Ports{Pods: asked, Metrics: metrics.New(), Log: hclog.NewNullLogger()})
				n := &cluster.Node{Name: "n", Allocatable: room, Annotations: map[string]string{api.AnnotationDisruption: c.reason}}
				if c.interrupted {
					n.Annotations[api.AnnotationInterrupted] = "true"
				}
				var pods []*cluster.Pod
				for name, asks := range map[string]amount.List{
					"small": {amount.CPU: 500, amount.Memory: 1 << 30}, "cpu": {amount.CPU: 2000, amount.Memory: 1 << 30}, "memory": {amount.CPU: 500, amount.Memory: 6 << 30},
				} {
					pods = append(pods, &cluster.Pod{PodKey: cluster.PodKey{Name: name, UID: name}, State: cluster.PodBound, Template: &cluster.Template{Requests: asks}})
				}
				var passes []string
				for range 3 {
					d.evictAll(t.Context(), n, pods)
					gone := slices.Clone(asked.names)
					if c.reason == api.ReasonDrift || c.interrupted {
						slices.Sort(gone)
					}
					passes = append(passes, strings.Join(gone, " "))
				}
				if got := strings.Join(passes, "; "); got != c.want {
					t.Errorf("evicted %q, want %q", got, c.want)
				}
			})
		})
	}
}
