package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// rig is a World with agents that run against it, in virtual time.
type rig struct {
	*testing.T
	*sim.World
	log hclog.Logger
}

// running is one agent process.
type running struct {
	*Agent
	process *sim.Process
	stop    context.CancelFunc
	done    chan struct{}
}

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, options sim.Options, test func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		level := hclog.Error
		if testing.Verbose() {
			level = hclog.Debug
		}
		log := hclog.New(&hclog.LoggerOptions{Output: testWriter{t}, Level: level, DisableTime: true})
		test(&rig{T: t, World: sim.New(options), log: log})
	})
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s %s", time.Now().Format("15:04:05.000"), strings.TrimSpace(string(p)))
	if strings.Contains(string(p), "a fault of the agent") {
		w.t.Fail()
	}
	return len(p), nil
}

// failing makes a call fail before it has an effect, while that is so.
func failing(call string, while *atomic.Bool, why string) sim.Intercept {
	return func(made string, when sim.When) error {
		if made == call && when == sim.Before && while.Load() {
			return errors.New(why)
		}
		return nil
	}
}

// refusing has each request of a call fail with an error before it has an effect, and counts them.
func refusing(call string, err error, tries *atomic.Int64) sim.Intercept {
	return func(made string, when sim.When) error {
		if made != call || when != sim.Before {
			return nil
		}
		tries.Add(1)
		return err
	}
}

// start runs an agent until the test ends or it is stopped.
func (r *rig) start(options Options, intercept sim.Intercept) *running {
	return r.startProcess(r.Connect(intercept), options)
}

// startProcess starts an agent on a connection that is there already.
func (r *rig) startProcess(process *sim.Process, options Options) *running {
	out := r.startOn(process.Cluster, process.Cloud, options)
	out.process = process
	return out
}

// startOn starts an agent on a cluster and a cloud, of which a test may have changed how they behave.
func (r *rig) startOn(on Cluster, cloud Cloud, options Options) *running {
	ctx, cancel := context.WithCancel(r.Context())
	out := &running{Agent: New(on, cloud, options, r.log), stop: cancel, done: make(chan struct{})}
	go func() {
		defer close(out.done)
		if err := out.Run(ctx); err != nil {
			r.Errorf("the agent ended: %v", err)
		}
	}()
	r.Cleanup(out.end)
	return out
}

// end stops the agent in good order.
func (a *running) end() {
	a.stop()
	<-a.done
}

// kill ends the agent as if its process had been killed.
func (a *running) kill() {
	a.process.Kill()
	a.end()
}

// until waits for a condition and returns how long it took, to a thousandth.
func (r *rig) until(what string, condition func() bool) time.Duration {
	r.Helper()
	began := time.Now()
	for !condition() {
		if time.Since(began) > time.Hour {
			r.Fatalf("waited an hour for: %s\n%s", what, r.describe())
		}
		time.Sleep(max(10*time.Millisecond, time.Since(began)/1000))
	}
	return time.Since(began)
}

// never fails if the condition comes true within the time.
func (r *rig) never(d time.Duration, what string, condition func() bool) {
	r.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(max(100*time.Millisecond, d/10_000)) {
		if condition() {
			r.Fatalf("should not happen: %s\n%s", what, r.describe())
		}
	}
}

func (r *rig) describe() string {
	var b strings.Builder
	for _, n := range r.Nodes() {
		fmt.Fprintf(&b, "node %s %s %s %v initialized=%s deleting=%v %v\n", n.Name, n.Spec.ProviderID, n.Labels[api.LabelInstanceType],
			n.Finalizers, n.Labels[api.LabelInitialized], n.DeletionTimestamp != nil, n.Annotations)
	}
	for _, m := range r.Machines() {
		fmt.Fprintf(&b, "machine %s %s %s\n", m.ID, m.NodeName, m.State)
	}
	for _, p := range r.Pods() {
		fmt.Fprintf(&b, "pod %s on %s %s deleting=%v\n", p.Name, p.Spec.NodeName, p.Status.Phase, p.DeletionTimestamp != nil)
	}
	return b.String()
}

// ours returns the nodes that belong to a Provisioner.
func (r *rig) ours() []*corev1.Node {
	return slices.DeleteFunc(r.Nodes(), func(n *corev1.Node) bool { return n.Labels[api.LabelProvisioner] == "" })
}

// allRun reports whether the workload has that many pods and all of them run.
func (r *rig) allRun(workload string, want int) func() bool {
	return func() bool { return r.count(workload, isRunning) == want && r.count(workload, anyPod) == want }
}

func anyPod(*corev1.Pod) bool { return true }

func isRunning(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil
}

func bound(p *corev1.Pod) bool { return p.Spec.NodeName != "" }

func (r *rig) count(workload string, which func(*corev1.Pod) bool) int {
	n := 0
	for _, p := range r.Pods() {
		if p.Labels["app"] == workload && which(p) {
			n++
		}
	}
	return n
}

// provisioner returns one that buys on demand, as edited.
func testProvisioner(name string, edits ...func(*api.ProvisionerSpec)) *api.Provisioner {
	p := &api.Provisioner{}
	p.Name = name
	for _, e := range edits {
		e(&p.Spec)
	}
	return p
}

func emptyAfter(seconds int64) func(*api.ProvisionerSpec) {
	return func(s *api.ProvisionerSpec) { s.TTLSecondsAfterEmpty = ptr.To(seconds) }
}

// atMost lets so many nodes go at a time.
func atMost(nodes string) func(*api.ProvisionerSpec) {
	return func(s *api.ProvisionerSpec) {
		s.Disruption = &api.Disruption{Budgets: []api.Budget{{Nodes: api.NumberOrPercent(nodes)}}}
	}
}

func expireAfter(seconds int64) func(*api.ProvisionerSpec) {
	return func(s *api.ProvisionerSpec) { s.TTLSecondsUntilExpired = ptr.To(seconds) }
}
