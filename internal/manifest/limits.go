package manifest

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresources "k8s.io/component-helpers/resource"
)

// limitRanges are those of a namespace. One of the files takes the place of the cluster's of the same name.
func (b *Builder) limitRanges(namespace string) []*corev1.LimitRange {
	var out []*corev1.LimitRange
	for _, r := range slices.Concat(b.objects.limitRanges, b.live.LimitRanges) {
		if r.Namespace == namespace && !slices.ContainsFunc(out, func(o *corev1.LimitRange) bool { return o.Name == r.Name }) {
			out = append(out, r)
		}
	}
	return out
}

// limit does what the API server does with the LimitRanges of a pod's namespace: containers get their default
// requests and limits. It returns why the API server would refuse the pod.
func limit(spec *corev1.PodSpec, ranges []*corev1.LimitRange) (refusals []string) {
	eachItem := func(use func(r *corev1.LimitRange, item *corev1.LimitRangeItem)) {
		for _, r := range ranges {
			for i := range r.Spec.Limits {
				use(r, &r.Spec.Limits[i])
			}
		}
	}
	eachItem(func(_ *corev1.LimitRange, item *corev1.LimitRangeItem) {
		if item.Type == corev1.LimitTypeContainer {
			complete(spec.InitContainers, item)
			complete(spec.Containers, item)
		}
	})
	eachItem(func(r *corev1.LimitRange, item *corev1.LimitRangeItem) {
		for _, text := range broken(item, spec) {
			refusals = append(refusals, fmt.Sprintf("the API server refuses these pods: the LimitRange %s demands %s", r.Name, text))
		}
	})
	return refusals
}

// complete adds what is missing, in the order of the API server: a limit is also the request. Where the item says
// nothing of limits, the maximum counts, and where it says nothing of requests, the default limit, the maximum and the
// minimum, in this order.
func complete(containers []corev1.Container, item *corev1.LimitRangeItem) {
	for i := range containers {
		asks := &containers[i].Resources
		addMissing(&asks.Requests, asks.Limits)
		addMissing(&asks.Limits, item.Default, item.Max)
		addMissing(&asks.Requests, item.DefaultRequest, item.Default, item.Max, item.Min)
	}
}

func addMissing(to *corev1.ResourceList, from ...corev1.ResourceList) {
	for _, list := range from {
		for name, amount := range list {
			if *to == nil {
				*to = corev1.ResourceList{}
			}
			if _, has := (*to)[name]; !has {
				(*to)[name] = amount
			}
		}
	}
}

// broken lists what of an item a pod breaks.
func broken(item *corev1.LimitRangeItem, spec *corev1.PodSpec) []string {
	if item.Type == corev1.LimitTypePod {
		pod, plain := &corev1.Pod{Spec: *spec}, podresources.PodResourcesOptions{ExcludeOverhead: true}
		return brokenBounds(item, podresources.PodRequests(pod, plain), podresources.PodLimits(pod, plain))
	}
	if item.Type != corev1.LimitTypeContainer {
		return nil
	}
	var out []string
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		out = append(out, brokenBounds(item, c.Resources.Requests, c.Resources.Limits)...)
		for _, name := range slices.Sorted(maps.Keys(item.Default)) {
			request, limit := c.Resources.Requests[name], c.Resources.Limits[name]
			if request.Cmp(limit) > 0 { // its own limit is no less than the request
				out = append(out, demand(item, name, "at most its default limit, "+limit.String()+",", c.Resources.Requests, nil))
			}
		}
	}
	return out
}

// brokenBounds lists those that requests and limits of a container or pod break.
func brokenBounds(item *corev1.LimitRangeItem, requests, limits corev1.ResourceList) []string {
	var out []string
	check := func(bounds corev1.ResourceList, text string, breaks func(bound, request, limit resource.Quantity, requested, limited bool) bool) {
		for _, name := range slices.Sorted(maps.Keys(bounds)) {
			bound := bounds[name]
			request, requested := requests[name]
			limit, limited := limits[name]
			if breaks(bound, request, limit, requested, limited) {
				out = append(out, demand(item, name, text+bound.String(), requests, limits))
			}
		}
	}
	check(item.Min, "at least ", func(least, request, limit resource.Quantity, requested, limited bool) bool {
		return !requested || request.Cmp(least) < 0 || limited && limit.Cmp(least) < 0
	})
	check(item.Max, "a limit, and at most ", func(most, request, limit resource.Quantity, _, limited bool) bool {
		return !limited || limit.Cmp(most) > 0 || request.Cmp(most) > 0
	})
	check(item.MaxLimitRequestRatio, "a request and a limit, with a limit/request ratio of at most ", func(ratio, request, limit resource.Quantity, _, _ bool) bool {
		return request.IsZero() || limit.IsZero() || limit.AsApproximateFloat64()/request.AsApproximateFloat64() > ratio.AsApproximateFloat64()
	})
	return out
}

// demand names what an item demands of a resource, and what there is.
func demand(item *corev1.LimitRangeItem, name corev1.ResourceName, what string, requests, limits corev1.ResourceList) string {
	of := func(list corev1.ResourceList) string {
		if amount, has := list[name]; has {
			return amount.String()
		}
		return "none"
	}
	return fmt.Sprintf("%s of %s for each %s (request: %s, limit: %s)", what, name, item.Type, of(requests), of(limits))
}
