package manifest

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// admit adds what LimitRanges and the RuntimeClass of a pod say. The object has the pod's spec at a path. The API
// server refuses pods of a class that does not exist; here it may merely be in no file.
func (b *Builder) admit(spec *corev1.PodSpec, namespace, object, path string, r *remarks) {
	r.addDoubts(spec, object, path)
	for _, refusal := range limit(spec, b.limitRanges(namespace)) {
		r.add(object, path, refusal, "change their resources or the LimitRange; they are planned as they are")
	}
	name := ptr.Deref(spec.RuntimeClassName, "")
	if name == "" {
		return
	}
	classes := slices.Concat(b.objects.runtimeClasses, b.live.RuntimeClasses)
	i := slices.IndexFunc(classes, func(c *nodev1.RuntimeClass) bool { return c.Name == name })
	if i < 0 {
		r.add(object, path+".runtimeClassName", fmt.Sprintf("no file has the RuntimeClass %s, so its overhead, node selector and tolerations do not count", name), "add the file that declares it")
		return
	}
	for _, label := range cluster.Admit(spec, classes[i]) {
		b.fail(b.seen[object], refused(path+".nodeSelector["+label+"]", fmt.Sprintf("conflicts with the node selector of the RuntimeClass %s", name), "remove it here"))
	}
}

// tolerateDevices does what EKS does with pods at their creation: they tolerate the taints that are named after the
// devices that they request (the admission plugin ExtendedResourceToleration). For pods of a DaemonSet that is too late:
// its controller makes none for a node whose taints its template does not tolerate.
func tolerateDevices(spec *corev1.PodSpec) {
	devices := map[string]bool{}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, list := range []corev1.ResourceList{c.Resources.Requests, c.Resources.Limits} {
			for name := range list {
				if extended(name) {
					devices[string(name)] = true
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: name, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
	}
}
