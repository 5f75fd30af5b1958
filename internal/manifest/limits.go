package manifest

import corev1 "k8s.io/api/core/v1"

// limit does what the API server does with the LimitRanges of a pod's namespace: containers get their default
// requests. A container with a limit requests that much.
func (o *objects) limit(spec *corev1.PodSpec, namespace string) {
	for _, r := range o.limitRanges {
		for i := range r.Spec.Limits {
			if item := &r.Spec.Limits[i]; r.Namespace == namespace && item.Type == corev1.LimitTypeContainer {
				addRequests(spec.InitContainers, item)
				addRequests(spec.Containers, item)
			}
		}
	}
}

// addRequests adds what is missing. Where the item says nothing of requests, the default limit, the maximum and the
// minimum count, in this order.
func addRequests(containers []corev1.Container, item *corev1.LimitRangeItem) {
	for i := range containers {
		asks := &containers[i].Resources
		for _, from := range []corev1.ResourceList{item.DefaultRequest, item.Default, item.Max, item.Min} {
			for name, amount := range from {
				_, requested := asks.Requests[name]
				if _, limited := asks.Limits[name]; requested || limited {
					continue
				}
				if asks.Requests == nil {
					asks.Requests = corev1.ResourceList{}
				}
				asks.Requests[name] = amount
			}
		}
	}
}
