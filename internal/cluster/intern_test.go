package cluster

import (
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

func TestReplicasShareOneTemplate(t *testing.T) {
	templates := NewTemplates()
	pod := func(name, node string) *Template {
		got, _ := templates.Pod(podFrom(t, fmt.Sprintf(`
metadata: {namespace: shop, name: %s, uid: %s, labels: {app: web}}
spec: {nodeName: %q, containers: [{name: c, resources: {requests: {cpu: 1}}}]}`, name, name, node)))
		return got.Template
	}
	if a, b := pod("web-1", ""), pod("web-2", "n1"); a != b {
		t.Errorf("two replicas have different templates:\n%+v\n%+v", a, b)
	}
}

func TestTemplateDoesNotAliasThePod(t *testing.T) {
	pod := podFrom(t, `
metadata: {labels: {app: web}}
spec: {nodeSelector: {a: b}, tolerations: [{key: k}], affinity: {podAffinity: {}}}`)
	got, _ := NewTemplates().Pod(pod)
	pod.Labels["app"], pod.Spec.NodeSelector["a"], pod.Spec.Tolerations[0].Key = "changed", "changed", "changed"
	pod.Spec.Affinity.PodAffinity = nil
	if got.Template.Labels["app"] != "web" || got.Template.NodeSelector["a"] != "b" ||
		got.Template.Tolerations[0].Key != "k" || got.Template.Affinity.PodAffinity == nil {
		t.Errorf("the template changed with the pod: %+v", got.Template)
	}
}

func TestInterningIsContentEquality(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		templates := NewTemplates()
		pods := rapid.SliceOfN(rapid.Custom(drawPod), 2, 8).Draw(t, "pods")
		var got []*Template
		for _, p := range pods {
			converted, _ := templates.Pod(p)
			got = append(got, converted.Template)
		}
		for i := range got {
			for j := range got {
				same := reflect.DeepEqual(newTemplate(pods[i]), newTemplate(pods[j]))
				if same != (got[i] == got[j]) {
					t.Fatalf("pods %d and %d: equal content is %v, shared template is %v", i, j, same, got[i] == got[j])
				}
			}
		}
	})
}

// drawPod draws from few values, so that equal pods are frequent.
func drawPod(t *rapid.T) *corev1.Pod {
	labels := rapid.SampledFrom([]map[string]string{nil, {}, {"a": "b", "c": "d"}, {"a": "b,c"}})
	selector := rapid.SampledFrom([]*metav1.LabelSelector{nil, {}, {MatchLabels: map[string]string{"a": "b"}}})
	pod := &corev1.Pod{}
	pod.Name = rapid.SampledFrom([]string{"x", "y"}).Draw(t, "name")
	pod.Labels = labels.Draw(t, "labels")
	pod.Spec.NodeSelector = labels.Draw(t, "node selector")
	pod.Spec.Affinity = rapid.SampledFrom([]*corev1.Affinity{nil, {}, {PodAntiAffinity: &corev1.PodAntiAffinity{}}}).Draw(t, "affinity")
	cpu := rapid.SampledFrom([]string{"1", "1000m", "0", "2"}).Draw(t, "cpu")
	memory := rapid.SampledFrom([]string{"1Gi", "1073741824", "1073741825"}).Draw(t, "memory") // rounded, all are 1Gi
	pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory)},
	}}}
	if rapid.Bool().Draw(t, "spread") {
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{LabelSelector: selector.Draw(t, "selector")}}
	}
	return pod
}

func TestUnusedTemplatesAreForgotten(t *testing.T) {
	templates := NewTemplates()
	kept, _ := templates.Pod(podFrom(t, `metadata: {labels: {app: kept}}`))
	for i := range 100 {
		templates.Pod(podFrom(t, fmt.Sprintf(`metadata: {labels: {app: dropped-%d}}`, i)))
	}
	deadline := time.Now().Add(10 * time.Second)
	known := func() int {
		templates.mu.Lock()
		defer templates.mu.Unlock()
		return len(templates.shared)
	}
	for known() > 1 {
		if time.Now().After(deadline) {
			t.Fatalf("%d templates are still known, want 1", known())
		}
		runtime.GC()
		runtime.Gosched()
	}
	again, _ := templates.Pod(podFrom(t, `metadata: {labels: {app: kept}}`))
	if again.Template != kept.Template {
		t.Error("a template in use was forgotten")
	}
}
