package agent

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

const (
	// looksPerIdle is a compromise: each look copies the caches.
	looksPerIdle = 4
	// bindEvery is how long pods wait to be bound to machines that are bought already
	// and are starting, so that not each of a large scale-up makes for a turn.
	bindEvery = time.Second
)

// batch waits until all pods have come up that are to be decided on together. That
// is so when the owners of those that came have as many as they want, or will have for
// certain, or else when none has come for BatchIdle; and when the scheduler has looked
// at those that nothing can be foreseen of. Pods of owners that grow step by step wait
// for the next step. It takes BatchMax at most, and bindEvery where all that came have
// a place. It looks several times within BatchIdle so that it notices when pods came.
// Until some do, changes are gathered for longer in a large cluster.
func (a *Agent) batch(ctx context.Context) error {
	opened := time.Now()
	last, closes := opened, opened.Add(a.options.BatchMax)
	idle := restFor(a.thought, a.options.BatchIdle)
	look := max(a.options.BatchIdle/looksPerIdle, time.Millisecond)
	arrived, whole := newArrivals(), false
	for {
		a.replan.clear()
		s, now := a.history.foresee(a.cluster.Snapshot()), time.Now()
		if fresh := a.history.arrivals(s, now); len(fresh) > 0 {
			last, idle = now, a.options.BatchIdle
			if whole {
				clear(arrived.wanted) // these are of another step
			}
			arrived.add(fresh, s, &a.history)
			a.askOwners(ctx, arrived, now.Add(a.options.BatchMax))
			a.history.grow(arrived, now, a.options.BatchMax)
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
		wait := min(last.Add(idle).Sub(now), closes.Sub(now))
		if err := sleep(ctx, min(wait, look)); err != nil {
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
	unasked  []*cluster.Pod  // one pod of each owner that has not been asked yet
	wanted   map[string]int  // by an owner's UID: how many pods it wants to have
	loose    bool            // pods came of which nobody can say how many there will be
	homeless bool            // pods came that have no place in the last plan
}

func newArrivals() *arrivals { return &arrivals{owners: map[string]bool{}, wanted: map[string]int{}} }

func (b *arrivals) add(fresh []*cluster.Pod, s *cluster.Snapshot, h *history) {
	have := made(s)
	for _, p := range fresh {
		_, placed := h.planned[p.UID]
		if announced := have[p.Owner.UID] <= h.announced[p.Owner.UID].wanted; !placed && !announced {
			b.homeless = true
		}
		if _, known := b.wanted[p.Owner.UID]; known || b.loose {
			continue
		}
		b.owners[p.Owner.UID], b.wanted[p.Owner.UID] = true, 0
		b.unasked = append(b.unasked, p)
		b.loose = p.Owner.UID == "" || len(b.wanted) > ownersAtOnce
	}
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
	if b.loose || len(b.wanted) == 0 {
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

// askOwners asks the owners of pods that have just come how many they want, which is
// believed until the given time. An answer that fails, or takes longer than BatchIdle,
// leaves the batch to that time.
func (a *Agent) askOwners(ctx context.Context, b *arrivals, believed time.Time) {
	if b.loose {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, a.options.BatchIdle)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, p := range b.unasked {
		all.Go(func() {
			wanted, err := a.cluster.Wanted(ctx, p.Namespace, p.Owner)
			mu.Lock()
			defer mu.Unlock()
			b.wanted[p.Owner.UID] = wanted.Pods
			a.history.announce(p, wanted, believed)
			if err != nil {
				b.loose = true
				a.log.Debug("waits for pods without knowing how many will come", "owner", p.Owner.Kind+" "+p.Namespace+"/"+p.Owner.Name, "error", err)
			}
		})
	}
	all.Wait()
	b.unasked = nil
}
