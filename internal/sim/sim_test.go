package sim

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/process"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/stock"
)

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, test func(t *testing.T, w *World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, New(Options{})) })
}

func node(name string, cores string, edits ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	n.Status.Capacity = Requests(cores, "64Gi").Containers[0].Resources.Requests
	n.Status.Capacity[corev1.ResourcePods] = resource.MustParse("110")
	n.Status.Allocatable = n.Status.Capacity
	for _, e := range edits {
		e(n)
	}
	return n
}

// placed counts the pods of a workload by the node that they are on.
func placed(w *World, workload string) map[string]int {
	out := map[string]int{}
	for _, p := range w.Pods() {
		if p.Labels["app"] == workload {
			out[p.Spec.NodeName]++
		}
	}
	return out
}

func TestSchedulerFindsRoom(t *testing.T) {
	selected := Requests("100m", "100Mi")
	selected.NodeSelector = map[string]string{"disk": "ssd"}
	cases := map[string]struct {
		spec     corev1.PodSpec
		replicas int
		want     map[string]int
	}{
		"as far as it reaches":        {spec: Requests("1", "1Gi"), replicas: 5, want: map[string]int{"plain": 2, "ssd": 2, "": 1}},
		"where the selector says":     {spec: selected, replicas: 1, want: map[string]int{"ssd": 1}},
		"nowhere if nothing is large": {spec: Requests("3", "1Gi"), replicas: 1, want: map[string]int{"": 1}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *World) {
				w.AddNode(node("plain", "2"))
				w.AddNode(node("ssd", "2", func(n *corev1.Node) { n.Labels["disk"] = "ssd" }))
				w.AddNode(node("tainted", "64", func(n *corev1.Node) {
					n.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
				}))
				w.AddNode(node("cordoned", "64", func(n *corev1.Node) { n.Spec.Unschedulable = true }))
				w.Deploy(Workload{Name: "web", Replicas: c.replicas, Spec: c.spec})
				time.Sleep(time.Second)
				got := placed(w, "web")
				for name, want := range c.want {
					if got[name] != want {
						t.Errorf("%d pods on node %q, want %d", got[name], name, want)
					}
				}
				pending := 0
				for _, p := range w.Connect(nil).Cluster.Snapshot().Pods {
					if p.State == cluster.PodPending {
						pending++
					}
				}
				if pending != c.want[""] {
					t.Errorf("%d pods are marked unschedulable, want %d", pending, c.want[""])
				}
			})
		})
	}
}

func TestWorkloadReplacesPods(t *testing.T) {
	inBubble(t, func(t *testing.T, w *World) {
		w.AddNode(node("a", "4"))
		w.Deploy(Workload{Name: "web", Replicas: 3, Spec: Requests("1", "1Gi")})
		time.Sleep(time.Second)
		c := w.Connect(nil).Cluster
		victim := c.Snapshot().Pods[0].PodKey
		if err := c.Evict(t.Context(), victim); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if got := placed(w, "web")["a"]; got != 3 {
			t.Errorf("%d pods run, want 3", got)
		}
		for _, p := range w.Pods() {
			if string(p.UID) == victim.UID {
				t.Error("the evicted pod is still there")
			}
		}
		w.Scale("web", 1)
		time.Sleep(10 * time.Second)
		if got := len(w.Pods()); got != 1 {
			t.Errorf("%d pods after scaling down, want 1", got)
		}
	})
}

func TestBudgetBlocksEviction(t *testing.T) {
	inBubble(t, func(t *testing.T, w *World) {
		w.AddNode(node("a", "4"))
		w.Protect(Budget{Name: "web", Selector: map[string]string{"app": "web"}, MinAvailable: 1})
		w.Deploy(Workload{Name: "web", Replicas: 2, Spec: Requests("1", "1Gi")})
		time.Sleep(time.Second)
		c := w.Connect(nil).Cluster
		pods := c.Snapshot().Pods
		if err := c.Evict(t.Context(), pods[0].PodKey); err != nil {
			t.Fatalf("the first eviction: %v", err)
		}
		var blocked *cluster.BlockedError
		if err := c.Evict(t.Context(), pods[1].PodKey); !errors.As(err, &blocked) || !slices.Equal(blocked.Budgets, []string{"default/web"}) {
			t.Errorf("the second eviction: %v, want one that names the budget", err)
		}
	})
}

func order(id string, count int, candidates ...offer.Candidate) offer.Order {
	return offer.Order{LaunchID: id, Provisioner: "default", Count: count, Candidates: candidates}
}

