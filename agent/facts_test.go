package agent

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// lifeFact is a fact about a node's life; the ids are those of the conformance
// cases.
type lifeFact struct {
	id  string
	run func(r *rig)
}

func TestLifeFacts(t *testing.T) {
	one := sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi")}
	for _, c := range []lifeFact{
		{"TERM-001", func(r *rig) {
			r.served(testProvisioner("default"), one)
			r.Scale("web", 0)
			r.until("the pod is gone", func() bool { return r.count("web", anyPod) == 0 })
			r.DeleteNode(r.ours()[0].Name)
			r.until("nothing is left", r.nothingLeft)
		}},
		{"TERM-005", func(r *rig) {
			r.served(testProvisioner("default"), one)
			old := r.ours()[0].Name
			r.stray("stays", old, func(p *corev1.Pod) {
				p.Spec.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists}}
			})
			time.Sleep(time.Second)
			r.DeleteNode(old)
			r.until("the other pod is gone", func() bool { return r.onNode("web", old) == 0 })
			if r.count("stays", func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil }) > 0 {
				r.Error("the pod that tolerates the taint was evicted")
			}
			r.until("the node is gone", r.gone(old))
		}},
		{"TERM-014", func(r *rig) {
			r.DaemonSet("logs", sim.Requests("50m", "50Mi"))
			r.served(testProvisioner("default"), one)
			old := r.ours()[0].Name
			r.DeleteNode(old)
			r.until("the node is gone", func() bool {
				for _, p := range r.Pods() {
					if strings.HasPrefix(p.Name, "logs") && p.Spec.NodeName == old && p.DeletionTimestamp != nil {
						r.Fatal("the DaemonSet's pod was evicted")
					}
				}
				return r.node(old) == nil
			})
		}},
		{"TERM-015", func(r *rig) {
			one := one
			one.Spec = sim.Requests("300m", "300Mi")
			r.served(testProvisioner("default"), one)
			old := r.ours()[0].Name
			r.stray("precious", old, func(p *corev1.Pod) { p.Annotations = map[string]string{api.AnnotationDoNotEvict: "true"} })
			time.Sleep(time.Second)
			r.DeleteNode(old)
			r.until("the node is gone", r.gone(old))
			if r.count("precious", anyPod) > 0 {
				r.Error("the annotated pod was not evicted")
			}
		}},
		{"LIFE-002", func(r *rig) {
			agent := corev1.Taint{Key: "example.com/agent", Effect: corev1.TaintEffectNoSchedule}
			r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.StartupTaints = []corev1.Taint{agent} }))
			r.start(Options{}, nil)
			r.Deploy(one)
			r.until("the node is there", func() bool { return len(r.ours()) == 1 })
			r.Untaint(r.ours()[0].Name, agent.Key)
			r.until("the node is up", r.allUp)
			r.never(10*time.Minute, "the taint comes back", func() bool {
				return slices.ContainsFunc(r.ours()[0].Spec.Taints, func(t corev1.Taint) bool { return t.Key == agent.Key })
			})
		}},
		{"LIFE-004", func(r *rig) {
			r.Apply(testProvisioner("default"))
			first := r.killAt("Launch", sim.After, 1)
			r.Deploy(one)
			r.until("the agent is dead", first.dead)
			r.until("the kubelet has registered", func() bool { return len(r.Nodes()) == 1 })
			r.AddFinalizer(r.Nodes()[0].Name, "example.com/foreign")
			r.start(Options{}, nil)
			r.until("the node is taken over", r.allUp)
			if got := r.ours()[0].Finalizers; !slices.Equal(got, []string{"example.com/foreign", api.Finalizer}) {
				r.Errorf("finalizers %v", got)
			}
		}},
		{"LIFE-010", func(r *rig) {
			r.Apply(testProvisioner("default"))
			r.start(Options{}, nil)
			r.Deploy(one)
			r.until("the node is there", func() bool { return len(r.ours()) == 1 })
			r.Taint(r.ours()[0].Name, corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Effect: corev1.TaintEffectNoSchedule})
			r.never(5*time.Minute, "the node is initialized", r.allUp)
			r.Untaint(r.ours()[0].Name, "node.cloudprovider.kubernetes.io/uninitialized")
			r.until("the node is initialized", r.allUp)
		}},
		{"LIFE-015", func(r *rig) { r.losesInstances(1) }},
		{"LIFE-016", func(r *rig) { r.losesInstances(100) }},
		{"LIFE-017", func(r *rig) {
			r.Apply(testProvisioner("default"))
			r.NeverBoots(func(offer.Instance) bool { return true })
			r.start(Options{}, nil)
			r.Deploy(one)
			r.until("the node is there", func() bool { return len(r.ours()) == 1 })
			r.never(14*time.Minute, "it goes", func() bool { return len(r.ours()) != 1 || len(r.Machines()) != 1 })
		}},
		{"LIFE-028", func(r *rig) {
			r.Apply(testProvisioner("default"))
			r.start(Options{}, nil)
			r.Deploy(one)
			r.until("the node is there", func() bool { return len(r.ours()) == 1 })
			old := r.ours()[0].Name
			r.DeleteNode(old)
			r.until("it is gone although it was coming up", r.gone(old))
			r.until("the workload runs", r.allRun("web", 1))
			if len(r.Machines()) != len(r.ours()) {
				r.Errorf("%d machines and %d nodes", len(r.Machines()), len(r.ours()))
			}
		}},
		{"DEPROV-038", func(r *rig) {
			r.served(testProvisioner("default"), one)
			time.Sleep(10 * time.Minute)
			drifted := func(s *api.ProvisionerSpec) { s.Labels = map[string]string{"revision": "2"} }
			r.Apply(testProvisioner("default", drifted))
			r.until("the node is marked", func() bool { return len(r.Events(event.Disrupting)) > 0 })
			old := r.Events(event.Disrupting)[0].Name
			r.Apply(testProvisioner("default", drifted, func(s *api.ProvisionerSpec) {
				off := false
				s.Disruption = &api.Disruption{Drift: &off}
			}))
			r.until("the mark is gone", func() bool { return r.node(old).Annotations[api.AnnotationDisruption] == "" })
			r.never(10*time.Minute, "the node goes", r.gone(old))
		}},
		{"DEPROV-045", func(r *rig) {
			r.Apply(testProvisioner("default"))
			r.NeverBoots(func(offer.Instance) bool { return true })
			r.start(Options{}, nil)
			r.Deploy(one)
			r.until("the node is there", func() bool { return len(r.ours()) == 1 })
			r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.Labels = map[string]string{"revision": "2"} }))
			r.never(10*time.Minute, "a node that is not up drifts", func() bool { return len(r.Events(event.Disrupting)) > 0 })
		}},
	} {
		t.Run(c.id, func(t *testing.T) { inBubble(t, sim.Options{}, c.run) })
	}
}

// losesInstances lets machines be terminated before their kubelets come up.
func (r *rig) losesInstances(n int) {
	r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{"c5.large"} }))
	r.NeverBoots(func(offer.Instance) bool { return true })
	r.start(Options{}, nil)
	r.Deploy(sim.Workload{Name: "web", Replicas: n, Spec: sim.Requests("1500m", "1Gi")})
	r.until("the nodes are there", func() bool { return len(r.ours()) == n })
	r.Scale("web", 0)
	for _, m := range r.Machines() {
		r.TerminateInstance(m.ID)
	}
	if took := r.until("the nodes are let go", func() bool { return len(r.ours()) == 0 }); took > 3*time.Minute {
		r.Errorf("it took %s", took)
	}
}
