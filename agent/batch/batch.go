// Package batch decides when the agent plans for the pods that wait for a node: one purchase for all
// pods of a scale-up costs less than several purchases for parts of it.
//
// Each owner of pods, such as a ReplicaSet, has one deadline. It passes when the owner has, or
// certainly will have, as many pods as it wants. If that is not known, it passes at the idle time after
// the owner's last pod. The batch closes when all deadlines have passed and the scheduler has tried all
// pods, and at a limit in any case.
//
// The package has no clock, goroutines or calls. Its caller passes the time, the state of the cluster
// and the answers of owners.
package batch

import (
	"maps"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

const (
	// bindEvery is how long pods wait to be bound to machines that are already bought and starting,
	// so that a large scale-up does not take one turn for each pod.
	bindEvery = time.Second
	// ownersAsked is how many owners of one batch are asked how many pods they want.
	ownersAsked = 16
)

// State is what is known about owners, and the open batch. The zero value knows nothing. Step does not
// change a State, but returns another one.
type State struct {
	demands map[string]demand // by UID of the owner, also between batches
	open    opened
}

// opened is an open batch.
type opened struct {
	at            time.Time
	quiet         time.Time     // it closes then if no pod has come
	idle          time.Duration // no pod of an owner may come for so long after its last one
	most          time.Duration // the batch takes at most
	owners        map[string]arrived
	asked         int       // owners
	needsCapacity bool      // pods came that have no place in the last plan
	untried       time.Time // creation of the youngest pod that the scheduler has not tried
	presumed      time.Time // creation of the youngest pod that is presumed unschedulable
}

// arrived is an owner of which pods came in the open batch. Pods without an owner share
// one, whose UID is empty.
type arrived struct {
	last  time.Time // its last pod came
	have  int       // its pods that are not being deleted
	phase phase
}

// phase is what is known about what an owner wants.
type phase int

const (
	unknown  phase = iota // nobody can tell: the idle time counts
	asking                // likewise, until it answers
	answered              // its demand holds
)

// Event is something that happens to a batch: Open, Poll or Answer.
type Event interface {
	apply(s *State, now time.Time) (ask []*cluster.Pod)
}

// Open begins a batch.
type Open struct {
	Quiet time.Duration // it closes after this time if no pod comes,
	Idle  time.Duration // when no pod of an owner has come for this time after its last one,
	Max   time.Duration // and after this time in any case
}

// Poll is what the cluster's caches hold at one moment; NewPoll makes it.
type Poll struct {
	Arrived []*cluster.Pod // came since the last Poll; they wait for a node
	// Placed reports whether a pod has a place in the last plan.
	Placed func(uid string) bool

	have              map[string]int // by UID of the owner: pods that are not being deleted
	untried, presumed time.Time
}

// Answer is what the owner of a pod says that it wants.
type Answer struct {
	Pod    *cluster.Pod
	Wanted cluster.Wanted
	Err    error // it does not say
}

// Next is what the caller does next.
type Next struct {
	Close bool           // the batch is closed: plan
	Wake  time.Time      // poll again then, if nothing happens before
	Ask   []*cluster.Pod // one pod of each owner that is to be asked what it wants
}

// NewPoll reads a snapshot.
func NewPoll(s *cluster.Snapshot, arrived []*cluster.Pod, placed func(uid string) bool) Poll {
	p := Poll{Arrived: arrived, Placed: placed, have: made(s)}
	youngest := func(t *time.Time, created time.Time) {
		if created.After(*t) {
			*t = created
		}
	}
	for pod := range s.EachPod() {
		switch {
		case pod.State == cluster.PodNew:
			youngest(&p.untried, pod.Created)
		case pod.PresumedUnschedulable:
			youngest(&p.presumed, pod.Created)
		}
	}
	return p
}

// Step applies an event and returns the next state, and what the caller does next. If no batch is
// open, it says that the batch is closed.
func Step(s State, e Event, now time.Time) (State, Next) {
	if _, opens := e.(Open); !opens && s.open.owners == nil {
		return s, Next{Close: true}
	}
	s.demands, s.open.owners = maps.Clone(s.demands), maps.Clone(s.open.owners)
	ask := e.apply(&s, now)
	limit, ready := s.limit(), s.ready()
	if !now.Before(limit) || !now.Before(ready) {
		s.open = opened{}
		return s, Next{Close: true}
	}
	if limit.Before(ready) {
		ready = limit
	}
	return s, Next{Wake: ready, Ask: ask}
}

func (e Open) apply(s *State, now time.Time) []*cluster.Pod {
	s.forget(now, e.Max)
	s.open = opened{at: now, quiet: now.Add(e.Quiet), idle: e.Idle, most: e.Max, owners: map[string]arrived{}}
	return nil
}

func (e Poll) apply(s *State, now time.Time) (ask []*cluster.Pod) {
	b := &s.open
	b.untried, b.presumed = e.untried, e.presumed
	for _, p := range e.Arrived {
		uid := p.Owner.UID
		expected := e.have[uid] <= s.demands[uid].expected(now)
		b.needsCapacity = b.needsCapacity || !e.Placed(p.UID) && !expected
		o, known := b.owners[uid]
		wantsMore := o.phase == answered && e.have[uid] > s.demands[uid].wanted
		if !known && uid != "" && b.asked < ownersAsked || wantsMore {
			o.phase = asking
			ask = append(ask, p)
		}
		if !known {
			b.asked++
		}
		o.last = now
		b.owners[uid] = o
	}
	for uid, o := range b.owners {
		o.have = e.have[uid]
		b.owners[uid] = o
	}
	return ask
}

func (e Answer) apply(s *State, now time.Time) []*cluster.Pod {
	uid := e.Pod.Owner.UID
	o, known := s.open.owners[uid]
	if !known {
		return nil
	}
	if o.phase = answered; e.Err != nil {
		o.phase = unknown
	}
	s.open.owners[uid] = o
	s.learn(e, s.open.most, now)
	return nil
}

// enough reports whether an owner has as many pods as it wants. If machines have to be bought, pods
// that it will certainly create count as well.
func (s *State) enough(uid string, o arrived) bool {
	d := s.demands[uid]
	return o.phase == answered && (o.have >= d.wanted || d.certain && s.open.needsCapacity)
}

// limit returns when the batch closes in any case. It closes sooner if the pods only have to be bound.
func (s *State) limit() time.Time {
	b := &s.open
	if len(b.owners) > 0 && !b.needsCapacity {
		return b.at.Add(min(bindEvery, b.most))
	}
	return b.at.Add(b.most)
}

// ready returns when all deadlines will have passed if nothing happens before.
//
// The scheduler takes a while to try the pods of a large scale-up, and buying for the first of them
// alone costs more. The batch waits for pods that are presumed unschedulable only if they just have to
// be bound.
func (s *State) ready() time.Time {
	b := &s.open
	var last time.Time
	await := func(t time.Time) {
		if t.After(last) {
			last = t
		}
	}
	if len(b.owners) == 0 {
		await(b.quiet)
	}
	for uid, o := range b.owners {
		if !s.enough(uid, o) {
			await(o.last.Add(b.idle))
		}
	}
	await(s.nextSteps())
	await(b.untried.Add(b.most))
	if !b.needsCapacity {
		await(b.presumed.Add(b.most))
	}
	return last
}

// nextSteps returns until when the batch waits for the next steps of owners that grow in steps. It does
// not keep pods of other owners waiting.
func (s *State) nextSteps() (until time.Time) {
	b := &s.open
	for uid, o := range b.owners {
		d := s.demands[uid]
		if d.every == 0 || o.phase == unknown {
			return time.Time{}
		}
		// A step is overdue when half as much time again has passed as between the last two.
		if next, overdue := d.grew.Add(d.every), d.grew.Add(d.every+d.every/2); next.Before(b.at.Add(b.most)) && overdue.After(until) {
			until = overdue
		}
	}
	return until
}
