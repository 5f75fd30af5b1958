package e2e

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// resizedPods lets pods get other requests as a vertical autoscaler gives them: a
// running one in place, and one through a successor.
func resizedPods(s *scene) {
	s.apply(provisioner("resized", `requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}]`))
	s.apply(deployment("grown", "resized", 1, "500m", "256Mi"))
	s.untilRunning("grown", 1)
	s.resize("grown", "1700m")
	s.apply(deployment("beside", "resized", 1, "500m", "256Mi")) // which would have had room
	s.untilRunning("beside", 1)
	if n := s.live("resized"); n != 2 {
		s.t.Errorf("%d machines, want 2: the resized pod has filled the first", n)
	}
	s.apply(deployment("beside", "resized", 1, "1800m", "256Mi"))
	s.until("the successor, which fits beside no pod, has a machine", func(context.Context) (bool, string, error) {
		n := s.live("resized")
		return n == 3, fmt.Sprintf("%d machines", n), nil
	})
	s.untilRunning("beside", 1)
	s.delete("grown")
	s.delete("beside")
	s.deleteProvisioner("resized")
	s.untilNoNodes("resized")
}

// resize changes the CPU request of an app's only pod while it runs. The API server
// allows it once the kubelet has told what the containers have, which kwok does not.
func (s *scene) resize(app, cpu string) {
	s.t.Helper()
	found, err := s.pods(s.t.Context(), "app="+app)
	if err != nil || len(found) != 1 {
		s.t.Fatalf("%d pods of %s: %v", len(found), app, err)
	}
	pods, pod := s.Kube.CoreV1().Pods(metav1.NamespaceDefault), &found[0]
	pod.Status.ContainerStatuses[0].Resources = pod.Spec.Containers[0].Resources.DeepCopy()
	if pod, err = pods.UpdateStatus(s.t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpu)
	if _, err = pods.UpdateResize(s.t.Context(), pod.Name, pod, metav1.UpdateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}
