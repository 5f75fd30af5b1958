package cluster

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// A Deployment is settled once its controller has made all pods of its current template, and scaled by
// the agent while nobody else has set its number of replicas since.
func TestFromDeployment(t *testing.T) {
	by := func(manager, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	const replicas = `{"f:spec":{"f:replicas":{}}}`
	for name, c := range map[string]struct {
		change func(*appsv1.Deployment)
		want   Deployment
	}{
		"as it should be":                   {want: Deployment{Replicas: 3, Settled: true, Available: 3}},
		"the usual number":                  {change: func(d *appsv1.Deployment) { d.Spec.Replicas = nil }, want: Deployment{Replicas: 1, Available: 3}},
		"not seen by its controller":        {change: func(d *appsv1.Deployment) { d.Generation = 8 }, want: Deployment{Replicas: 3, Available: 3}},
		"pods are missing":                  {change: func(d *appsv1.Deployment) { d.Status.Replicas = 2 }, want: Deployment{Replicas: 3, Available: 3}},
		"rolled out":                        {change: func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }, want: Deployment{Replicas: 3, Available: 3}},
		"it is being deleted":               {change: func(d *appsv1.Deployment) { d.DeletionTimestamp = &metav1.Time{} }, want: Deployment{Replicas: 3, Available: 3}},
		"it asks for surge":                 {change: func(d *appsv1.Deployment) { d.Annotations = map[string]string{api.AnnotationSurge: "true"} }, want: Deployment{Replicas: 3, Settled: true, Available: 3, Surge: "true"}},
		"two must not run at the same time": {change: func(d *appsv1.Deployment) { d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType }, want: Deployment{Replicas: 3, Settled: true, Available: 3, Recreate: true}},
		"the agent has scaled it up": {change: func(d *appsv1.Deployment) {
			d.ManagedFields = append(d.ManagedFields, by("agent-surge-from-2", "scale", replicas))
		}, want: Deployment{Replicas: 3, Settled: true, Available: 3, Before: 2}},
		"the agent has scaled it back": {change: func(d *appsv1.Deployment) { d.ManagedFields = append(d.ManagedFields, by("agent", "scale", replicas)) }, want: Deployment{Replicas: 3, Settled: true, Available: 3}},
		"somebody else applies the same number": {change: func(d *appsv1.Deployment) {
			d.ManagedFields = append(d.ManagedFields, by("gitops", "", replicas), by("agent-surge-from-2", "scale", replicas))
		}, want: Deployment{Replicas: 3, Settled: true, Available: 3}},
		"others have set other things": {change: func(d *appsv1.Deployment) {
			d.ManagedFields = append(d.ManagedFields, by("agent-surge-from-2", "scale", replicas),
				by("gitops", "", `{"f:spec":{"f:template":{"f:metadata":{"f:labels":{"f:replicas":{}}}}}}`), by("kube-controller-manager", "status", `{"f:status":{"f:replicas":{}}}`))
		}, want: Deployment{Replicas: 3, Settled: true, Available: 3, Before: 2}},
		"by a name that the agent does not use": {change: func(d *appsv1.Deployment) {
			d.ManagedFields = append(d.ManagedFields, by("agent-surge-from--5", "scale", replicas))
		}, want: Deployment{Replicas: 3, Settled: true, Available: 3}},
		"by a name with too large a number": {change: func(d *appsv1.Deployment) {
			d.ManagedFields = append(d.ManagedFields, by("agent-surge-from-2147483648", "scale", replicas))
		}, want: Deployment{Replicas: 3, Settled: true, Available: 3}},
		"somebody else has scaled it": {change: func(d *appsv1.Deployment) {
			d.ManagedFields = append(d.ManagedFields, by("kubectl", "scale", replicas))
		}, want: Deployment{Replicas: 3, Settled: true, Available: 3}},
		"the agent has changed something else": {change: func(d *appsv1.Deployment) {
			d.ManagedFields = append(d.ManagedFields, by("agent-surge-from-2", "", `{"f:metadata":{}}`))
		}, want: Deployment{Replicas: 3, Settled: true, Available: 3}},
	} {
		d := &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Generation: 7}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](3)},
			Status: appsv1.DeploymentStatus{ObservedGeneration: 7, Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3},
		}
		if c.change != nil {
			c.change(d)
		}
		if got := FromDeployment(d, "agent"); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// A pod's Deployment follows from the name of its ReplicaSet.
func TestDeploymentOfPod(t *testing.T) {
	for name, c := range map[string]struct {
		owner Owner
		hash  string
		want  string
	}{
		"of a Deployment":              {Owner{Kind: "ReplicaSet", Name: "web-shop-5d9f"}, "5d9f", "web-shop"},
		"a ReplicaSet by itself":       {Owner{Kind: "ReplicaSet", Name: "web-5d9f"}, "", ""},
		"a ReplicaSet of another name": {Owner{Kind: "ReplicaSet", Name: "web"}, "5d9f", ""},
		"of a StatefulSet":             {Owner{Kind: "StatefulSet", Name: "web-5d9f"}, "5d9f", ""},
	} {
		p := Pod{Owner: c.owner, Template: &Template{Labels: map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: c.hash}}}
		if got := p.Deployment(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
