package cluster

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// newTemplate picks from a pod what scheduling looks at, in canonical form:
// empty maps, lists and affinities are nil, host ports and claims are sorted.
// The result shares memory with the pod.
func newTemplate(pod *corev1.Pod) *Template {
	owner := ownerOf(pod)
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	doNotEvict := pod.Annotations[api.AnnotationDoNotEvict] == "true"
	doNotDisrupt, doNotDisruptFor, understood := protection(pod.Annotations[api.AnnotationDoNotDisrupt])
	return &Template{
		Namespace:       pod.Namespace,
		Labels:          nonEmptyMap(pod.Labels),
		Requests:        requests(pod),
		NodeSelector:    nodeSelector(&pod.Spec),
		Affinity:        nonEmptyAffinity(pod.Spec.Affinity),
		Tolerations:     nonEmpty(pod.Spec.Tolerations),
		Spread:          nonEmpty(pod.Spec.TopologySpreadConstraints),
		HostPorts:       hostPorts(&pod.Spec),
		Claims:          claims(pod),
		Priority:        ptr.Deref(pod.Spec.Priority, 0),
		SchedulerName:   cmp.Or(pod.Spec.SchedulerName, corev1.DefaultSchedulerName),
		DoNotDisrupt:    doNotEvict || doNotDisrupt,
		DoNotEvict:      doNotEvict && !doNotDisrupt,
		DoNotDisruptFor: doNotDisruptFor,
		Misprotected:    !understood,
		DaemonSet:       owner.Kind == "DaemonSet",
		Ends:            pod.Spec.RestartPolicy == corev1.RestartPolicyNever || pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure,
		Static:          mirror || owner.Kind == "Node",
		Critical:        pod.Spec.PriorityClassName == "system-cluster-critical" || pod.Spec.PriorityClassName == "system-node-critical",
		ResourceClaims:  len(pod.Spec.ResourceClaims) > 0,
	}
}

// SameButIdentity reports whether pods of one owner with the two templates ask for the same, apart from what tells its pods
// apart: a StatefulSet and an indexed Job give each pod a label of its own, and a StatefulSet its own claims.
func (t *Template) SameButIdentity(o *Template) bool {
	if t == o {
		return true
	}
	a, b := *t, *o
	a.Labels, a.Claims, b.Labels, b.Claims = nil, nil, nil, nil
	return reflect.DeepEqual(a, b)
}

// clone returns a copy that shares no memory with the pod that t came from.
func (t *Template) clone() *Template {
	spec := (&corev1.PodSpec{
		Affinity:                  t.Affinity,
		Tolerations:               t.Tolerations,
		TopologySpreadConstraints: t.Spread,
	}).DeepCopy()
	out := *t
	out.Labels = maps.Clone(t.Labels)
	out.Requests = maps.Clone(t.Requests)
	out.NodeSelector = maps.Clone(t.NodeSelector)
	out.Affinity = spec.Affinity
	out.Tolerations = spec.Tolerations
	out.Spread = spec.TopologySpreadConstraints
	out.HostPorts = slices.Clone(t.HostPorts)
	out.Claims = slices.Clone(t.Claims)
	return &out
}

// nodeSelector adds the operating system that the pod names. kube-scheduler does not look at
// it, but the kubelet of a node with another one refuses the pod
// (https://kubernetes.io/docs/concepts/workloads/pods/#pod-os). Linux is left out, because
// nodes that are written by hand may lack the label.
func nodeSelector(spec *corev1.PodSpec) map[string]string {
	if spec.OS == nil || spec.OS.Name == corev1.Linux {
		return nonEmptyMap(spec.NodeSelector)
	}
	out := map[string]string{corev1.LabelOSStable: string(spec.OS.Name)}
	for key, value := range spec.NodeSelector {
		if key != corev1.LabelOSStable {
			out[key] = value
		}
	}
	return out
}

// hostPorts lists the node's ports that the pod's long-running containers take.
// With host networking every container port is one of them.
func hostPorts(spec *corev1.PodSpec) []HostPort {
	var out []HostPort
	take := func(c *corev1.Container) {
		for _, p := range c.Ports {
			port := p.HostPort
			if port == 0 && spec.HostNetwork {
				port = p.ContainerPort
			}
			if port == 0 {
				continue
			}
			ip := p.HostIP
			if ip == "0.0.0.0" {
				ip = ""
			}
			out = append(out, HostPort{IP: ip, Protocol: cmp.Or(p.Protocol, corev1.ProtocolTCP), Port: port})
		}
	}
	for i := range spec.InitContainers {
		if sidecar(&spec.InitContainers[i]) {
			take(&spec.InitContainers[i])
		}
	}
	for i := range spec.Containers {
		take(&spec.Containers[i])
	}
	slices.SortFunc(out, func(a, b HostPort) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.IP, b.IP))
	})
	return slices.Compact(out)
}

// claims lists the volume claims of a pod. The claim of a generic ephemeral
// volume is named after the pod and the volume.
func claims(pod *corev1.Pod) []ClaimRef {
	var out []ClaimRef
	seen := map[string]bool{}
	for _, v := range pod.Spec.Volumes {
		var ref ClaimRef
		switch {
		case v.PersistentVolumeClaim != nil:
			ref = ClaimRef{Name: v.PersistentVolumeClaim.ClaimName}
		case v.Ephemeral != nil:
			ref = ClaimRef{Name: pod.Name + "-" + v.Name, Ephemeral: true, Planned: pod.UID == ""}
			if v.Ephemeral.VolumeClaimTemplate != nil {
				ref.StorageClass = v.Ephemeral.VolumeClaimTemplate.Spec.StorageClassName
			}
		default:
			continue
		}
		if !seen[ref.Name] {
			seen[ref.Name] = true
			out = append(out, ref)
		}
	}
	slices.SortFunc(out, func(a, b ClaimRef) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func nonEmptyMap(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}

func nonEmpty[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return s
}

func nonEmptyAffinity(a *corev1.Affinity) *corev1.Affinity {
	if a == nil || *a == (corev1.Affinity{}) {
		return nil
	}
	return a
}

// protection reads a do-not-disrupt annotation, which protects for ever or for a duration. It reports false for what it
// does not understand, which protects nothing.
func protection(annotation string) (always bool, d time.Duration, understood bool) {
	if annotation == "true" || annotation == "false" || annotation == "" {
		return annotation == "true", 0, true
	}
	d, err := time.ParseDuration(annotation)
	if err != nil || d < 0 {
		return false, 0, false
	}
	return false, d, true
}
