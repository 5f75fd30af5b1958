package agent

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/planreport"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// logBuffer is a log that may be read while it is written.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// count returns how many lines hold all of the words.
func (b *logBuffer) count(words ...string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
next:
	for line := range strings.Lines(b.text.String()) {
		for _, word := range words {
			if !strings.Contains(line, word) {
				continue next
			}
		}
		n++
	}
	return n
}

// tooLarge is a pod that no machine has room for.
func tooLarge(cpu string) corev1.PodSpec { return sim.Requests(cpu, "1Gi") }

// TestUnplaceableIsToldOncePerOwnerAndReason has 3,000 pods that nothing can be bought
// for: of large owners, of small ones and of none.
func TestUnplaceableIsToldOncePerOwnerAndReason(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		log := &logBuffer{}
		r.log = hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Info})
		r.Apply(testProvisioner("default"))
		r.start(Options{}, nil)
		large := map[string]int{"web": 1500, "queue": 900, "cache": 480}
		for name, replicas := range large {
			r.Deploy(sim.Workload{Name: name, Replicas: replicas, Spec: tooLarge("1000")})
		}
		for i := range 10 {
			r.Deploy(sim.Workload{Name: fmt.Sprintf("small-%d", i), Replicas: 2, Spec: tooLarge("1000")})
		}
		for i := range 100 {
			r.AddPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("lone-%d", i)}, Spec: tooLarge("1000"), Status: corev1.PodStatus{Phase: corev1.PodPending}})
		}
		time.Sleep(30 * time.Minute)
		const onOwners, onTheirPods, onSmall, onLone, groups = 3, 3 * 3, 10 * 2, 100, 3 + 10 + 1
		told := map[string][]string{}
		for _, e := range r.Events(event.Unplaceable) {
			told[e.Kind+" "+e.Name] = append(told[e.Kind+" "+e.Name], e.Message)
		}
		if got, want := len(r.Events(event.Unplaceable)), onOwners+onTheirPods+onSmall+onLone; got != want || len(told) != want {
			t.Errorf("%d events on %d objects, want %d on as many", got, len(told), want)
		}
		for name, replicas := range large {
			message := strings.Join(told["ReplicaSet "+name], "\n")
			if !strings.HasPrefix(message, fmt.Sprintf("%d of its pods have no place, such as %s-", replicas, name)) {
				t.Errorf("%s was told %q", name, message)
			}
		}
		for i := range 100 {
			if len(told[fmt.Sprintf("Pod lone-%d", i)]) != 1 {
				t.Errorf("lone-%d was told %q", i, told[fmt.Sprintf("Pod lone-%d", i)])
			}
		}
		if got := log.count("could not place pods"); got != groups {
			t.Errorf("%d log lines, want one for each of %d groups", got, groups)
		}
		// Again before the API server forgets it, and when the reason is another one.
		time.Sleep(event.RepeatAfter - 15*time.Minute)
		if got := log.count("could not place pods", "ReplicaSet default/web"); got != 2 {
			t.Errorf("%d lines about one owner after %s, want 2", got, event.RepeatAfter)
		}
		r.Apply(testProvisioner("other"))
		time.Sleep(2 * time.Minute)
		if got := log.count("could not place pods", "ReplicaSet default/web"); got != 3 {
			t.Errorf("%d lines about one owner after its reason has changed, want 3", got)
		}
		if got, want := len(r.Events(event.Unplaceable)), 3*(onOwners+onTheirPods+onSmall+onLone); got != want {
			t.Errorf("%d events in all, want %d", got, want)
		}
	})
}

// While launches fail, each time with another request id, their Provisioner is blocked again and again. Neither its nodes
// nor the pod that waits are told so each time.
func TestFailedLaunchesDoNotFloodEvents(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		const nodes = 20
		log := &logBuffer{}
		r.log = hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Info})
		var broken atomic.Bool
		var tries atomic.Int64
		r.Apply(testProvisioner("default", consolidates(), func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{"c5.large"} }))
		r.start(Options{}, func(call string, when sim.When) error {
			if call != "Launch" || when != sim.Before || !broken.Load() {
				return nil
			}
			return offer.Permanent(fmt.Errorf("https response error StatusCode: 403, RequestID: 8a1e-%d, api error AccessDenied: iam:PassRole", tries.Add(1)))
		})
		r.Deploy(sim.Workload{Name: "web", Replicas: nodes, Spec: sim.Requests("1500m", "1Gi")})
		r.until("the workload runs", r.allRun("web", nodes))
		r.until("all nodes are up", r.allUp)
		time.Sleep(10 * time.Minute)
		before := len(r.Events(event.NotConsolidated)) + len(r.Events(event.Kept))
		broken.Store(true)
		r.Deploy(sim.Workload{Name: "more", Replicas: 1, Spec: sim.Requests("1500m", "1Gi")})
		time.Sleep(event.RepeatAfter - time.Minute)
		if tries.Load() < 15 {
			t.Errorf("%d launches were tried", tries.Load())
		}
		if told := len(r.Events(event.NotConsolidated)) + len(r.Events(event.Kept)) - before; told > 2*nodes {
			t.Errorf("%d nodes were told %d times why they stay", nodes, told)
		}
		if told, lines := len(r.Events(event.Unplaceable)), log.count("could not place pods"); told != 1 || lines != 1 {
			t.Errorf("that the pod has no place was said in %d events and %d lines", told, lines)
		}
	})
}

// told counts events.
type told struct{ n int }

func (t *told) Event(cluster.ObjectRef, string, string, string) { t.n++ }

// A pod that comes while a turn plans is bound before the next turn sees it waiting. What was said of it is
// forgotten like that of others.
func TestPodsThatNoTurnBeginsWithAreForgotten(t *testing.T) {
	var events told
	r, h := &planreport.Reporter{Events: event.NewRecorder(&events), Log: hclog.NewNullLogger()}, newHistory()
	bound := cluster.Pod{PodKey: cluster.PodKey{Namespace: "default", Name: "web", UID: "1"}, State: cluster.PodBound, NodeName: "a"}
	for range 2 {
		r.Nominated(bound.PodKey, "fits node a")
		h.prune(&cluster.Snapshot{Pods: []cluster.Pod{bound}}, r.Keep)
	}
	if events.n != 2 {
		t.Errorf("%d events, want 2: the reporter remembers a pod that does not wait", events.n)
	}
}

// The scheduler may leave a pod nominated to a node although it has failed to make room there. Machines are bought for such
// pods, and they do not keep the node.
func TestPodsWithOldNominations(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default"), sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi")})
		full := r.ours()[0].Name
		nominated := func(name, node string) {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}}, Spec: sim.Requests("1900m", "1Gi")}
			p.Status.NominatedNodeName = node
			r.AddPod(p)
		}
		runs := func(app string) func() bool {
			return func() bool {
				return slices.ContainsFunc(r.Pods(), func(p *corev1.Pod) bool { return p.Labels["app"] == app && isRunning(p) })
			}
		}
		nominated("to-none", "gone")
		r.until("the pod runs whose node has gone", runs("to-none"))
		nominated("stale", full)
		r.never(time.Minute, "a machine is bought while others may be preempted", func() bool { return len(r.ours()) > 2 })
		r.until("the other pod runs", runs("stale"))
	})
}
