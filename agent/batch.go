package agent

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

const (
	// lookRest is the least time between two looks, each of which copies the caches.
	lookRest = 10 * time.Millisecond
	// bindEvery is how long pods wait to be bound to machines that are bought already
	// and are starting, so that not each of a large scale-up makes for a turn.
	bindEvery = time.Second
)

// batch waits until all pods have come up that are to be decided on together. That
// is so when the owners of those that came have as many as they want, or will have for
// certain, or else when none has come for BatchIdle; and when the scheduler has looked
// at those that nothing can be foreseen of. Pods of owners that grow step by step wait
// for the next step. It takes BatchMax at most, and bindEvery where all that came have
// a place. It looks whenever pods came, but rests between the looks, which cost more in a
// large cluster. Until pods come, changes are gathered for longer there, too.
func (a *Agent) batch(ctx context.Context) error {
	opened := time.Now()
	last, closes := opened, opened.Add(a.options.BatchMax)
	idle := restFor(a.thought, a.options.BatchIdle)
	asking, closed := context.WithDeadline(ctx, closes)
	defer closed()
	arrived, whole := newArrivals(), false
	for {
		a.replan.clear()
		now := time.Now()
		s := a.history.foresee(a.cluster.Snapshot())
		if fresh := a.history.arrivals(s, now); len(fresh) > 0 {
			last, idle = now, a.options.BatchIdle
			if whole {
				arrived.askAgain() // these are of another step
			}
			a.askOwners(asking, arrived, arrived.add(fresh, s, &a.history))
		}
		quiet := now.Sub(last) >= idle
		whole = arrived.complete(s, &a.history)
		switch {
		case !now.Before(closes), arrived.housed() && now.Sub(opened) >= bindEvery:
			return nil
		case !quiet && !whole:
		case !arrived.moreToCome(s, now.Add(-a.options.BatchMax)) && !a.history.stepIsDue(arrived, now, closes):
			return nil
		case quiet:
			last = now
		}
		// What a look copies costs more to collect than to copy.
		least, most := restFor(3*time.Since(now), lookRest), min(last.Add(idle).Sub(now), closes.Sub(now))
		if err := a.hear(ctx, arrived, least, most); err != nil {
			return err
		}
	}
}

// arrivals notes when pods were first seen waiting for a node, and returns those
// that are new, or that were only foreseen before.
func (h *history) arrivals(s *cluster.Snapshot, now time.Time) (fresh []*cluster.Pod) {
	for i := range s.Pods {
		p := &s.Pods[i]
		if p.State != cluster.PodPending {
			continue
		}
		_, known := h.firstSeen[p.UID]
		if !known {
			h.firstSeen[p.UID] = now
		}
		if !known || h.foreseen[p.UID] && !p.Foreseen {
			fresh = append(fresh, p)
		}
		h.foreseen[p.UID] = p.Foreseen
	}
	return fresh
}

// arrivals are the owners of the pods of a batch.
type arrivals struct {
	owners   map[string]bool // by UID
	asked    map[string]bool // by an owner's UID: it is being asked, or has answered
	wanted   map[string]int  // by an owner's UID: how many pods it wants to have
	replies  chan []reply    // of owners that were asked
	loose    bool            // pods came of which nobody can say how many there will be
	homeless bool            // pods came that have no place in the last plan
}

// reply is what the owner of a pod wants.
type reply struct {
	pod    *cluster.Pod
	wanted cluster.Wanted
	err    error
}

func newArrivals() *arrivals {
	return &arrivals{owners: map[string]bool{}, asked: map[string]bool{}, wanted: map[string]int{}, replies: make(chan []reply)}
}

// askAgain forgets what the owners have answered.
func (b *arrivals) askAgain() {
	clear(b.asked)
	clear(b.wanted)
}

// add returns one pod of each owner that has not been asked yet.
func (b *arrivals) add(fresh []*cluster.Pod, s *cluster.Snapshot, h *history) (unasked []*cluster.Pod) {
	have := made(s)
	for _, p := range fresh {
		_, placed := h.planned[p.UID]
		if announced := have[p.Owner.UID] <= h.announced[p.Owner.UID].wanted; !placed && !announced {
			b.homeless = true
		}
		if b.asked[p.Owner.UID] || b.loose {
			continue
		}
		b.owners[p.Owner.UID], b.asked[p.Owner.UID] = true, true
		unasked = append(unasked, p)
		b.loose = p.Owner.UID == "" || len(b.asked) > ownersAtOnce
	}
	return unasked
}

// moreToCome reports whether there are pods that the scheduler has not looked at
// yet. It takes a while to look at those of a large scale-up, and buying for the
// first of them apart from the rest would be dear. Those that are foreseen are
// waited for only while there is nothing to do but to bind them. Pods that have
// waited for the scheduler since before the given time are not waited for.
func (b *arrivals) moreToCome(s *cluster.Snapshot, since time.Time) bool {
	return slices.ContainsFunc(s.Pods, func(p cluster.Pod) bool {
		return (p.State == cluster.PodNew || p.Foreseen && !b.homeless) && p.Created.After(since)
	})
}

// housed reports whether there is nothing to do but to bind the pods that came.
func (b *arrivals) housed() bool { return len(b.owners) > 0 && !b.homeless }

// complete reports whether each owner has as many pods as it wants. Where machines
// are to be bought, those that are announced count.
func (b *arrivals) complete(s *cluster.Snapshot, h *history) bool {
	if b.loose || len(b.asked) == 0 || len(b.wanted) < len(b.asked) {
		return false
	}
	have := made(s)
	for owner, wanted := range b.wanted {
		_, announced := h.announced[owner]
		if have[owner] < wanted && (!announced || !b.homeless) {
			return false
		}
	}
	return true
}

// askOwners starts to ask the owners of the pods how many they want. An answer that
// fails, or does not come in time, leaves the batch to the idle time.
func (a *Agent) askOwners(ctx context.Context, b *arrivals, unasked []*cluster.Pod) {
	if b.loose || len(unasked) == 0 {
		return
	}
	go func() {
		replies := make([]reply, len(unasked))
		var all sync.WaitGroup
		for i, p := range unasked {
			all.Go(func() {
				wanted, err := a.cluster.Wanted(ctx, p.Namespace, p.Owner)
				replies[i] = reply{p, wanted, err}
			})
		}
		all.Wait()
		select {
		case b.replies <- replies:
		case <-ctx.Done():
		}
	}()
}

// hear waits for what owners answer, and for pods that come after the least time, but no
// longer than the most.
func (a *Agent) hear(ctx context.Context, b *arrivals, least, most time.Duration) error {
	rested, timeout := time.NewTimer(least), time.NewTimer(most)
	defer rested.Stop()
	defer timeout.Stop()
	var unbound <-chan struct{}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case replies := <-b.replies:
			a.heard(b, replies)
			return nil
		case <-rested.C:
			unbound = a.cluster.Unbound()
		case <-unbound:
			return nil
		case <-timeout.C:
			return nil
		}
	}
}

// heard notes what owners have answered, which is believed for BatchMax.
func (a *Agent) heard(b *arrivals, replies []reply) {
	now := time.Now()
	for _, said := range replies {
		owner := said.pod.Owner
		b.wanted[owner.UID] = said.wanted.Pods
		a.history.announce(said.pod, said.wanted, now.Add(a.options.BatchMax))
		if said.err != nil {
			b.loose = true
			a.log.Debug("waits for pods without knowing how many will come", "owner", owner.Kind+" "+said.pod.Namespace+"/"+owner.Name, "error", said.err)
		}
	}
	a.history.grow(b, now, a.options.BatchMax)
}
