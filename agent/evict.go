package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

const (
	// evictionSettles is how long an accepted eviction may take to show in the caches.
	evictionSettles = 5 * time.Second
	// A refused eviction is tried again after 1 s, then twice as long each time, up to 10 s.
	evictionRetry    = time.Second
	evictionRetryMax = 10 * time.Second
)

// evictAll asks for the eviction of each pod whose turn it is. A pod that may not
// go now does not hold up the others.
func (a *Agent) evictAll(ctx context.Context, n *cluster.Node, pods []*cluster.Pod) {
	var g errgroup.Group
	g.SetLimit(evictsAtOnce)
	for _, p := range pods {
		if p.State == cluster.PodBound && a.drains.due(p.UID) {
			g.Go(func() error {
				a.evict(ctx, n, p)
				return nil
			})
		}
	}
	_ = g.Wait() // evict deals with errors itself
}

// endAll deletes each pod whose turn it is without regard to budgets. It keeps the
// grace period that it asks for itself.
func (a *Agent) endAll(ctx context.Context, pods []*cluster.Pod) {
	pods = slices.DeleteFunc(slices.Clone(pods), func(p *cluster.Pod) bool { return p.State != cluster.PodBound })
	a.deletePods(ctx, pods, cluster.OwnGrace)
}

func (a *Agent) evict(ctx context.Context, n *cluster.Node, p *cluster.Pod) {
	call, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	err := a.cluster.Evict(call, p.PodKey)
	var blocked *cluster.BlockedError
	switch {
	case err == nil:
		a.drains.accepted(p.UID)
		a.log.Debug("evicted a pod", "pod", p.PodKey.String(), "node", n.Name)
	case errors.As(err, &blocked):
		a.drains.refused(p, heldByBudget, blocked)
		a.metrics.blocked.WithLabelValues(n.Provisioner).Inc()
		message := fmt.Sprintf("pod %s: %s", p.PodKey, blocked)
		a.event(nodeRef(n.Name), corev1.EventTypeWarning, eventEvictionBlocked, message)
		a.event(podRef(p.PodKey), corev1.EventTypeWarning, eventEvictionBlocked, message)
	case ctx.Err() == nil:
		a.drains.refused(p, heldByRefusal, err)
		a.log.Warn("evicted no pod", "pod", p.PodKey.String(), "node", n.Name, "error", err)
	}
}

// deletePods deletes pods without regard to budgets, and reports whether all
// deletions were accepted.
func (a *Agent) deletePods(ctx context.Context, pods []*cluster.Pod, grace time.Duration) bool {
	var g errgroup.Group
	g.SetLimit(evictsAtOnce)
	for _, p := range pods {
		g.Go(func() error {
			call, cancel := context.WithTimeout(ctx, clusterTimeout)
			defer cancel()
			if err := a.cluster.DeletePod(call, p.PodKey, grace); err != nil {
				return fmt.Errorf("delete pod %s: %w", p.PodKey, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		if ctx.Err() == nil {
			a.log.Warn("left pods for later", "error", err)
		}
		return false
	}
	return true
}
