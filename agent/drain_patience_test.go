package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/drain"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/status"
)

// patient is a workload whose pod may take an hour to stop.
func patient() sim.Workload {
	w := sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi")}
	w.Spec.TerminationGracePeriodSeconds = ptr.To[int64](3600)
	return w
}

func bounded(limit time.Duration) func(*api.ProvisionerSpec) {
	return func(s *api.ProvisionerSpec) {
		s.Disruption = &api.Disruption{TerminationGracePeriod: ptr.To(metav1.Duration{Duration: limit})}
	}
}

// A pod that has an hour to stop gets it, whatever else happens, while its kubelet
// answers.
func TestDrainHonoursGracePeriods(t *testing.T) {
	for name, c := range map[string]struct {
		provisioner *api.Provisioner
		meanwhile   func(r *rig, node string)
		skew        time.Duration
	}{
		"nothing happens":                {testProvisioner("default"), func(*rig, string) {}, 0},
		"the kubelet is silent for 20 s": {testProvisioner("default"), func(r *rig, node string) { r.StopKubelet(node, 20*time.Second) }, 0},
		"and again, for minutes": {testProvisioner("default"), func(r *rig, node string) {
			r.StopKubelet(node, 4*time.Minute)
			time.AfterFunc(5*time.Minute, func() { r.StopKubelet(node, 4*time.Minute) })
		}, 0},
		"the drain's own limit passes":                     {testProvisioner("default", bounded(15*time.Minute)), func(*rig, string) {}, 0},
		"and the clock of the API server is a minute slow": {testProvisioner("default", bounded(15*time.Minute)), func(*rig, string) {}, -time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{StopTime: 59*time.Minute + 30*time.Second, Skew: c.skew}, func(r *rig) {
				r.served(c.provisioner, patient())
				old := r.ours()[0].Name
				r.DeleteNode(old)
				time.Sleep(10 * time.Minute)
				c.meanwhile(r, old)
				took := r.until("the node is gone", r.gone(old))
				if cut := r.CutOff(); len(cut) > 0 || took < 39*time.Minute {
					t.Errorf("cut off after %s: %v", took, cut)
				}
			})
		})
	}
}

// A pod that has not stopped long after its grace period is reported, and then ends
// with the machine.
func TestDrainOfPodThatDoesNotStop(t *testing.T) {
	inBubble(t, sim.Options{StopTime: 24 * time.Hour}, func(r *rig) {
		a := r.served(testProvisioner("default"), sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi")})
		old := r.ours()[0].Name
		r.DeleteNode(old)
		r.never(5*time.Minute, "a pod is reported too early", func() bool { return len(r.Events(event.DrainHeldUp)) > 0 })
		time.Sleep(time.Minute + drain.ReportAfter)
		r.reported("default/web-", "has not stopped", "Node", "Pod")
		if got := a.leavingOf(old); !got.Blocked || !strings.Contains(got.What, "has not stopped") {
			t.Errorf("the page says %+v", got)
		}
		if got := heldUp(t, a, drain.HeldByPod); got != 1 {
			t.Errorf("%v drains are held up", got)
		}
		took := r.until("the node is gone", r.gone(old))
		if took += 6*time.Minute + drain.ReportAfter; took < 15*time.Minute || took > 16*time.Minute {
			t.Errorf("the drain took %s, want the grace period of 30 s and 15 min", took)
		}
		r.until("its successor runs", func() bool { return r.count("web", isRunning) == 1 })
		time.Sleep(2 * time.Second)
		if got := heldUp(t, a, drain.HeldByPod); got != 0 {
			t.Errorf("%v drains are held up when it is over", got)
		}
	})
}

// The patience with a silent kubelet counts from its silence, not from the drain.
func TestDrainOfKubeletThatIsSilent(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default"), patient())
		old := r.ours()[0].Name
		r.StopKubelet(old, time.Hour)
		time.Sleep(3 * time.Minute)
		r.DeleteNode(old)
		if took := r.until("the node is gone", r.gone(old)); took < 115*time.Second || took > 130*time.Second {
			t.Errorf("the drain took %s, want the 2 min that are left of 5", took)
		}
	})
}

