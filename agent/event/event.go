// Package event reports what the agent does as events of Kubernetes objects.
package event

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/status"
)

// The reasons of events. Users filter by them: they are part of the interface.
const (
	Unplaceable     = "Unplaceable"     // pod and its owner, DaemonSet: no node can be bought for it
	Nominated       = "Nominated"       // pod: the node it will run on
	NotScheduled    = "NotScheduled"    // pod: the node that it fits, where kube-scheduler does not place it
	Launched        = "Launched"        // node: what was bought, and at what price
	Adopted         = "Adopted"         // node: its object was made from the instance
	TakenOver       = "TakenOver"       // node: the agent manages a node that Karpenter has launched, or has made the Provisioner its owner
	Initialized     = "Initialized"     // node: it is ready
	NeverRegistered = "NeverRegistered" // node: its machine did not become ready in time, or is of no use from the beginning
	Disrupting      = "Disrupting"      // node: it will be removed, and why
	Kept            = "Kept"            // node: it is not removed, and why
	NotConsolidated = "NotConsolidated" // node: why it stays while it is in use
	Surging         = "Surging"         // Deployment: it has one more pod for each that is moved
	SurgeFailed     = "SurgeFailed"     // Deployment: why its pods are not moved in this way
	Draining        = "Draining"        // node: its pods are being evicted
	EvictionBlocked = "EvictionBlocked" // node and pod: a disruption budget forbids an eviction
	DrainHeldUp     = "DrainHeldUp"     // node and pod: what else a drain waits for, longer than it should
	Terminated      = "Terminated"      // node: its machine was terminated
	Interrupted     = "Interrupted"     // node: the cloud will take its machine back
	// node: its machine is an on-demand machine now.
	ReservationEnded = "ReservationEnded"
	InstanceGone     = "InstanceGone" // node: its machine does not exist any more
	TagsLost         = "TagsLost"     // node: its instance has lost the tags of the cluster
	MarksLost        = "MarksLost"    // node: what the agent has marked it with was removed or changed
	LaunchFailed     = "LaunchFailed" // Provisioner: the cloud refused an order
	NodeRefused      = "NodeRefused"  // Provisioner: the Node object of a machine cannot be created
	DoubtfulSpec     = "DoubtfulSpec" // Provisioner, node profile and owner of pods: what has no effect or is probably not meant
)

// RepeatAfter is when an event about something that lasts is sent again: well within the hour for
// which an API server keeps events.
const RepeatAfter = 40 * time.Minute

// Node is the node of that name. Its UID is the name, as in the kubelet's own events.
func Node(name string) cluster.ObjectRef {
	return cluster.ObjectRef{Kind: "Node", Name: name, UID: name}
}

// Pod is a pod.
func Pod(k cluster.PodKey) cluster.ObjectRef {
	return cluster.ObjectRef{Kind: "Pod", Namespace: k.Namespace, Name: k.Name, UID: k.UID}
}

// Deployment is a Deployment.
func Deployment(d *cluster.Deployment) cluster.ObjectRef {
	return cluster.ObjectRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: d.Namespace, Name: d.Name, UID: d.UID}
}

// Provisioner is a Provisioner.
func Provisioner(p *api.Provisioner) cluster.ObjectRef {
	return cluster.ObjectRef{Kind: api.ProvisionerKind, Name: p.Name, UID: string(p.UID)}
}

// Sink takes events.
type Sink interface {
	// Event is deduplicated and rate-limited, and does not wait.
	Event(ref cluster.ObjectRef, eventType, reason, message string)
}

// Recorder sends events, and keeps the last of them for the status page. It does not keep events about
// single pods, and about nodes that stay in use. It is safe for concurrent use.
type Recorder struct {
	sink Sink

	mu     sync.Mutex
	recent []status.Event // oldest first
}

// recentEvents is how many are kept.
const recentEvents = 50

// NewRecorder returns one that passes events on to the sink.
func NewRecorder(sink Sink) *Recorder { return &Recorder{sink: sink} }

// Normal records an event of the type Normal.
func (r *Recorder) Normal(ref cluster.ObjectRef, reason, message string) {
	r.record(ref, corev1.EventTypeNormal, reason, message)
}

// Warning records an event of the type Warning.
func (r *Recorder) Warning(ref cluster.ObjectRef, reason, message string) {
	r.record(ref, corev1.EventTypeWarning, reason, message)
}

func (r *Recorder) record(ref cluster.ObjectRef, eventType, reason, message string) {
	r.sink.Event(ref, eventType, reason, message)
	if ref.Kind == "Pod" || reason == NotConsolidated {
		return // the page lists what waits, and what stays
	}
	name := ref.Name
	if ref.Namespace != "" {
		name = ref.Namespace + "/" + name
	}
	e := status.Event{At: time.Now(), Warning: eventType == corev1.EventTypeWarning, Reason: reason, Object: ref.Kind + " " + name, Message: message}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recent = slices.DeleteFunc(r.recent, func(old status.Event) bool {
		return old.Object == e.Object && old.Reason == e.Reason && old.Message == e.Message // it is repeated
	})
	if len(r.recent) == recentEvents {
		r.recent = slices.Delete(r.recent, 0, 1)
	}
	r.recent = append(r.recent, e)
}

// Recent returns the last events, newest first.
func (r *Recorder) Recent() []status.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := append([]status.Event{}, r.recent...)
	slices.Reverse(out)
	return out
}