var (
	small  = offer.Candidate{InstanceType: "c5.large", Zone: "sim-1a", CapacityType: api.CapacityOnDemand}
	medium = offer.Candidate{InstanceType: "c5.xlarge", Zone: "sim-1a", CapacityType: api.CapacityOnDemand}
)

func TestLaunchDrawsFromPools(t *testing.T) {
	inBubble(t, func(t *testing.T, w *World) {
		w.Capacity("c5.large", "sim-1a", api.CapacityOnDemand, 2)
		w.Capacity("c5.xlarge", "sim-1a", api.CapacityOnDemand, 1)
		cloud := w.Connect(nil).Cloud
		got, err := cloud.Launch(t.Context(), order("one", 4, small, medium))
		if err != nil || len(got.Instances) != 3 || len(got.Refusals) != 2 {
			t.Fatalf("%d instances and %d refusals (%v), want 3 and 2", len(got.Instances), len(got.Refusals), err)
		}
		again, err := cloud.Launch(t.Context(), order("one", 4, small, medium))
		if err != nil || len(again.Instances) != 3 || len(w.Machines()) != 3 {
			t.Errorf("the same order again bought something: %d machines (%v)", len(w.Machines()), err)
		}
		available := func() bool {
			m, err := cloud.Market(t.Context(), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range m.Types {
				for _, o := range it.Offerings {
					if it.Name == small.InstanceType && o.Zone == small.Zone && o.CapacityType == small.CapacityType {
						return o.Unavailable == ""
					}
				}
			}
			return false
		}
		if available() {
			t.Error("a refused offering is still on the market")
		}
		time.Sleep(stock.RefusalTime)
		if !available() {
			t.Error("the offering does not come back")
		}
	})
}

func TestKubeletRegisters(t *testing.T) {
	inBubble(t, func(t *testing.T, w *World) {
		cloud := w.Connect(nil).Cloud
		o := order("one", 1, small)
		o.Node = offer.NodeSpec{Labels: map[string]string{"team": "a"}, Taints: []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}}
		got, err := cloud.Launch(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		w.NeverBoots(func(offer.Instance) bool { return true })
		if _, err := cloud.Launch(t.Context(), order("dud", 1, small)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		nodes := w.Nodes()
		if len(nodes) != 1 || nodes[0].Name != got.Instances[0].NodeName {
			t.Fatalf("%d nodes registered, want that of the first machine", len(nodes))
		}
		n := nodes[0]
		if n.Labels["team"] != "a" || n.Labels[api.LabelInstanceType] != "c5.large" || len(n.Spec.Taints) != 1 ||
			n.Spec.ProviderID != got.Instances[0].ProviderID || n.Status.Allocatable.Cpu().MilliValue() != 1900 {
			t.Errorf("it registered as %+v", n)
		}
		gone, err := cloud.Terminate(t.Context(), []string{got.Instances[0].ID})
		if err != nil || len(gone) != 1 {
			t.Fatalf("terminated %v: %v", gone, err)
		}
		if ready := w.Nodes()[0].Status.Conditions[0]; ready.Status != corev1.ConditionFalse {
			t.Errorf("the node of a terminated machine says %v", ready)
		}
	})
}

func TestFinalizerHoldsNode(t *testing.T) {
	inBubble(t, func(t *testing.T, w *World) {
		c := w.Connect(nil).Cluster
		if _, err := c.CreateNode(t.Context(), node("a", "4", func(n *corev1.Node) { n.Finalizers = []string{api.Finalizer} })); err != nil {
			t.Fatal(err)
		}
		w.DeleteNode("a")
		if n := w.Nodes(); len(n) != 1 || n[0].DeletionTimestamp == nil {
			t.Fatal("the node is not held by its finalizer")
		}
		if err := c.PatchNode(t.Context(), "a", cluster.NodeChange{RemoveFinalizer: api.Finalizer}); err != nil {
			t.Fatal(err)
		}
		if len(w.Nodes()) != 0 {
			t.Error("the node stays without a finalizer")
		}
		if err := c.PatchNode(t.Context(), "a", cluster.NodeChange{}); !errors.Is(err, cluster.ErrGone) {
			t.Errorf("changing a node that is gone: %v", err)
		}
	})
}

func TestBindIsExact(t *testing.T) {
	inBubble(t, func(t *testing.T, w *World) {
		w.Deploy(Workload{Name: "web", Replicas: 1, Spec: Requests("1", "1Gi")})
		time.Sleep(time.Second)
		c := w.Connect(nil).Cluster
		pod := c.Snapshot().Pods[0].PodKey
		for _, step := range []struct {
			node string
			want error
		}{{"a", nil}, {"a", nil}, {"b", cluster.ErrStale}} {
			if err := c.Bind(t.Context(), pod, step.node); !errors.Is(err, step.want) {
				t.Errorf("binding to %s: %v, want %v", step.node, err, step.want)
			}
		}
		w.Scale("web", 0)
		time.Sleep(time.Second)
		if err := c.Bind(t.Context(), pod, "a"); !errors.Is(err, cluster.ErrStale) {
			t.Errorf("binding a pod that is being deleted: %v", err)
		}
	})
}

func TestIntercepts(t *testing.T) {
	inBubble(t, func(t *testing.T, w *World) {
		lost := errors.New("lost")
		var p *Process
		p = w.Connect(func(call string, when When) error {
			switch {
			case call == "Launch" && when == After:
				return lost
			case call == "CreateNode" && when == Before:
				p.Kill()
			}
			return nil
		})
		if _, err := p.Cloud.Launch(t.Context(), order("one", 1, small)); !errors.Is(err, lost) || len(w.Machines()) != 1 {
			t.Errorf("a lost answer: %v with %d machines, want the effect without the answer", err, len(w.Machines()))
		}
		if _, err := p.Cluster.CreateNode(t.Context(), node("a", "1")); !errors.Is(err, process.ErrDead) || len(w.Nodes()) != 0 {
			t.Errorf("a call of a dying process: %v with %d nodes", err, len(w.Nodes()))
		}
		if _, err := p.Cloud.Instances(t.Context()); !errors.Is(err, process.ErrDead) {
			t.Errorf("a call of a dead process: %v", err)
		}
	})
}

func TestCachesLag(t *testing.T) {
	inBubble(t, func(t *testing.T, w *World) {
		c := w.Connect(nil).Cluster
		<-c.Changed()
		w.AddNode(node("a", "1"))
		if got := len(c.Snapshot().Nodes); got != 0 {
			t.Errorf("%d nodes in the caches at once", got)
		}
		<-c.Changed()
		if got := len(c.Snapshot().Nodes); got != 1 {
			t.Errorf("%d nodes in the caches after the signal", got)
		}
	})
}

func TestProvisionerOwnsNodes(t *testing.T) {
	inBubble(t, func(t *testing.T, w *World) {
		w.Apply(&api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
		owner := w.Provisioner("default")
		c := w.Connect(nil).Cluster
		if err := c.SetProvisionerFinalizer(t.Context(), "default", true); err != nil {
			t.Fatal(err)
		}
		w.AddNode(node("a", "1", func(n *corev1.Node) { n.OwnerReferences = []metav1.OwnerReference{{Name: "default", UID: owner.UID}} }))
		w.DeleteProvisioner("default")
		if w.Provisioner("default") == nil {
			t.Fatal("the Provisioner is not held by its finalizer")
		}
		if err := c.SetProvisionerFinalizer(t.Context(), "default", false); err != nil {
			t.Fatal(err)
		}
		if w.Provisioner("default") != nil || len(w.Nodes()) != 0 {
			t.Error("the Provisioner or what it owned is left")
		}
	})
}

// A process is stopped when the order to terminate a machine is on its way. A kubelet that registers before the order
// arrives gets pods, which end with the machine: the agent can prevent neither. It could have closed a node that was there.
func TestTerminationThatArrivesLate(t *testing.T) {
	for name, c := range map[string]struct {
		age time.Duration
		cut int
	}{
		"before the kubelet registers": {age: 0, cut: 0},
		"while it runs":                {age: time.Minute, cut: 2},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *World) {
				var p *Process
				p = w.Connect(func(call string, when When) error {
					if call == "Terminate" && when == Sent {
						p.Stop()
						time.AfterFunc(time.Minute, p.Continue)
					}
					return nil
				})
				got, err := p.Cloud.Launch(t.Context(), order("one", 1, small))
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(c.age)
				w.Deploy(Workload{Name: "web", Replicas: 2, Spec: Requests("100m", "100Mi")})
				machine := got.Instances[0]
				if _, err := p.Cloud.Terminate(t.Context(), []string{machine.ID}); err != nil {
					t.Fatal(err)
				}
				if cut := w.CutOff(); len(cut) != c.cut || placed(w, "web")[machine.NodeName] != 2 {
					t.Errorf("ended without asking: %v, want %d of %v", cut, c.cut, placed(w, "web"))
				}
			})
		})
	}
}