// shuttingDown is a cloud that lists a machine in another state.
type shuttingDown struct {
	Cloud
	machine string
	state   atomic.Value
}

func (c *shuttingDown) Instances(ctx context.Context) ([]offer.Instance, error) {
	out, err := c.Cloud.Instances(ctx)
	for i := range out {
		if state, is := c.state.Load().(offer.InstanceState); is && out[i].ID == c.machine {
			out[i].State = state
		}
	}
	return out, err
}

// Nothing runs on an instance that somebody has stopped. It is terminated without waiting for its pods, unless it answers
// again. On one that is stopping, they may still run.
func TestDrainOfAStoppedInstance(t *testing.T) {
	for name, c := range map[string]struct {
		state       offer.InstanceState
		silent      time.Duration
		least, most time.Duration
		cutsNothing bool
	}{
		"stopped":           {state: offer.StateStopped, silent: time.Hour, most: 2 * time.Minute},
		"stopping":          {state: offer.StateStopping, silent: time.Hour, least: 5 * time.Minute, most: 7 * time.Minute},
		"and started again": {state: offer.StateStopped, silent: 10 * time.Second, least: 4 * time.Minute, most: 7 * time.Minute, cutsNothing: true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{StopTime: 4 * time.Minute}, func(r *rig) {
				process := r.Connect(nil)
				cloud := &shuttingDown{Cloud: process.Cloud}
				r.Apply(testProvisioner("default"))
				r.startOn(process.Cluster, cloud, Options{})
				r.Deploy(patient())
				r.until("all nodes are up", func() bool { return r.count("web", isRunning) > 0 && r.allUp() })
				old := r.ours()[0].Name
				time.Sleep(2 * time.Minute)
				cloud.machine = r.Machines()[0].ID
				r.StopKubelet(old, c.silent)
				cloud.state.Store(c.state)
				if took := r.until("the node is gone", r.gone(old)); took < c.least || took > c.most {
					t.Errorf("it took %s", took)
				}
				if cut := r.CutOff(); c.cutsNothing && len(cut) > 0 {
					t.Errorf("ended without asking: %v", cut)
				}
			})
		})
	}
}

// A budget may forbid the eviction of a pod for ever because the pod's machine is dead: the pod, which Kubernetes does not
// delete because it tolerates silent kubelets, is the one that its budget lacks. If the
// kubelet answers again in time, the budget holds.
func TestDrainOfProtectedPodOfSilentKubelet(t *testing.T) {
	for name, c := range map[string]struct {
		silent time.Duration
		goes   bool
	}{
		"it is dead":     {time.Hour, true},
		"it comes again": {270 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				w := sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi")}
				w.Spec.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}
				a := r.served(testProvisioner("default"), w)
				r.Protect(sim.Budget{Name: "web-budget", Selector: map[string]string{"app": "web"}, MinAvailable: 1})
				old, machine := r.ours()[0].Name, r.Machines()[0].ID
				r.StopKubelet(old, c.silent)
				time.Sleep(3 * time.Minute)
				r.DeleteNode(old)
				r.never(time.Minute, "the node goes while its kubelet may answer", r.gone(old))
				if got := heldUp(t, a, drain.HeldByKubelet); got != 1 {
					t.Errorf("%v drains wait for a silent kubelet", got)
				}
				if !c.goes {
					r.never(10*time.Minute, "the pod ends", func() bool { return r.onNode("web", old) != 1 })
					return
				}
				if took := r.until("the node is gone", r.gone(old)); took > 90*time.Second {
					t.Errorf("the drain took another %s, want the minute that is left of 5", took)
				}
				if slices.ContainsFunc(r.Machines(), func(m offer.Instance) bool { return m.ID == machine }) {
					t.Error("the instance runs, and its node is gone: a StatefulSet would start the same pod again elsewhere")
				}
				r.until("the workload runs again", r.allRun("web", 1))
			})
		})
	}
}

