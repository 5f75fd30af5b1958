package cluster

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	podresources "k8s.io/component-helpers/resource"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
)

// requests returns what a pod takes of a node's allocatable resources, as the Kubernetes
// scheduler counts it, and one of resource pods. Resources that are not requested are left out.
func requests(pod *corev1.Pod) amount.List {
	out := amount.List{amount.Pods: 1}
	for name, q := range podresources.PodRequests(capped(pod), podresources.PodResourcesOptions{
		UseStatusResources: pod.Spec.NodeName != "", InPlacePodLevelResourcesVerticalScalingEnabled: true,
	}) {
		if v := amount.FromQuantity(string(name), q); v != 0 {
			out[string(name)] = v
		}
	}
	return out
}

// capped returns what counts for the requests of a pod. Quantities are at most amount.Most,
// because to add those with large exponents takes long. A limit takes the place of a missing
// request: the API server does that to the pods that it stores, but nothing does it to those of
// files.
func capped(pod *corev1.Pod) *corev1.Pod {
	spec, status := &pod.Spec, &pod.Status
	out := &corev1.Pod{
		Spec: corev1.PodSpec{
			Containers: cappedContainers(spec.Containers), InitContainers: cappedContainers(spec.InitContainers), Overhead: cappedList(spec.Overhead),
		},
		Status: corev1.PodStatus{
			ContainerStatuses: cappedStatuses(status.ContainerStatuses), InitContainerStatuses: cappedStatuses(status.InitContainerStatuses),
			Conditions: status.Conditions, Resources: cappedRequests(status.Resources), AllocatedResources: cappedList(status.AllocatedResources),
		},
	}
	if r := spec.Resources; r != nil {
		whole := cappedList(r.Limits)
		for name, q := range podresources.AggregateContainerRequests(out, podresources.PodResourcesOptions{}) {
			if !q.IsZero() {
				delete(whole, name)
			}
		}
		maps.Copy(whole, cappedList(r.Requests))
		out.Spec.Resources = &corev1.ResourceRequirements{Requests: whole}
	}
	return out
}

func cappedContainers(containers []corev1.Container) []corev1.Container {
	out := make([]corev1.Container, len(containers))
	for i := range containers {
		c := &containers[i]
		out[i] = corev1.Container{Name: c.Name, RestartPolicy: c.RestartPolicy}
		out[i].Resources.Requests = cappedList(c.Resources.Limits, c.Resources.Requests)
	}
	return out
}

func cappedStatuses(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	out := make([]corev1.ContainerStatus, len(statuses))
	for i := range statuses {
		s := &statuses[i]
		out[i] = corev1.ContainerStatus{Name: s.Name, AllocatedResources: cappedList(s.AllocatedResources), Resources: cappedRequests(s.Resources)}
	}
	return out
}

func cappedRequests(r *corev1.ResourceRequirements) *corev1.ResourceRequirements {
	if r == nil {
		return nil
	}
	return &corev1.ResourceRequirements{Requests: cappedList(r.Requests)}
}

// cappedList joins lists, of which later ones override earlier ones.
func cappedList(lists ...corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, list := range lists {
		for name, q := range list {
			out[name] = amount.Quantity(string(name), amount.FromQuantity(string(name), q))
		}
	}
	return out
}

// sidecar reports whether an init container keeps running.
func sidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}
