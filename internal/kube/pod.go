package kube

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// pod is what the cache of pods holds instead of the API server's object, which takes ten times as
// much memory.
type pod struct {
	metav1.ObjectMeta // only namespace, name, UID and resource version
	converted         cluster.Pod
	unfinished        bool
}

// podsFrom returns the transform of the cache of pods.
func podsFrom(templates *cluster.Templates) func(any) (any, error) {
	return func(object any) (any, error) {
		o, ok := object.(*corev1.Pod)
		if !ok {
			return object, nil // converted already, or a cache.DeletedFinalStateUnknown
		}
		out := &pod{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion}}
		out.converted, out.unfinished = templates.Pod(o)
		return out, nil
	}
}
