package agent

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// doomed is an agent that is killed at a certain call.
type doomed struct {
	*running
	mu   sync.Mutex
	died bool
}

func (d *doomed) dead() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.died
}

// killAt starts an agent that is killed at its n-th call of that kind.
func (r *rig) killAt(call string, when sim.When, n int) *doomed {
	out := &doomed{}
	out.mu.Lock()
	defer out.mu.Unlock()
	out.running = r.start(Options{}, func(c string, w sim.When) error {
		out.mu.Lock()
		defer out.mu.Unlock()
		if c == call && w == when {
			if n--; n == 0 {
				out.died = true
				out.process.Kill()
				go out.end()
			}
		}
		return nil
	})
	return out
}

// An agent that dies at any step of a birth leaves no machine behind, and the next
// one serves the pods with the machine that is there.
func TestCrashDuringBirth(t *testing.T) { // LIFE-001
	cases := map[string]struct {
		call string
		when sim.When
	}{
		"before the launch":            {"Launch", sim.Before},
		"after the launch":             {"Launch", sim.After},
		"before the node's creation":   {"CreateNode", sim.Before},
		"after the node's creation":    {"CreateNode", sim.After},
		"before a binding":             {"Bind", sim.Before},
		"after a binding":              {"Bind", sim.After},
		"before the finalizer was set": {"SetProvisionerFinalizer", sim.Before},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.Labels = map[string]string{"team": "a"} }))
				first := r.killAt(c.call, c.when, 1)
				r.Deploy(sim.Workload{Name: "web", Replicas: 3, Spec: sim.Requests("500m", "500Mi")})
				r.until("the agent is dead", first.dead)
				time.Sleep(10 * time.Second)
				r.start(Options{}, nil)
				r.until("the workload runs", r.allRun("web", 3))
				r.until("all nodes are up", r.allUp)
				if machines, nodes := len(r.Machines()), len(r.ours()); machines != 1 || nodes != 1 {
					t.Errorf("%d machines and %d nodes, want one of each", machines, nodes)
				}
				if n := r.ours()[0]; n.Labels["team"] != "a" || len(n.Finalizers) != 1 || len(n.OwnerReferences) != 1 {
					t.Errorf("the node is not complete: %v %v %v", n.Labels, n.Finalizers, n.OwnerReferences)
				}
			})
		})
	}
}

// An instance whose kubelet registered while no agent ran is taken over.
func TestAdoptionOfRegisteredNode(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		first := r.killAt("Launch", sim.After, 1)
		r.Deploy(sim.Workload{Name: "web", Replicas: 3, Spec: sim.Requests("500m", "500Mi")})
		r.until("the agent is dead", first.dead)
		r.until("the kubelet has registered", func() bool { return len(r.Nodes()) == 1 })
		r.start(Options{}, nil)
		r.until("the node is taken over", func() bool { return len(r.ours()[0].Finalizers) == 1 && r.allUp() })
		r.until("the workload runs", r.allRun("web", 3))
		if got := len(r.Machines()); got != 1 {
			t.Errorf("%d machines, want the one that was there", got)
		}
	})
}

// An instance without a Node object that is too old to come up is given back.
func TestOldInstanceWithoutNode(t *testing.T) { // LIFE-018
	inBubble(t, sim.Options{BootTime: 24 * time.Hour}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		first := r.killAt("Launch", sim.After, 1)
		r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("500m", "500Mi")})
		r.until("the agent is dead", first.dead)
		r.Scale("web", 0)
		time.Sleep(20 * time.Minute)
		r.start(Options{}, nil)
		r.until("nothing is left", r.nothingLeft)
	})
}

// Of two agents one acts at a time; the other takes over.
func TestOneLeader(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		ctx, cancel := context.WithCancel(r.Context())
		var agents []*Agent
		leaders := func() (n int) {
			for _, a := range agents {
				if a.leading.Load() {
					n++
				}
			}
			return n
		}
		done := make(chan struct{})
		for range 2 {
			process := r.Connect(nil)
			a := New(process.Cluster, process.Cloud, Options{}, r.log)
			agents = append(agents, a)
			go func() {
				_ = process.Cluster.Lead(ctx, func(ctx context.Context) { _ = a.Run(ctx) }) // ends with the test
				done <- struct{}{}
			}()
		}
		r.until("one leads", func() bool { return leaders() == 1 })
		r.Deploy(sim.Workload{Name: "web", Replicas: 3, Spec: sim.Requests("500m", "500Mi")})
		time.Sleep(600 * time.Millisecond) // the launch call is under way
		r.LoseLease()
		r.until("the workload runs", func() bool {
			if leaders() > 1 {
				t.Fatal("two agents act at a time")
			}
			return r.allRun("web", 3)()
		})
		time.Sleep(5 * time.Minute)
		if got := len(r.Machines()); got != len(r.ours()) {
			t.Errorf("%d machines and %d nodes", got, len(r.ours()))
		}
		cancel()
		<-done
		<-done
	})
}

// While its Provisioner is not valid, nobody knows how large a machine is that has no Node object yet. Nothing is bought
// in its place before its kubelet tells, under whatever name. Then others buy again.
func TestMachineOfAnInvalidProvisionerWithoutANode(t *testing.T) {
	for name, prefix := range map[string]string{"as expected": "", "under another name": "other-"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.BootsAs(func(i offer.Instance) string { return prefix + i.NodeName })
				r.Apply(testProvisioner("default"))
				first := r.killAt("Launch", sim.After, 1)
				r.Deploy(sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("700m", "1Gi")})
				r.until("the agent dies", first.dead)
				<-first.done
				r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.Weight = ptr.To(int32(101)) }))
				r.Apply(testProvisioner("other"))
				time.Sleep(time.Second) // caches show it
				r.start(Options{}, nil)
				r.never(10*time.Minute, "a node has no size, or another machine is bought", func() bool {
					return slices.ContainsFunc(r.ours(), func(n *corev1.Node) bool { return len(n.Status.Capacity) == 0 }) || len(r.Launches()) > 1
				})
				if !r.allRun("web", 2)() || len(r.ours()) != 1 {
					t.Errorf("the workload does not run on the machine that is there:\n%s", r.describe())
				}
				r.BootsAs(nil)
				r.Deploy(sim.Workload{Name: "more", Replicas: 2, Spec: sim.Requests("1500m", "1Gi")})
				r.until("more runs", r.allRun("more", 2))
			})
		})
	}
}
