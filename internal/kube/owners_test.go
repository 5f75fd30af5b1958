package kube

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

func TestWanted(t *testing.T) {
	c, err := New(adminConfig, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ns := namespace(t)
	const template = `{metadata: {labels: {app: x}}, spec: {restartPolicy: %s, schedulerName: nobody, containers: [{name: main, image: pause}]}}`
	long := fmt.Sprintf("selector: {matchLabels: {app: x}}, template: "+template, "Always")
	once := fmt.Sprintf("template: "+template, "Never")
	for i, k := range []struct {
		group, kind, resource, spec string
		want                        int
	}{
		{"apps", "ReplicaSet", "replicasets", "{replicas: 7, " + long + "}", 7},
		{"apps", "ReplicaSet", "replicasets", "{" + long + "}", 1},
		{"apps", "StatefulSet", "statefulsets", "{replicas: 5, podManagementPolicy: Parallel, " + long + "}", 5},
		{"apps", "StatefulSet", "statefulsets", "{replicas: 5, " + long + "}", 1},
		{"batch", "Job", "jobs", "{parallelism: 4, completions: 20, " + once + "}", 4},
		{"batch", "Job", "jobs", "{parallelism: 4, completions: 3, " + once + "}", 3},
		{"batch", "Job", "jobs", "{parallelism: 4, " + once + "}", 4},
	} {
		name := fmt.Sprintf("%s-%d", k.resource, i)
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{}
			text := fmt.Sprintf("{apiVersion: %s/v1, kind: %s, metadata: {name: %s}, spec: %s}", k.group, k.kind, name, k.spec)
			if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
				t.Fatal(err)
			}
			client := adminCustom.Resource(schema.GroupVersionResource{Group: k.group, Version: "v1", Resource: k.resource}).Namespace(ns)
			made, err := client.Create(t.Context(), o, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			owner := cluster.Owner{Kind: k.kind, Name: name, UID: string(made.GetUID())}
			if got, err := c.Wanted(t.Context(), ns, owner); err != nil || got != (cluster.Wanted{Pods: k.want, Certain: true}) {
				t.Errorf("wants %+v, %v; want %d for certain", got, err, k.want)
			}
			owner.UID = "another"
			if _, err := c.Wanted(t.Context(), ns, owner); !errors.Is(err, cluster.ErrGone) {
				t.Errorf("asked another of the same name: %v, want ErrGone", err)
			}
			owner.Name = "nowhere"
			if _, err := c.Wanted(t.Context(), ns, owner); !errors.Is(err, cluster.ErrGone) {
				t.Errorf("asked one that does not exist: %v, want ErrGone", err)
			}
		})
	}
	t.Run("in a namespace with a quota", func(t *testing.T) {
		if _, err := admin.CoreV1().ResourceQuotas(ns).Create(t.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "quota"}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		made, err := admin.AppsV1().ReplicaSets(ns).Get(t.Context(), "replicasets-0", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Wanted(t.Context(), ns, cluster.Owner{Kind: "ReplicaSet", Name: made.Name, UID: string(made.UID)})
		if err != nil || got != (cluster.Wanted{Pods: 7}) {
			t.Errorf("wants %+v, %v; want 7, not for certain", got, err)
		}
	})
	if _, err := c.Wanted(t.Context(), ns, cluster.Owner{Kind: "Rollout", Name: "web"}); err == nil {
		t.Error("a kind that is not known was answered for")
	}
}
