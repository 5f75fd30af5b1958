package agent

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/batch"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// leastPollPause is the least time between two polls of the caches, each of which
// copies them.
const leastPollPause = 10 * time.Millisecond

// gatherer collects the pods of batches.
type gatherer struct {
	cluster Cluster
	history *history
	log     hclog.Logger
	replan  pace.Signal
}

// gather waits until the batch is complete, by the rules of package batch. It polls the caches
// whenever pods have arrived, and asks the owners of the pods how many they want.
func (g *gatherer) gather(ctx context.Context, open batch.Open) error {
	asking, closed := context.WithTimeout(ctx, open.Max)
	defer closed()
	answers := make(chan []batch.Answer)
	g.step(open)
	for {
		g.replan.Clear()
		began := time.Now()
		next := g.step(g.poll(began))
		if next.Close {
			return nil
		}
		if len(next.Ask) > 0 {
			go g.askOwners(asking, next.Ask, answers)
		}
		// What a poll copies costs more to collect than to copy.
		least := pace.BackOff(3*time.Since(began), leastPollPause)
		if done, err := g.awaitPods(ctx, least, next.Wake, answers); done || err != nil {
			return err
		}
	}
}

// step applies an event to the batch.
func (g *gatherer) step(e batch.Event) (next batch.Next) {
	g.history.batch, next = batch.Step(g.history.batch, e, time.Now())
	return next
}

// poll reads the caches.
func (g *gatherer) poll(now time.Time) batch.Poll {
	s := batch.Presume(g.cluster.Snapshot().WithoutOldNominations(now), g.history.placed)
	return batch.NewPoll(s, g.history.arrivals(s, now), g.history.placed)
}

// awaitPods returns when it is time to poll again: at the given time, or when pods have arrived, but
// not before the least pause. Answers of owners may close the batch meanwhile.
func (g *gatherer) awaitPods(ctx context.Context, least time.Duration, wake time.Time, answers <-chan []batch.Answer) (closed bool, err error) {
	paused, timeout := time.NewTimer(least), time.NewTimer(time.Until(wake))
	defer paused.Stop()
	defer timeout.Stop()
	var unbound <-chan struct{}
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case all := <-answers:
			var next batch.Next
			for _, one := range all {
				if next = g.step(one); next.Close {
					return true, nil
				}
			}
			timeout.Reset(time.Until(next.Wake))
		case <-paused.C:
			unbound = g.cluster.Unbound()
		case <-unbound:
			return false, nil
		case <-timeout.C:
			return false, nil
		}
	}
}

// askOwners asks the owners of pods how many pods they want. If an answer fails or is late, the idle
// time decides when the batch closes.
func (g *gatherer) askOwners(ctx context.Context, pods []*cluster.Pod, answers chan<- []batch.Answer) {
	out := make([]batch.Answer, len(pods))
	var all sync.WaitGroup
	for i, p := range pods {
		all.Go(func() {
			wanted, err := g.cluster.Wanted(ctx, p.Namespace, p.Owner)
			out[i] = batch.Answer{Pod: p, Wanted: wanted, Err: err}
			if err != nil && ctx.Err() == nil {
				g.log.Debug("could not read how many pods an owner wants", "owner", p.Owner.Kind+" "+p.Namespace+"/"+p.Owner.Name, "error", err)
			}
		})
	}
	all.Wait()
	select {
	case answers <- out:
	case <-ctx.Done():
	}
}

// arrivals notes when pods were first seen waiting for a node. It returns new pods, and pods that were
// only presumed unschedulable before.
func (h *history) arrivals(s *cluster.Snapshot, now time.Time) (arrived []*cluster.Pod) {
	for p := range s.EachPod() {
		if p.State != cluster.PodPending {
			continue
		}
		_, known := h.firstSeen[p.UID]
		if !known {
			h.firstSeen[p.UID] = now
		}
		if !known || h.presumed[p.UID] && !p.PresumedUnschedulable {
			arrived = append(arrived, p)
		}
		h.presumed[p.UID] = p.PresumedUnschedulable
	}
	return arrived
}

// placed reports whether a pod has a place in the last plan.
func (h *history) placed(uid string) bool {
	_, ok := h.planned[uid]
	return ok
}