// A finalizer that holds a pod, and the drain with it, is named wherever one looks.
func TestDrainNamesFinalizer(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		a := r.served(testProvisioner("default"), sim.Workload{
			Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi"), Finalizers: []string{"example.com/hold"},
		})
		old := r.ours()[0].Name
		r.DeleteNode(old)
		time.Sleep(time.Minute)
		r.reported("default/web-", "example.com/hold", "Node", "Pod")
		if got := a.leavingOf(old); !got.Blocked || !strings.Contains(got.What, "example.com/hold") {
			t.Errorf("the page says %+v", got)
		}
		if got := heldUp(t, a, drain.HeldByFinalizer); got != 1 {
			t.Errorf("%v drains are held up", got)
		}
		r.Release("web")
		if took := r.until("the node is gone", r.gone(old)); took > 5*time.Second {
			t.Errorf("the drain took %s after the finalizer had gone", took)
		}
	})
}

// Whatever holds up a drain, an event on the node says so.
func TestDrainIsNeverSilent(t *testing.T) {
	for name, c := range map[string]struct {
		hold  func(r *rig, node string)
		fails string // call
		says  string
		cause drain.Cause
	}{
		"a volume that does not detach": {hold: func(r *rig, node string) { r.Attach(node, "kubernetes.io/csi/ebs.csi.aws.com^vol-1") }, says: "still attached", cause: drain.HeldByVolume},
		"an eviction that is refused":   {fails: "Evict", says: "admission webhook", cause: drain.HeldByRefusal},
		"a machine that does not go":    {fails: "Terminate", says: "is terminating; its last answer: ", cause: drain.HeldByMachine},
		"a node that cannot be changed": {fails: "PatchNode", says: "could not be tainted", cause: drain.HeldByNode},
		"another program's finalizer":   {hold: func(r *rig, node string) { r.AddFinalizer(node, "example.com/other") }, says: "example.com/other", cause: drain.HeldByNode},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				failing, asked := atomic.Bool{}, atomic.Int64{}
				r.Apply(testProvisioner("default"))
				a := r.start(Options{}, func(call string, when sim.When) error {
					if call == c.fails && when == sim.Before && failing.Load() {
						asked.Add(1)
						return errors.New("an admission webhook or AWS denied it")
					}
					return nil
				})
				r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi")})
				r.until("all nodes are up", func() bool { return r.count("web", isRunning) == 1 && r.allUp() })
				old := r.ours()[0].Name
				failing.Store(true)
				if c.hold != nil {
					c.hold(r, old)
				}
				r.DeleteNode(old)
				asked.Store(0)
				time.Sleep(time.Minute)
				if n := asked.Load(); n > 30 {
					t.Errorf("it was asked for %d times in a minute", n)
				}
				r.reported(c.says, "", "Node")
				if got := a.leavingOf(old); !got.Blocked || !strings.Contains(got.What, c.says) {
					t.Errorf("the page says %+v", got)
				}
				if got := heldUp(t, a, c.cause); got != 1 {
					t.Errorf("%v drains are held up by %s", got, c.cause)
				}
			})
		})
	}
}

// reported fails unless events about all of the kinds of objects say both.
func (r *rig) reported(one, other string, kinds ...string) {
	r.Helper()
	for _, kind := range kinds {
		if !slices.ContainsFunc(r.Events(event.DrainHeldUp), func(e sim.Event) bool {
			return e.Kind == kind && strings.Contains(e.Message, one) && strings.Contains(e.Message, other)
		}) {
			r.Errorf("no event on a %s says %q and %q: %v", kind, one, other, r.Events(event.DrainHeldUp))
		}
	}
}

// leavingOf is what the status page says of a node that goes.
func (a *running) leavingOf(node string) status.Leaving {
	a.replan.Set()
	time.Sleep(2 * time.Second)
	for _, l := range a.Status().Leaving {
		if l.Node == node {
			return l
		}
	}
	return status.Leaving{}
}

// heldUp reads the metric.
func heldUp(t *testing.T, a *running, by drain.Cause) float64 {
	t.Helper()
	return max(0, gauge(t, a.metrics, "drains_held_up", string(by)))
}
