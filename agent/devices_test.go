package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/stock"
)

const gpu = "nvidia.com/gpu"

// withGPUs is the catalogue with a type that has one GPU, and another that costs more.
func withGPUs() []offer.InstanceType {
	types := stock.Catalogue()
	for _, name := range []string{"g4dn.xlarge", "g5.xlarge"} {
		t := types[slices.IndexFunc(types, func(t offer.InstanceType) bool { return t.Name == "m5.xlarge" })]
		t.Labels = map[string][]string{
			api.LabelInstanceType: {name}, api.LabelArch: {"amd64"}, api.LabelOS: {"linux"}, api.LabelRegion: {"sim-1"},
			api.LabelInstanceCategory: {"g"}, api.LabelInstanceGeneration: {name[1:2]}, api.LabelInstanceFamily: {strings.TrimSuffix(name, ".xlarge")},
		}
		t.Name, t.Capacity = name, t.Capacity.Plus(amount.List{gpu: 1})
		t.Offerings = slices.Clone(t.Offerings)
		for i := range t.Offerings {
			t.Offerings[i].Price *= offer.Price(len(name))
		}
		types = append(types, t)
	}
	slices.SortFunc(types, func(a, b offer.InstanceType) int { return strings.Compare(a.Name, b.Name) })
	return types
}

// train is a pod that needs a GPU.
func train() corev1.PodSpec {
	spec := sim.Requests("1", "1Gi")
	spec.Containers[0].Resources.Requests[gpu] = resource.MustParse("1")
	return spec
}

func gpuLimit(n string) func(*api.ProvisionerSpec) {
	return func(s *api.ProvisionerSpec) {
		s.InstanceTypes = []string{"g4dn.xlarge", "g5.xlarge"}
		s.Limits = &api.Limits{Resources: corev1.ResourceList{gpu: resource.MustParse(n)}}
	}
}

// within fails as soon as more machines with GPUs exist than the limit allows.
func (r *rig) within(d time.Duration, most int) {
	r.Helper()
	r.never(d, "more GPUs than the limit allows", func() bool { return len(r.Machines()) > most })
}

// A device plugin that comes late costs no second machine: until the node is initialized,
// what its type promises counts, for plans, for limits and for the status.
func TestDevicesThatComeLateCostNoSecondMachine(t *testing.T) {
	for _, late := range []time.Duration{5 * time.Second, 2 * time.Minute, 14 * time.Minute} {
		t.Run(late.String(), func(t *testing.T) {
			inBubble(t, sim.Options{Types: withGPUs()}, func(r *rig) {
				r.PluginsAfter(func(offer.Instance) time.Duration { return late })
				r.Apply(testProvisioner("default", gpuLimit("3")))
				r.start(Options{}, nil)
				r.Deploy(sim.Workload{Name: "train", Replicas: 3, Spec: train()})
				r.until("the machines are there", func() bool { return len(r.Machines()) == 3 })
				r.within(min(late, time.Minute), 3)
				if used := r.Provisioner("default").Status.Resources[gpu]; used.Value() != 3 {
					t.Errorf("the status says %s GPUs, want the 3 that are on their way", used.String())
				}
				r.until("the workload runs", r.allRun("train", 3))
				r.until("all nodes are up", r.allUp)
				r.within(20*time.Minute, 3)
				if got := len(r.Launches()); got > 1 || len(r.Pods()) != 3 {
					t.Errorf("%d orders and %d pods, want one order, and no pod that was refused", got, len(r.Pods()))
				}
			})
		})
	}
}

// Devices that never come: the machine counts as never up and is replaced once. Then
// nothing that has them is bought for an hour, and nothing is left of the machines.
func TestDevicesThatNeverComeAreReplacedOnce(t *testing.T) {
	inBubble(t, sim.Options{Types: withGPUs()}, func(r *rig) {
		r.PluginsAfter(func(offer.Instance) time.Duration { return -1 })
		r.Apply(testProvisioner("default", gpuLimit("4")))
		r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "train", Replicas: 1, Spec: train()})
		r.never(time.Hour, "more GPUs than the limit allows", func() bool { return len(r.Machines()) > 4 })
		launches := r.Launches()
		if len(launches) != 2 {
			t.Fatalf("%d machines bought in an hour, want the first and its replacement", len(launches))
		}
		if first, second := launches[0].Candidates[0], launches[1].Candidates[0]; first == second {
			t.Errorf("the replacement is the same offering %v", first)
		}
		if !r.nothingLeft() {
			t.Errorf("something is left:\n%s", r.describe())
		}
		events := r.Events(event.NeverRegistered)
		if len(events) != 2 || !strings.Contains(events[0].Message, "no device plugin has registered "+gpu) {
			t.Errorf("events %v do not name the device plugin", events)
		}
		told := r.Events(event.Unplaceable)
		if len(told) == 0 || !strings.Contains(told[len(told)-1].Message, "no device plugin registered "+gpu) {
			t.Errorf("the pod was told %v", told)
		}
		// The next attempt comes later, and serves the pod once somebody has mended it.
		r.PluginsAfter(nil)
		r.until("the workload runs", r.allRun("train", 1))
		if got := len(r.Launches()); got != 3 {
			t.Errorf("%d machines bought, want one more", got)
		}
	})
}

