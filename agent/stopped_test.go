package agent

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// stopping are two agents of which the leader is stopped at a certain call, as with
// SIGSTOP, and goes on when the other has led for a while.
type stopping struct {
	mu      sync.Mutex
	call    string
	when    sim.When
	stopped *sim.Process
	agents  []*Agent
}

// stopAt starts two agents. The one that makes the call first is stopped there.
func (r *rig) stopAt(call string, when sim.When) *stopping {
	s := &stopping{call: call, when: when}
	ctx, cancel := context.WithCancel(r.Context())
	done := make(chan struct{})
	for range 2 {
		var process *sim.Process
		process = r.Connect(func(c string, w sim.When) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.stopped == nil && c == s.call && w == s.when {
				s.stopped = process
				process.Stop()
			}
			return nil
		})
		a := New(process.Cluster, process.Cloud, Options{}, r.log)
		s.agents = append(s.agents, a)
		go func() {
			defer func() { done <- struct{}{} }()
			for ctx.Err() == nil { // it is started again when it has ended
				_ = process.Cluster.Lead(ctx, func(ctx context.Context) { _ = a.Run(ctx) })
			}
		}()
	}
	r.Cleanup(func() {
		s.resume()
		cancel()
		<-done
		<-done
	})
	return s
}

func (s *stopping) isStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped != nil
}

func (s *stopping) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped != nil {
		s.stopped.Continue()
	}
}

// A leader that is stopped at any call that changes something, and goes on when another
// leads, does nothing any more: not what it was about to do, nor anything after that. A
// call that was on its way does no harm.
func TestStoppedLeader(t *testing.T) {
	calls := []string{
		"Launch", "CreateNode", "Bind", "PatchNode", "DeleteNode", "Evict", "Terminate",
		"UpdateProvisionerStatus", "SetProvisionerFinalizer", "Claim", "Sweep",
	}
	for _, call := range calls {
		for _, when := range []sim.When{sim.Before, sim.Sent, sim.After} {
			t.Run(call+" "+string(when), func(t *testing.T) {
				inBubble(t, sim.Options{}, func(r *rig) { stopTheLeader(r, call, when) })
			})
		}
	}
}

func stopTheLeader(r *rig, call string, when sim.When) {
	r.Apply(testProvisioner("default", emptyAfter(5), func(s *api.ProvisionerSpec) {
		s.Limits = &api.Limits{Resources: corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(8, resource.DecimalSI)}}
	}))
	s := r.stopAt(call, when)
	r.Deploy(sim.Workload{Name: "web", Replicas: 6, Spec: sim.Requests("900m", "500Mi")})
	drained := slices.Contains([]string{"DeleteNode", "Evict", "Terminate", "PatchNode"}, call)
	if drained {
		r.until("the workload runs", r.allRun("web", 6))
		r.until("all nodes are up", r.allUp)
		if call == "DeleteNode" {
			r.Scale("web", 0)
		} else {
			r.DeleteNode(r.ours()[0].Name)
		}
	}
	r.until("the leader is stopped", s.isStopped)
	time.Sleep(40 * time.Second) // in which the other takes over and goes on
	s.resume()
	if call == "DeleteNode" {
		r.until("nothing is left", r.nothingLeft)
	} else {
		r.until("the workload runs", r.allRun("web", 6))
		r.until("all nodes are up", r.allUp)
	}
	time.Sleep(10 * time.Minute)
	if calls := r.Usurped(); len(calls) > 0 {
		r.Errorf("a process without the lease acted: %v", calls)
	}
	if unused := r.Unused(); len(unused) > 0 {
		r.Errorf("%d machines were bought that nobody needed: %v", len(unused), unused)
	}
	if peak := r.Peak("default")[amount.CPU] / 1000; peak > 8 {
		r.Errorf("%d cores at a time, the limit is 8", peak)
	}
	if got, want := len(r.Machines()), len(r.ours()); got != want {
		r.Errorf("%d machines and %d nodes", got, want)
	}
}
