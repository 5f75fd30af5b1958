package cluster

import (
	"encoding/json"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// Steering is how the annotations of a pod change so that its owner, when it shrinks, ends
// the pod before others: the higher the grade, the sooner; 0 leaves that to the owner again.
// A deletion cost that somebody else has set stays as it is. Nothing changes where both
// results are empty.
func Steering(annotations map[string]string, grade int) (set map[string]string, remove []string) {
	has, there := annotations[corev1.PodDeletionCost]
	ours, marked := annotations[api.AnnotationSteered]
	foreign := there && has != ours
	switch cost := strconv.Itoa(-grade); {
	case foreign && marked, grade == 0 && marked && !there:
		return nil, []string{api.AnnotationSteered}
	case foreign, grade == 0 && !marked, there && has == cost:
		return nil, nil
	case grade == 0:
		return nil, []string{corev1.PodDeletionCost, api.AnnotationSteered}
	default:
		return map[string]string{corev1.PodDeletionCost: cost, api.AnnotationSteered: cost}, nil
	}
}

// SteeringPatch is the merge patch by which Steering changes a pod, if nobody changes the pod
// before; nil where nothing changes.
func SteeringPatch(pod *corev1.Pod, grade int) ([]byte, error) {
	set, remove := Steering(pod.Annotations, grade)
	if len(set)+len(remove) == 0 {
		return nil, nil
	}
	annotations := map[string]any{}
	for name, value := range set {
		annotations[name] = value
	}
	for _, name := range remove {
		annotations[name] = nil
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": pod.ResourceVersion, "annotations": annotations}})
}

// deletionCost reads the annotation as the ReplicaSet controller does: what is no number
// counts as none. Decisions do not look at a cost of ours, which only says how much sooner
// than others the pod is ended; steered is that grade, and set whether somebody else has set a cost.
func deletionCost(pod *corev1.Pod) (cost int32, steered int, set bool) {
	text, there := pod.Annotations[corev1.PodDeletionCost]
	v, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		v = 0
	}
	ours, marked := pod.Annotations[api.AnnotationSteered]
	if marked && ours == text {
		return 0, max(0, -int(v)), false
	}
	return int32(v), 0, there
}
