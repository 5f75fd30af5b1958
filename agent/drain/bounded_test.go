package drain

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// many is a cluster of nodes that are all being drained, and whose evictions take a second.
type many struct {
	Cluster
	Pods
	Inventory
	nodes []cluster.Node
	pods  []cluster.Pod

	mu        sync.Mutex
	now, most int
	evicted   map[string]bool
	events    []string
}

func (m *many) Known(seen *cluster.Snapshot) *cluster.Snapshot     { return seen }
func (m *many) Provisioners() []*api.Provisioner                   { return nil }
func (m *many) InstanceEnded(string) bool                          { return false }
func (m *many) InstanceStopped(string) bool                        { return false }
func (m *many) Event(_ cluster.ObjectRef, _, _ string, say string) { m.events = append(m.events, say) }

func (m *many) Evict(_ context.Context, pod cluster.PodKey) error {
	m.count(1)
	time.Sleep(time.Second)
	m.count(-1)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.evicted[pod.UID] = true
	return nil
}

// Snapshot shows that pods which were evicted take long to stop.
func (m *many) Snapshot() *cluster.Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := &cluster.Snapshot{Nodes: m.nodes, Pods: slices.Clone(m.pods)}
	for i := range out.Pods {
		if p := &out.Pods[i]; m.evicted[p.UID] {
			p.State, p.StopBy = cluster.PodTerminating, time.Now().Add(time.Hour)
		}
	}
	return out
}

func (m *many) count(by int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now += by
	m.most = max(m.most, m.now)
}

// However many nodes are drained, a bounded number of pods is evicted at once. The others have their turn in the next
// passes, and nothing says that they were refused.
func TestEvictionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &many{evicted: map[string]bool{}}
		web := &cluster.Template{}
		for i := range 200 {
			n := fmt.Sprint("n", i)
			m.nodes = append(m.nodes, cluster.Node{Name: n, Provisioner: "default", Deleting: true, Ready: true, Finalizers: []string{api.Finalizer},
				Unschedulable: true, Labels: map[string]string{ExcludeFromBalancers: "true"}, Taints: []corev1.Taint{Taint}})
			for j := range 10 {
				uid := fmt.Sprint(n, "-", j)
				m.pods = append(m.pods, cluster.Pod{PodKey: cluster.PodKey{Name: uid, UID: uid}, NodeName: n, State: cluster.PodBound, Running: true, Template: web})
			}
		}
		d := New(Ports{Cluster: m, Pods: m, Inventory: m, Events: event.NewRecorder(m), Metrics: metrics.New(), Log: hclog.NewNullLogger()})
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		_ = d.Run(ctx, time.Minute)
		if m.most > requestsAtOnce {
			t.Errorf("%d evictions at once, want at most %d", m.most, requestsAtOnce)
		}
		if len(m.evicted) != len(m.pods) {
			t.Errorf("%d pods of %d were evicted", len(m.evicted), len(m.pods))
		}
		if len(m.events) > 0 {
			t.Errorf("%d events, such as %q", len(m.events), m.events[0])
		}
	})
}
