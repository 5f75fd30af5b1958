package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// events writes events in the background. Equal ones are counted instead of
// repeated, and an object gets 25 at a time and then one in five minutes.
type events struct {
	broadcaster record.EventBroadcaster
	recorder    record.EventRecorder
}

func newEvents() *events {
	b := record.NewBroadcaster()
	return &events{broadcaster: b, recorder: b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: manager})}
}

func (e *events) start(ctx context.Context, client kubernetes.Interface) {
	e.broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	context.AfterFunc(ctx, e.broadcaster.Shutdown)
}

// Event tells users what happened to an object. It does not wait; when events
// come faster than they can be written, some are dropped.
func (c *Cluster) Event(ref cluster.ObjectRef, eventType, reason, message string) {
	c.events.recorder.Event(reference(ref), eventType, reason, message)
}

func reference(ref cluster.ObjectRef) *corev1.ObjectReference {
	out := &corev1.ObjectReference{
		APIVersion: corev1.SchemeGroupVersion.String(),
		Kind:       ref.Kind,
		Namespace:  ref.Namespace,
		Name:       ref.Name,
		UID:        types.UID(ref.UID),
	}
	switch ref.Kind {
	case api.ProvisionerKind:
		out.APIVersion = api.ProvisionerGVK.GroupVersion().String()
	case api.NodeTemplateKind:
		out.APIVersion = api.NodeTemplateGVK.GroupVersion().String()
	}
	return out
}
