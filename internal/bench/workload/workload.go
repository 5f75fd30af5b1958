// Package workload generates what the benchmark plans: pods, the machines that
// can be bought for them and the nodes that are there already. The same name
// gives the same workload, pod by pod.
package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// PoolName is the name of the one pool that machines are bought from.
const PoolName = "default"

// Workload is a planning task.
type Workload struct {
	// Pods wait for a place.
	Pods []*corev1.Pod
	// Daemons are the pods that DaemonSets put on every node that admits them.
	Daemons []*corev1.Pod
	// Types can be bought, on demand, in any number; sorted by name.
	Types []offer.InstanceType
	// Taints are put on every machine that is bought of the default pool.
	Taints []corev1.Taint
	// Provisioners sell the types, sorted by name; where there are none, the default
	// pool does: see Pools.
	Provisioners []*api.Provisioner
	// Nodes are there already, with Running on them.
	Nodes   []*corev1.Node
	Running []*corev1.Pod
}

// Zones returns the zones that machines can be bought in, sorted.
// Pools are the Provisioners, or else one without limits that sells on demand only.
func (w *Workload) Pools() []*api.Provisioner {
	if len(w.Provisioners) > 0 {
		return w.Provisioners
	}
	return []*api.Provisioner{{
		ObjectMeta: metav1.ObjectMeta{Name: PoolName},
		Spec: api.ProvisionerSpec{Taints: w.Taints, Requirements: []api.Requirement{
			oneOf(api.LabelCapacityType, api.CapacityOnDemand), oneOf(api.LabelArch, "amd64", "arm64"), oneOf(api.LabelOS, "linux"),
		}},
	}}
}

func oneOf(key string, values ...string) api.Requirement {
	return api.Requirement{Key: key, Operator: api.OpIn, Values: values}
}

func (w *Workload) Zones() []string { return zonesOf(w.Types) }

// size is what a pod asks for: thousandths of a core, MiB and GPUs.
type size struct{ cpu, memory, gpus int64 }

func (s size) requests() corev1.ResourceList {
	out := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(s.cpu, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(s.memory<<20, resource.BinarySI),
	}
	if s.gpus > 0 {
		out[gpuResource] = *resource.NewQuantity(s.gpus, resource.DecimalSI)
	}
	return out
}

const gpuResource = "nvidia.com/gpu"

// option adds something to a pod beyond its size.
type option func(*corev1.Pod)

// add appends a pending pod.
func (w *Workload) add(s size, options ...option) {
	n := len(w.Pods)
	p := newPod(fmt.Sprintf("pod-%06d", n), s, options...)
	p.UID = types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", n))
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}}
	w.Pods = append(w.Pods, p)
}

func newPod(name string, s size, options ...option) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "image", Resources: corev1.ResourceRequirements{Requests: s.requests()},
		}}},
	}
	for _, o := range options {
		o(p)
	}
	return p
}

func labelled(key, value string) option {
	return func(p *corev1.Pod) {
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		p.Labels[key] = value
	}
}

func selecting(key, value string) option {
	return func(p *corev1.Pod) {
		if p.Spec.NodeSelector == nil {
			p.Spec.NodeSelector = map[string]string{}
		}
		p.Spec.NodeSelector[key] = value
	}
}

func tolerating(t corev1.Taint) option {
	return func(p *corev1.Pod) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: t.Key, Operator: corev1.TolerationOpEqual, Value: t.Value, Effect: t.Effect})
	}
}

// spread asks for a skew of at most one between the domains.
func spread(domain, key, value string) option {
	return func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: domain, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: equals(key, value),
		})
	}
}

// near requires a pod of the label in the domain.
func near(domain, key, value string) option {
	return func(p *corev1.Pod) {
		affinity(p).PodAffinity = &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: domain, LabelSelector: equals(key, value)}},
		}
	}
}

func apart(domain, key, value string) option {
	return func(p *corev1.Pod) {
		affinity(p).PodAntiAffinity = &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: domain, LabelSelector: equals(key, value)}},
		}
	}
}

func preferApart(domain, key, value string) option {
	return func(p *corev1.Pod) {
		affinity(p).PodAntiAffinity = &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
				Weight: 10, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: domain, LabelSelector: equals(key, value)},
			}},
		}
	}
}

func affinity(p *corev1.Pod) *corev1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	return p.Spec.Affinity
}

func equals(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}
