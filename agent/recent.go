package agent

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/status"
)

// recent is what happened last, but for what concerns single pods. A restart
// forgets it; the API server keeps the events for an hour.
type recent struct {
	mu     sync.Mutex
	events []status.Event // oldest first
}

// recentEvents is how many are kept.
const recentEvents = 50

func (r *recent) add(e status.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = slices.DeleteFunc(r.events, func(old status.Event) bool {
		return old.Object == e.Object && old.Reason == e.Reason && old.Message == e.Message // told again
	})
	if len(r.events) == recentEvents {
		r.events = slices.Delete(r.events, 0, 1)
	}
	r.events = append(r.events, e)
}

// list returns the events, newest first.
func (r *recent) list() []status.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := append([]status.Event{}, r.events...)
	slices.Reverse(out)
	return out
}

// event tells the users of kubectl, and those of the status page, what happened.
func (a *Agent) event(ref cluster.ObjectRef, eventType, reason, message string) {
	a.cluster.Event(ref, eventType, reason, message)
	if ref.Kind != "Pod" {
		a.recent.add(status.Event{
			At: time.Now(), Warning: eventType == corev1.EventTypeWarning, Reason: reason, Object: ref.Kind + " " + ref.Name, Message: message,
		})
	}
}
