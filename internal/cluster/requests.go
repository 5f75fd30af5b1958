package cluster

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
)

// requests returns what a pod takes of a node's allocatable resources, as the
// Kubernetes scheduler counts it, and one of resource pods. Resources that are
// not asked for are left out.
//
// The rule: containers and restartable init containers (sidecars) add up. An
// init container runs together with the sidecars that started before it, so the
// pod needs at least that sum as well. Pod-level resources replace the
// containers' sum, and the runtime's overhead comes on top.
func requests(pod *corev1.Pod) amount.List {
	sum := containerRequests(pod)
	maps.Copy(sum, podLevelRequests(pod, sum))
	add(sum, amount.FromResourceList(pod.Spec.Overhead))
	for name, v := range sum {
		if v == 0 {
			delete(sum, name)
		}
	}
	sum[amount.Pods] = 1
	return sum
}

func containerRequests(pod *corev1.Pod) amount.List {
	sum := amount.List{}
	for i := range pod.Spec.Containers {
		add(sum, effective(pod, &pod.Spec.Containers[i], pod.Status.ContainerStatuses))
	}
	sidecars, peak := amount.List{}, amount.List{}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		need := effective(pod, c, pod.Status.InitContainerStatuses)
		if sidecar(c) {
			add(sum, need)
			add(sidecars, need)
			need = sidecars
		} else {
			add(need, sidecars)
		}
		raise(peak, need)
	}
	raise(sum, peak)
	return sum
}

// sidecar reports whether an init container keeps running.
func sidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// effective returns what a container takes: its requests, where a limit stands
// in for a missing request, and, while a running container is being resized in
// place, the larger of what it has and what it is to get. An infeasible resize
// is not waited for.
func effective(pod *corev1.Pod, c *corev1.Container, statuses []corev1.ContainerStatus) amount.List {
	asked := withLimits(c.Resources.Requests, c.Resources.Limits)
	if pod.Spec.NodeName == "" {
		return asked
	}
	for i := range statuses {
		s := &statuses[i]
		if s.Name != c.Name || s.Resources == nil {
			continue
		}
		held := amount.List{}
		raise(held, amount.FromResourceList(s.Resources.Requests))
		raise(held, amount.FromResourceList(s.AllocatedResources))
		if !resizeInfeasible(pod) {
			raise(held, asked)
		}
		return held
	}
	return asked
}

func resizeInfeasible(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodResizePending {
			return c.Reason == corev1.PodReasonInfeasible
		}
	}
	return false
}

// podLevelRequests returns the requests that a pod makes as a whole. A missing
// one is the containers' sum or, where no container asks, the pod's limit. While
// the pod is being resized in place, they are as those of a container.
func podLevelRequests(pod *corev1.Pod, containers amount.List) amount.List {
	r := pod.Spec.Resources
	if r == nil {
		return nil
	}
	out := amount.List{}
	for name, q := range r.Limits {
		if podLevel(name) && containers[string(name)] == 0 {
			out[string(name)] = amount.FromQuantity(string(name), q)
		}
	}
	for name, q := range r.Requests {
		if podLevel(name) {
			out[string(name)] = amount.FromQuantity(string(name), q)
		}
	}
	if has := pod.Status.Resources; has != nil && pod.Spec.NodeName != "" {
		if resizeInfeasible(pod) {
			clear(out)
		}
		for _, list := range []corev1.ResourceList{has.Requests, pod.Status.AllocatedResources} {
			raise(out, amount.FromResourceList(list))
		}
		maps.DeleteFunc(out, func(name string, _ int64) bool { return !podLevel(corev1.ResourceName(name)) })
	}
	return out
}

// podLevel reports whether a resource can be asked for by a pod as a whole.
func podLevel(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory ||
		strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

func withLimits(requests, limits corev1.ResourceList) amount.List {
	out := make(amount.List, len(requests)+len(limits))
	for name, q := range limits {
		out[string(name)] = amount.FromQuantity(string(name), q)
	}
	for name, q := range requests {
		out[string(name)] = amount.FromQuantity(string(name), q)
	}
	return out
}

// add adds o to sum in place. A pod has at most amount.Most of anything, however many
// containers ask for as much.
func add(sum, o amount.List) {
	for name, v := range o {
		sum[name] = min(amount.Most, sum[name]+v)
	}
}

// raise raises each amount of l to that of o, in place.
func raise(l, o amount.List) {
	for name, v := range o {
		l[name] = max(l[name], v)
	}
}
