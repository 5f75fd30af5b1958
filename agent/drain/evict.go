package drain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/parallel"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

const (
	// evictionSettles is how long an accepted eviction may take to show in the caches.
	evictionSettles = 5 * time.Second
	// A refused eviction is tried again after 1 s, then twice as long each time, up to 10 s.
	evictionRetry    = time.Second
	evictionRetryMax = 10 * time.Second
)

// stop asks pods to stop, as the Provisioner's terminationGracePeriod allows.
func (d *Drainer) stop(ctx context.Context, s *step, pods []*cluster.Pod) {
	if len(pods) > 0 {
		d.memory.occupied(s.node.Name)
	}
	d.endAll(ctx, s, s.ending(pods))
	d.evictAll(ctx, s.node, slices.DeleteFunc(slices.Clone(pods), func(p *cluster.Pod) bool { return s.spares(p) || s.ends(p) }))
}

// evictAll asks for the eviction of each pod whose turn it is. A pod that may not
// go now does not hold up the others.
func (d *Drainer) evictAll(ctx context.Context, n *cluster.Node, pods []*cluster.Pod) {
	pods = slices.DeleteFunc(slices.Clone(pods), func(p *cluster.Pod) bool { return p.State != cluster.PodBound || !d.memory.due(p.UID) })
	if n.Mark().Reason == api.ReasonConsolidation && n.Annotations[api.AnnotationInterrupted] == "" {
		pods = largest(n, pods)
	}
	parallel.Each(podsAtOnce, pods, func(p *cluster.Pod) { d.evict(ctx, n, p) })
}

// largest returns the pod that needs the largest part of its node. Consolidation evicts one pod of
// a node in each pass, the largest first, unless the machine ends within minutes: kube-scheduler spreads their successors, and large ones
// would find no room if small ones came first.
func largest(n *cluster.Node, pods []*cluster.Pod) []*cluster.Pod {
	if len(pods) == 0 {
		return nil
	}
	return []*cluster.Pod{slices.MaxFunc(pods, func(a, b *cluster.Pod) int {
		return cmp.Compare(a.Template.Requests.Share(n.Allocatable), b.Template.Requests.Share(n.Allocatable))
	})}
}

// endAll deletes pods without regard to budgets. What the caches show of one that was asked to stop a moment ago
// may be old.
func (d *Drainer) endAll(ctx context.Context, s *step, pods []*cluster.Pod) {
	pods = slices.DeleteFunc(pods, func(p *cluster.Pod) bool { return p.State == cluster.PodTerminating && !d.memory.due(p.UID) })
	d.eachPod(ctx, pods, func(ctx context.Context, p *cluster.Pod) error { return d.Pods.DeletePod(ctx, p.PodKey, s.within()) })
}

func (d *Drainer) evict(ctx context.Context, n *cluster.Node, p *cluster.Pod) {
	err := d.Pods.Evict(ctx, p.PodKey)
	var blocked *cluster.BlockedError
	switch {
	case err == nil:
		d.memory.accepted(p.UID)
		if n.Mark().Reason == api.ReasonConsolidation {
			d.Metrics.Consolidation.Evictions.WithLabelValues(n.Provisioner).Inc()
		}
		d.Log.Debug("evicted a pod", "pod", p.PodKey.String(), "node", n.Name)
	case errors.As(err, &blocked):
		d.Metrics.EvictionsBlocked.WithLabelValues(n.Provisioner).Inc()
		if !d.memory.refused(p, HeldByBudget, blocked) {
			return
		}
		message := fmt.Sprintf("pod %s: %s", p.PodKey, blocked)
		d.Events.Warning(event.Node(n.Name), event.EvictionBlocked, message)
		d.Events.Warning(event.Pod(p.PodKey), event.EvictionBlocked, message)
	case ctx.Err() == nil && !errors.Is(err, cluster.ErrBusy):
		d.memory.refused(p, HeldByRefusal, err)
		d.Log.Warn("could not evict a pod", "pod", p.PodKey.String(), "node", n.Name, "error", err)
	}
}

// eachPod deletes pods by the given call, and reports whether all deletions were accepted. A pod that
// has changed since it was seen, or whose turn has not come, is looked at again in the next pass, and one that the
// API server refused to delete when it is due again.
func (d *Drainer) eachPod(ctx context.Context, pods []*cluster.Pod, deletion func(context.Context, *cluster.Pod) error) bool {
	var failed atomic.Bool
	parallel.Each(podsAtOnce, pods, func(p *cluster.Pod) {
		if d.memory.denied(p.UID) {
			failed.Store(true)
			return
		}
		err := deletion(ctx, p)
		if err == nil {
			d.memory.accepted(p.UID)
			return
		}
		failed.Store(true)
		if ctx.Err() == nil && !errors.Is(err, cluster.ErrStale) && !errors.Is(err, cluster.ErrBusy) {
			d.memory.refused(p, HeldByRefusal, err)
			d.Log.Warn("could not delete a pod", "pod", p.PodKey.String(), "error", err)
		}
	})
	return !failed.Load()
}
