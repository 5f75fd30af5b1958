package ec2

import (
	"sync"
)

// EventKind is a step in an instance's life.
type EventKind string

// The steps in an instance's life that subscribers hear of.
const (
	Launched   EventKind = "Launched"
	Stopping   EventKind = "Stopping" // stopping or shutting-down
	Terminated EventKind = "Terminated"
)

// Event tells that an instance took a step; Instance is its state after it.
type Event struct {
	Kind     EventKind
	Instance Instance
}

// eventQueue delivers events in the order in which they happened, one at a
// time. A subscriber may call back into the cloud.
type eventQueue struct {
	mu          sync.Mutex
	waiting     []Event
	subscribers []*subscriber
	delivering  bool
}

type subscriber struct{ notify func(Event) }

// Subscribe calls notify for each event from now on, without holding any lock
// of the cloud, until cancel is called.
func (c *EC2) Subscribe(notify func(Event)) (cancel func()) {
	s := &subscriber{notify: notify}
	c.Events.mu.Lock()
	c.Events.subscribers = append(c.Events.subscribers, s)
	c.Events.mu.Unlock()
	return func() {
		c.Events.mu.Lock()
		defer c.Events.mu.Unlock()
		kept := make([]*subscriber, 0, len(c.Events.subscribers))
		for _, other := range c.Events.subscribers {
			if other != s {
				kept = append(kept, other)
			}
		}
		c.Events.subscribers = kept
	}
}

// add queues an event. The caller holds the cloud's lock, which gives the
// order; deliver is to be called after it is released.
func (q *eventQueue) add(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, e)
}

// Deliver hands out what waits. If another goroutine is at it, or a subscriber
// calls back, that one goes on until nothing waits.
func (q *eventQueue) Deliver() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.delivering {
		return
	}
	q.delivering = true
	for len(q.waiting) > 0 {
		next := q.waiting[0]
		q.waiting = q.waiting[1:]
		subscribers := q.subscribers
		q.mu.Unlock()
		for _, s := range subscribers {
			s.notify(next)
		}
		q.mu.Lock()
	}
	q.delivering = false
}