// An agent that is started again knows what the nodes promise from the cluster alone.
func TestDevicesAreAwaitedAfterARestart(t *testing.T) {
	inBubble(t, sim.Options{Types: withGPUs()}, func(r *rig) {
		r.PluginsAfter(func(offer.Instance) time.Duration { return 10 * time.Minute })
		r.Apply(testProvisioner("default", gpuLimit("2")))
		for range 5 {
			a := r.start(Options{}, nil)
			r.Deploy(sim.Workload{Name: "train", Replicas: 1, Spec: train()})
			r.within(2*time.Minute, 1)
			a.kill()
		}
		r.start(Options{}, nil)
		r.until("the workload runs", r.allRun("train", 1))
		if got := len(r.Launches()); got != 1 {
			t.Errorf("%d machines bought, want 1", got)
		}
	})
}

// While its Provisioner is not valid, no market tells what a node is to have: it does not count as up without that.
func TestDevicesAreAwaitedWhileTheProvisionerIsInvalid(t *testing.T) {
	inBubble(t, sim.Options{Types: withGPUs()}, func(r *rig) {
		r.PluginsAfter(func(offer.Instance) time.Duration { return 10 * time.Minute })
		r.Apply(testProvisioner("default", gpuLimit("2")))
		r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "train", Replicas: 1, Spec: train()})
		r.until("the node is ready", func() bool { return len(r.ours()) == 1 && cluster.FromNode(r.ours()[0], nil).Ready })
		r.Apply(testProvisioner("default", gpuLimit("2"), func(s *api.ProvisionerSpec) { s.Weight = ptr.To(int32(101)) }))
		r.within(2*time.Minute, 1)
		if r.allUp() {
			t.Error("the node counts as up without its devices")
		}
		r.Apply(testProvisioner("default", gpuLimit("2")))
		r.until("the workload runs", r.allRun("train", 1))
		if got := len(r.Launches()); got != 1 {
			t.Errorf("%d machines bought, want 1", got)
		}
	})
}

// A node whose type no market sells any more counts as up after the startup timeout.
func TestDevicesAreNotAwaitedForEver(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("1", "1Gi")})
		r.until("a machine is there", func() bool { return len(r.ours()) == 1 })
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.Weight = ptr.To(int32(101)) }))
		r.until("the workload runs", r.allRun("web", 1))
		r.never(10*time.Minute, "the node counts as up", r.allUp)
		r.until("the node is up", r.allUp)
	})
}

// A machine whose devices do not come goes on with the pods that do not need them, and
// goes when these have ended.
func TestMachineWithoutDevicesServesOtherPods(t *testing.T) {
	inBubble(t, sim.Options{Types: withGPUs()}, func(r *rig) {
		r.PluginsAfter(func(offer.Instance) time.Duration { return -1 })
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{"g4dn.xlarge"} }))
		r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("1", "1Gi")})
		r.until("the workload runs", r.allRun("web", 1))
		r.never(time.Hour, "the pod loses its node", func() bool { return len(r.ours()) != 1 || !r.allRun("web", 1)() })
		r.Scale("web", 0)
		r.until("nothing is left", r.nothingLeft)
	})
}

// Devices that never come on machines that other pods keep: also then the machine is replaced once, and nothing that has
// them is bought for an hour. Pods that do not need them keep their nodes.
func TestDevicesThatNeverComeWhereOtherPodsRun(t *testing.T) {
	inBubble(t, sim.Options{Types: withGPUs()}, func(r *rig) {
		r.PluginsAfter(func(offer.Instance) time.Duration { return -1 })
		r.Apply(testProvisioner("default", gpuLimit("9")))
		r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "train", Replicas: 1, Spec: train()})
		for i := range 2 { // a pod that does not need it comes to each machine
			r.until("a machine is there", func() bool { return len(r.ours()) == i+1 })
			r.Deploy(sim.Workload{Name: fmt.Sprint("web-", i), Replicas: 1, Spec: sim.Requests("2500m", "1Gi")})
			r.until("it runs", r.allRun(fmt.Sprint("web-", i), 1))
		}
		r.never(time.Hour, "another machine is bought", func() bool { return len(r.Launches()) > 2 || len(r.ours()) != 2 })
		events := r.Events(event.NeverRegistered)
		if len(events) != 2 || !strings.Contains(events[0].Message, "no device plugin has registered "+gpu) {
			t.Errorf("events %v, want one of each node that name the device plugin", events)
		}
	})
}

// Once a node is initialized its report counts: with a plugin that has crashed there is
// no room for a pod that needs it, and the node stays.
func TestReportCountsOnceInitialized(t *testing.T) {
	inBubble(t, sim.Options{Types: withGPUs()}, func(r *rig) {
		r.served(testProvisioner("default", gpuLimit("9")), sim.Workload{Name: "train", Replicas: 1, Spec: train()})
		r.LoseDevices(r.Machines()[0].ID)
		r.Deploy(sim.Workload{Name: "more", Replicas: 1, Spec: train()})
		r.until("the others run", r.allRun("more", 1))
		r.never(time.Hour, "the node goes", func() bool { return len(r.ours()) != 2 })
	})
}
