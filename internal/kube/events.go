package kube

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

const (
	// queuedEvents is the largest number of events that wait to be written. It allows for a
	// few on each pod of a large cluster. client-go's recorder keeps 1000 and drops the others.
	queuedEvents = 50_000
	// longestName is the largest length of an object's name.
	longestName = 253
	// writeTries is how often to try to write an event, with writePause in between.
	writeTries, writePause = 10, 10 * time.Second
	// writers is the largest number of namespaces in which events are written at the same time.
	writers = 100
)

// events writes events in the background, those of a namespace one after the other. A webhook that fails may hold up those
// of one namespace, and no others. It counts equal events instead of repeating them. If more than ten events on an object
// within ten minutes differ only in their message, it combines them. It drops no event that says something new: the agent
// itself limits how often it says something.
type events struct {
	correlator *record.EventCorrelator
	unwritten  func(events int, err error)
	wake       chan struct{}

	mu     sync.Mutex
	queue  map[string][]*corev1.Event // by namespace
	busy   map[string]bool            // namespaces of which events are being written
	missed int                        // events that were dropped since the last take
	stamp  int64                      // in the name of the last event
}

func newEvents(unwritten func(int, error)) *events {
	return &events{
		// The correlator drops an event when there have been more than 25 with the same key.
		// The key includes the message, so that it drops only equal events.
		correlator: record.NewEventCorrelatorWithOptions(record.CorrelatorOptions{SpamKeyFunc: wording}),
		unwritten:  unwritten,
		wake:       make(chan struct{}, 1),
		queue:      map[string][]*corev1.Event{}, busy: map[string]bool{},
	}
}

func wording(e *corev1.Event) string {
	return strings.Join([]string{string(e.InvolvedObject.UID), e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message}, "\x00")
}

// add queues an event. If the queue is full, the namespace with the most events loses its last.
func (e *events) add(event *corev1.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stamp = max(event.FirstTimestamp.UnixNano(), e.stamp+1) // names must be unique
	event.Name = eventName(event.InvolvedObject.Name, e.stamp)
	e.queue[event.Namespace] = append(e.queue[event.Namespace], event)
	queued, longest := 0, event.Namespace
	for namespace, events := range e.queue {
		if queued += len(events); len(events) > len(e.queue[longest]) {
			longest = namespace
		}
	}
	if queued > queuedEvents {
		e.queue[longest], e.missed = e.queue[longest][:len(e.queue[longest])-1], e.missed+1
	}
	offer(e.wake)
}

// take returns queued events by namespace, and the number of those that were dropped. Their namespaces are then busy.
func (e *events) take() (waiting map[string][]*corev1.Event, missed int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	waiting = map[string][]*corev1.Event{}
	for of, events := range e.queue {
		if !e.busy[of] && len(e.busy) < writers {
			e.busy[of], waiting[of] = true, events
			delete(e.queue, of)
		}
	}
	missed, e.missed = e.missed, 0
	return waiting, missed
}

// run writes events until ctx ends.
func (e *events) run(ctx context.Context, client kubernetes.Interface) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.wake:
		}
		waiting, missed := e.take()
		e.report(ctx, missed, fmt.Errorf("the queue was full with %d events", queuedEvents))
		for namespace, events := range waiting {
			go e.writeAll(ctx, client, namespace, events)
		}
	}
}

// writeAll writes the events of a namespace.
func (e *events) writeAll(ctx context.Context, client kubernetes.Interface, namespace string, waiting []*corev1.Event) {
	lost, last := 0, error(nil)
	for _, event := range waiting {
		if err := e.write(ctx, client, event); err != nil {
			lost++
			last = fmt.Errorf("write event %s of %s %s: %w", event.Reason, event.InvolvedObject.Kind, event.InvolvedObject.Name, err)
		}
	}
	e.report(ctx, lost, last)
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.busy, namespace)
	offer(e.wake)
}

// report tells that events were not written, and why the last of them was not.
func (e *events) report(ctx context.Context, lost int, last error) {
	if lost > 0 && e.unwritten != nil && ctx.Err() == nil {
		e.unwritten(lost, last)
	}
}

// write creates an event, or increases the count of an existing one. It succeeds if the namespace
// is being deleted and accepts no more events.
func (e *events) write(ctx context.Context, client kubernetes.Interface, event *corev1.Event) error {
	result, err := e.correlator.EventCorrelate(event)
	if err != nil || result.Skip {
		return err
	}
	event = result.Event
	in := client.CoreV1().Events(event.Namespace)
	var written *corev1.Event
	err = insist(ctx, func(ctx context.Context) (err error) {
		if event.Count > 1 {
			written, err = in.Patch(ctx, event.Name, types.StrategicMergePatchType, result.Patch, metav1.PatchOptions{})
		}
		if event.Count == 1 || apierrors.IsNotFound(err) { // the API server deletes old events
			event.ResourceVersion = ""
			written, err = in.Create(ctx, event, metav1.CreateOptions{})
		}
		return err
	})
	switch {
	case err == nil:
		e.correlator.UpdateState(written)
	case apierrors.IsAlreadyExists(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), apierrors.IsNotFound(err):
		return nil
	}
	return err
}

// insist repeats a request for about two minutes while it fails with temporary errors. The other
// events of the namespace wait meanwhile, because they would fail too.
func insist(ctx context.Context, write func(context.Context) error) error {
	patient := wait.Backoff{Steps: writeTries, Duration: writePause}
	return call.Retry(ctx, patient, passing, func(ctx context.Context) error { return retry(ctx, write) })
}

// Event records an event on an object. It does not wait until the event is written.
func (c *Cluster) Event(ref cluster.ObjectRef, eventType, reason, message string) {
	c.events.add(newEvent(c.pools.reference(ref), eventType, reason, message))
}

func newEvent(ref cluster.ObjectRef, eventType, reason, message string) *corev1.Event {
	now := metav1.Now()
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: cmp.Or(ref.Namespace, metav1.NamespaceDefault)},
		InvolvedObject: *reference(ref), Type: eventType, Reason: reason, Message: message,
		Source: corev1.EventSource{Component: manager}, ReportingController: manager,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}
}

// eventName returns the name of the object, shortened if necessary, with a number.
func eventName(object string, stamp int64) string {
	suffix := fmt.Sprintf(".%x", stamp)
	return strings.TrimRight(object[:min(len(object), longestName-len(suffix))], ".-") + suffix
}

func reference(ref cluster.ObjectRef) *corev1.ObjectReference {
	out := &corev1.ObjectReference{
		APIVersion: cmp.Or(ref.APIVersion, corev1.SchemeGroupVersion.String()),
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
