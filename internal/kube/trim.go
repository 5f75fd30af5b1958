package kube

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// trim removes from an object what the agent does not read, before the object enters a cache. That
// saves most of the memory.
func trim(object any) (any, error) {
	if d, ok := object.(*appsv1.Deployment); ok {
		names := metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name, UID: d.UID, ResourceVersion: d.ResourceVersion}
		return &deployment{names, cluster.FromDeployment(d, manager)}, nil
	}
	switch o := object.(type) {
	case *corev1.Node:
		o.Status = trimNodeStatus(o)
	case *appsv1.DaemonSet:
		o.Annotations = map[string]string{appsv1.DeprecatedTemplateGeneration: o.Annotations[appsv1.DeprecatedTemplateGeneration]}
		o.Spec.Template.Spec = trimPodSpec(&o.Spec.Template.Spec)
	case *corev1.Namespace:
		o.Annotations = nil
	case *corev1.PersistentVolume:
		class, old := o.Annotations[corev1.BetaStorageClassAnnotation]
		if o.Annotations = nil; old {
			o.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: class}
		}
	}
	if m, ok := object.(metav1.Object); ok {
		m.SetManagedFields(nil)
	}
	return object, nil
}

// trimNodeStatus keeps what package cluster reads of a node.
func trimNodeStatus(n *corev1.Node) corev1.NodeStatus {
	return corev1.NodeStatus{
		Capacity:        n.Status.Capacity,
		Allocatable:     n.Status.Allocatable,
		VolumesAttached: n.Status.VolumesAttached,
		Conditions:      cluster.Readiness(n),
	}
}

// trimPodSpec keeps what package cluster reads of a pod.
func trimPodSpec(s *corev1.PodSpec) corev1.PodSpec {
	return corev1.PodSpec{
		NodeName:                  s.NodeName,
		OS:                        s.OS,
		NodeSelector:              s.NodeSelector,
		Affinity:                  s.Affinity,
		Tolerations:               s.Tolerations,
		TopologySpreadConstraints: s.TopologySpreadConstraints,
		RestartPolicy:             s.RestartPolicy,
		HostNetwork:               s.HostNetwork,
		Priority:                  s.Priority,
		PriorityClassName:         s.PriorityClassName,
		SchedulerName:             s.SchedulerName,
		SchedulingGates:           s.SchedulingGates,
		Overhead:                  s.Overhead,
		Resources:                 s.Resources,
		ResourceClaims:            s.ResourceClaims,
		Containers:                trimContainers(s.Containers),
		InitContainers:            trimContainers(s.InitContainers),
		Volumes:                   trimVolumes(s.Volumes),
	}
}

func trimContainers(in []corev1.Container) []corev1.Container {
	var out []corev1.Container
	for i := range in {
		out = append(out, corev1.Container{
			Name: in[i].Name, Resources: in[i].Resources, Ports: in[i].Ports, RestartPolicy: in[i].RestartPolicy,
		})
	}
	return out
}

func trimVolumes(in []corev1.Volume) []corev1.Volume {
	var out []corev1.Volume
	for i := range in {
		if in[i].PersistentVolumeClaim != nil || in[i].Ephemeral != nil {
			out = append(out, in[i])
		}
	}
	return out
}
