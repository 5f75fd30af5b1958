package stage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// report writes a pod's status as a kubelet does, if it has changed.
func (h *Host) report(ctx context.Context, pod *corev1.Pod, ready bool, restarts int32) error {
	was := len(pod.Status.ContainerStatuses) > 0
	if was && pod.Status.ContainerStatuses[0].Ready == ready && restarts == 0 {
		return nil
	}
	if was {
		restarts += pod.Status.ContainerStatuses[0].RestartCount
	}
	now := metav1.Now()
	status := &pod.Status
	status.Phase, status.HostIP, status.PodIP, status.StartTime = corev1.PodRunning, "127.0.0.1", "127.0.0.1", &now
	for _, kind := range []corev1.PodConditionType{corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady} {
		value := corev1.ConditionTrue
		if !ready && kind != corev1.PodInitialized {
			value = corev1.ConditionFalse
		}
		setCondition(status, corev1.PodCondition{Type: kind, Status: value, LastTransitionTime: now})
	}
	status.ContainerStatuses = nil
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: imageID(c.Image), Ready: ready, Started: ptr.To(true), RestartCount: restarts,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	if _, err := h.stage.Kube.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("report the status of pod %s: %w", pod.Name, err)
	}
	return nil
}

func setCondition(status *corev1.PodStatus, c corev1.PodCondition) {
	for i := range status.Conditions {
		if status.Conditions[i].Type == c.Type {
			status.Conditions[i] = c
			return
		}
	}
	status.Conditions = append(status.Conditions, c)
}

// imageID stands for what a registry would say: every reference is another image.
func imageID(reference string) string {
	sum := sha256.Sum256([]byte(reference))
	return reference + "@sha256:" + hex.EncodeToString(sum[:])
}
