package cluster

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
)

const mib = 1 << 20

func TestRequests(t *testing.T) {
	for name, c := range map[string]struct {
		pod  string
		want amount.List
	}{
		"nothing asked": {
			`spec: {containers: [{name: a}]}`,
			amount.List{"pods": 1},
		},
		"containers add up": {
			`spec: {containers: [
			  {name: a, resources: {requests: {cpu: 100m, memory: 10Mi}}},
			  {name: b, resources: {requests: {cpu: 1, nvidia.com/gpu: 2}}}]}`,
			amount.List{"cpu": 1100, "memory": 10 * mib, "nvidia.com/gpu": 2, "pods": 1},
		},
		"an explicit zero is not asked": {
			`spec: {containers: [{name: a, resources: {requests: {cpu: 0, nvidia.com/gpu: 0}}}]}`,
			amount.List{"pods": 1},
		},
		"a limit stands in for a missing request": {
			`spec: {containers: [{name: a, resources: {requests: {cpu: 2}, limits: {cpu: 4, memory: 1Mi}}}]}`,
			amount.List{"cpu": 2000, "memory": mib, "pods": 1},
		},
		"a request of zero is not replaced by the limit": {
			`spec: {containers: [{name: a, resources: {requests: {cpu: 0}, limits: {cpu: 4}}}]}`,
			amount.List{"pods": 1},
		},
		"the largest init container decides where it is larger": {
			`spec:
			  initContainers: [
			    {name: i, resources: {requests: {cpu: 3, memory: 1Mi}}},
			    {name: j, resources: {requests: {cpu: 2, memory: 5Mi}}}]
			  containers: [{name: a, resources: {requests: {cpu: 1, memory: 10Mi}}}]`,
			amount.List{"cpu": 3000, "memory": 10 * mib, "pods": 1},
		},
		"a limit stands in for an init container's request": {
			`spec:
			  initContainers: [{name: i, resources: {requests: {cpu: 1}, limits: {memory: 2Mi}}}]
			  containers: [{name: a, resources: {requests: {cpu: 2}, limits: {cpu: 2, memory: 1Mi}}}]`,
			amount.List{"cpu": 2000, "memory": 2 * mib, "pods": 1},
		},
		"sidecars run beside the containers": {
			`spec:
			  initContainers: [{name: s, restartPolicy: Always, resources: {requests: {cpu: 1}}}]
			  containers: [{name: a, resources: {requests: {cpu: 1}}}]`,
			amount.List{"cpu": 2000, "pods": 1},
		},
		"an init container runs beside the sidecars before it": {
			`spec:
			  initContainers: [
			    {name: s, restartPolicy: Always, resources: {requests: {cpu: 1}}},
			    {name: i, resources: {requests: {cpu: 4}}},
			    {name: t, restartPolicy: Always, resources: {requests: {cpu: 2}}}]
			  containers: [{name: a, resources: {requests: {cpu: 1}}}]`,
			amount.List{"cpu": 5000, "pods": 1},
		},
		"an init container before a sidecar runs alone": {
			`spec:
			  initContainers: [
			    {name: i, resources: {requests: {cpu: 4}}},
			    {name: s, restartPolicy: Always, resources: {requests: {cpu: 2}}}]
			  containers: [{name: a, resources: {requests: {cpu: 1}}}]`,
			amount.List{"cpu": 4000, "pods": 1},
		},
		"overhead comes on top of everything": {
			`spec:
			  overhead: {cpu: 250m, memory: 120Mi}
			  initContainers: [{name: i, resources: {requests: {cpu: 4}}}]
			  containers: [{name: a, resources: {requests: {cpu: 1}}}]`,
			amount.List{"cpu": 4250, "memory": 120 * mib, "pods": 1},
		},
		"pod-level requests replace the containers' sum": {
			`spec:
			  overhead: {cpu: 100m}
			  resources: {requests: {cpu: 2, hugepages-2Mi: 4Mi}}
			  containers: [{name: a, resources: {requests: {cpu: 1, memory: 1Mi, nvidia.com/gpu: 1}}}]`,
			amount.List{"cpu": 2100, "memory": mib, "hugepages-2Mi": 4 * mib, "nvidia.com/gpu": 1, "pods": 1},
		},
		"a pod-level limit counts only where no container asks": {
			`spec:
			  resources: {limits: {cpu: 2, memory: 8Mi}}
			  containers: [{name: a, resources: {requests: {cpu: 1}}}]`,
			amount.List{"cpu": 1000, "memory": 8 * mib, "pods": 1},
		},
		"a container that shrinks keeps what it has until the kubelet lets go": {
			`spec:
			  nodeName: n
			  containers: [{name: a, resources: {requests: {cpu: 1}}}]
			status: {containerStatuses: [{name: a, allocatedResources: {cpu: 3}, resources: {requests: {cpu: 2}}}]}`,
			amount.List{"cpu": 3000, "pods": 1},
		},
		"the status of an init container that has ended does not count": {
			`spec:
			  nodeName: n
			  initContainers: [{name: i, resources: {requests: {cpu: 1}}}]
			  containers: [{name: a, resources: {requests: {cpu: 1}}}]
			status: {initContainerStatuses: [{name: i, allocatedResources: {cpu: 3}, resources: {requests: {cpu: 3}}}]}`,
			amount.List{"cpu": 1000, "pods": 1},
		},
		"a container that cannot grow keeps what it has": {
			`spec:
			  nodeName: n
			  containers: [{name: a, resources: {requests: {cpu: 8}}}]
			status:
			  conditions: [{type: PodResizePending, status: "True", reason: Infeasible}]
			  containerStatuses: [{name: a, allocatedResources: {cpu: 1}, resources: {requests: {cpu: 1}}}]`,
			amount.List{"cpu": 1000, "pods": 1},
		},
		"a pod that shrinks as a whole keeps what it has until the kubelet lets go": {
			`spec:
			  nodeName: n
			  resources: {requests: {cpu: 1, memory: 1Mi}}
			  containers: [{name: a, resources: {requests: {cpu: 1}}}]
			status: {allocatedResources: {cpu: 2, memory: 8Mi, example.com/a: 1}, resources: {requests: {cpu: 4, memory: 1Mi}}}`,
			amount.List{"cpu": 4000, "memory": 8 * mib, "pods": 1},
		},
		"a pod that cannot grow as a whole keeps what it has": {
			`spec:
			  nodeName: n
			  resources: {requests: {cpu: 8}}
			  containers: [{name: a, resources: {requests: {cpu: 1}}}]
			status:
			  conditions: [{type: PodResizePending, status: "True", reason: Infeasible}]
			  allocatedResources: {cpu: 2}
			  resources: {requests: {cpu: 2}}`,
			amount.List{"cpu": 2000, "pods": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, requests(podFrom(t, c.pod))); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestRequestsBeyondAll: sums do not overflow, however many containers ask for however much. What
// overflows is less than nothing, so that the node has room without end. Nor does it take long to add
// large exponents.
func TestRequestsBeyondAll(t *testing.T) {
	ask := corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1e2147483647"), "memory": resource.MustParse("10E")}}
	want := amount.List{"cpu": amount.Most, "memory": amount.Most, "pods": 1}
	for _, n := range []int{1025, 2048} {
		containers := make([]corev1.Container, n)
		for i := range containers {
			containers[i].Resources = ask
		}
		init := slices.Clone(containers)
		for i := range init {
			init[i].RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		}
		for name, spec := range map[string]corev1.PodSpec{
			"containers":      {Containers: containers},
			"init containers": {InitContainers: containers},
			"sidecars":        {InitContainers: append(init, containers[0])},
			"overhead":        {Containers: containers[:1], Overhead: ask.Requests},
		} {
			if diff := cmp.Diff(want, requests(&corev1.Pod{Spec: spec})); diff != "" {
				t.Errorf("%d %s: -want +got\n%s", n, name, diff)
			}
		}
	}
}

func TestRequestsLeavesThePodAlone(t *testing.T) {
	pod := podFrom(t, `
spec:
  resources: {requests: {cpu: 2}}
  initContainers: [{name: s, restartPolicy: Always, resources: {requests: {cpu: 1}}}]
  containers: [{name: a, resources: {requests: {cpu: 1}, limits: {memory: 1Mi}}}]`)
	before := pod.DeepCopy()
	requests(pod)
	byText := cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })
	if diff := cmp.Diff(before, pod, byText); diff != "" {
		t.Errorf("the pod changed: -want +got\n%s", diff)
	}
}

// podFrom reads a pod; tabs that indent the text in Go are dropped.
func podFrom(t *testing.T, text string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	unmarshal(t, text, pod)
	return pod
}

func unmarshal(t *testing.T, text string, into any) {
	t.Helper()
	clean := make([]byte, 0, len(text))
	for _, b := range []byte(text) {
		if b != '\t' {
			clean = append(clean, b)
		}
	}
	if err := yaml.UnmarshalStrict(clean, into); err != nil {
		t.Fatalf("read %T: %v\n%s", into, err, clean)
	}
}
