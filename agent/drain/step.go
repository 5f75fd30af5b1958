package drain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

const (
	// kubeletPatience is how long a kubelet must have been silent until the agent no longer expects
	// it to stop deleted pods.
	kubeletPatience = 5 * time.Minute
	// stuckAfter is how long after the end of its grace period a pod is reported whose kubelet
	// answers, and stuckPatience is how much longer the drain waits for it.
	stuckAfter    = 5 * time.Minute
	stuckPatience = 10 * time.Minute
	// DetachPatience is how long a drain waits for the volumes of a node without pods.
	DetachPatience = 2 * time.Minute
)

// step is a node that is being drained, as seen at one moment. Its methods depend on nothing else.
type step struct {
	node  *cluster.Node
	pods  []*cluster.Pod // that are on the node
	limit time.Duration  // the terminationGracePeriod, see pooled; 0 means no limit
	now   time.Time
	// refused has the UIDs of the pods whose last eviction a PodDisruptionBudget did not allow.
	refused map[string]bool
	// shut is since when the caches have shown the node as closed; zero while they do not. Before that, they may lack pods
	// that the scheduler has bound to it.
	shut time.Time
}

// settled reports whether the node has been closed for long enough that load balancers have taken it out.
func (s *step) settled() bool { return !s.shut.IsZero() && s.now.Sub(s.shut) >= BalancerPatience }

// overdue reports whether pods are deleted instead of evicted, because the Provisioner's
// terminationGracePeriod has passed since the node was deleted.
func (s *step) overdue() bool {
	return s.limit > 0 && !s.node.DeletedAt.IsZero() && !s.now.Before(s.deadline())
}

// pooled reports whether the node was bought for a NodePool. Then its terminationGracePeriod bounds the whole drain,
// as with Karpenter: each pod is deleted early enough for its own grace period, or with what is left of the limit.
func (s *step) pooled() bool { return s.limit > 0 && s.node.OfNodePool() }

// deadline is when the terminationGracePeriod ends.
func (s *step) deadline() time.Time { return s.node.DeletedAt.Add(s.limit) }

// within is how long pods that are deleted may take to stop; 0 means as long as they ask for.
func (s *step) within() time.Duration {
	if !s.pooled() {
		return 0
	}
	return max(s.deadline().Sub(s.now), time.Second)
}

// ending returns the pods that are deleted now, among those that the drain waits for.
func (s *step) ending(next []*cluster.Pod) (out []*cluster.Pod) {
	if s.pooled() {
		next = s.pods
	}
	for _, p := range next {
		if WaitsFor(p, s.node) && s.ends(p) {
			out = append(out, p)
		}
	}
	return out
}

// ends reports whether a pod is deleted now, and not evicted.
func (s *step) ends(p *cluster.Pod) bool {
	switch {
	case !s.pooled() || s.node.DeletedAt.IsZero():
		return s.overdue() && p.State == cluster.PodBound
	case p.State == cluster.PodTerminating: // with a longer grace period, before the drain began or by somebody else
		return p.StopBy.After(s.now.Add(s.within() + cluster.ClockSkew))
	}
	return p.State == cluster.PodBound && p.Grace >= s.deadline().Sub(s.now)
}

// next returns the pods that the drain waits for now: critical pods only when all others are gone.
func (s *step) next() []*cluster.Pod {
	var ordinary, critical []*cluster.Pod
	for _, p := range s.pods {
		switch {
		case !WaitsFor(p, s.node) || s.endsWithMachine(p):
		case p.Template.Critical:
			critical = append(critical, p)
		default:
			ordinary = append(ordinary, p)
		}
	}
	if len(ordinary) == 0 {
		return critical
	}
	return ordinary
}

// spares reports whether the drain waits until a pod ends by itself.
func (s *step) spares(p *cluster.Pod) bool { return !s.overdue() && s.node.Spares(p, s.now) }

// endsWithMachine reports whether the drain no longer waits for a pod. If the kubelet answers, that is long after the
// end of the grace period of a deleted pod, never before it. A pod that was not deleted, because its budget does not
// allow it, may be what its budget lacks: if the kubelet is silent, nothing else would end the drain.
func (s *step) endsWithMachine(p *cluster.Pod) bool {
	if p.State != cluster.PodTerminating {
		return s.refused[p.UID] && s.silentFor() >= kubeletPatience
	}
	patience := stuckAfter + stuckPatience
	if s.overdue() {
		patience = cluster.ClockSkew
	}
	return s.silentFor() >= kubeletPatience || s.late(p) >= patience
}

// silentFor returns for how long the kubelet has been silent.
func (s *step) silentFor() time.Duration {
	if s.node.SilentSince.IsZero() {
		return 0
	}
	return s.now.Sub(s.node.SilentSince)
}

// late returns how long ago the pod's grace period ended. It is negative before that.
func (s *step) late(p *cluster.Pod) time.Duration { return s.now.Sub(p.StopBy) }

// held returns what takes longer than it should.
func (s *step) held() []holdUp {
	var out []holdUp
	for _, p := range s.pods {
		switch {
		case !WaitsFor(p, s.node):
		case s.spares(p):
			out = append(out, s.heldByAnnotation(p))
		case p.State == cluster.PodTerminating:
			if h := s.heldBy(p); h.cause != "" {
				out = append(out, h)
			}
		case s.refused[p.UID] && s.silentFor() > 0:
			out = append(out, s.heldByKubelet(p))
		}
	}
	return out
}

func (s *step) heldByAnnotation(p *cluster.Pod) holdUp {
	text := fmt.Sprintf("pod %s must not be disrupted, so the drain waits for it", p)
	if s.limit > 0 {
		text += " until " + amount.Moment(s.deadline()) + " at most"
	}
	return holdUp{HeldByAnnotation, text, p.PodKey}
}

func (s *step) heldBy(p *cluster.Pod) holdUp {
	ends := "the instance will be terminated at " + amount.Moment(p.StopBy.Add(stuckAfter+stuckPatience)) + " even if the pod is still there"
	if s.endsWithMachine(p) {
		ends = "the instance will be terminated even if the pod is still there"
	}
	switch silent := s.silentFor(); {
	case len(p.Finalizers) > 0 && s.late(p) >= 0:
		return holdUp{HeldByFinalizer, fmt.Sprintf("pod %s should have gone by %s and is held by its finalizer %s; %s",
			p, amount.Moment(p.StopBy), strings.Join(p.Finalizers, ", "), ends), p.PodKey}
	case silent > 0 && silent < kubeletPatience:
		return s.heldByKubelet(p)
	case silent == 0 && s.late(p) >= stuckAfter:
		return holdUp{HeldByPod, fmt.Sprintf("pod %s has not stopped, although its grace period ended at %s; %s", p, amount.Moment(p.StopBy), ends), p.PodKey}
	case s.overdue() && s.late(p) < 0:
		return holdUp{HeldByPod, fmt.Sprintf("terminationGracePeriod ended at %s, but pod %s may take until %s to stop because of its own grace period",
			amount.Moment(s.deadline()), p, amount.Moment(p.StopBy)), p.PodKey}
	}
	return holdUp{}
}

func (s *step) heldByKubelet(p *cluster.Pod) holdUp {
	when := "at " + amount.Clock(s.node.SilentSince.Add(kubeletPatience)) + " "
	if s.endsWithMachine(p) { // the drain waits for something else
		when = ""
	}
	return holdUp{HeldByKubelet, fmt.Sprintf("the kubelet has been silent since %s and cannot stop pod %s; the instance will be terminated %seven if the pod is still there",
		amount.Clock(s.node.SilentSince), p, when), cluster.PodKey{}}
}

// volumesLeft is how many volumes the drain waits for, so that successors can use them at once, on a node that has had no
// pods to stop for so long. Those of pods that stay until the machine is terminated stay attached.
func (s *step) volumesLeft(empty time.Duration) int {
	if empty >= DetachPatience || s.pooled() && s.overdue() {
		return 0
	}
	left := s.node.AttachedVolumes
	for _, p := range s.pods {
		left -= len(p.Template.Claims)
	}
	return max(left, 0)
}

func volumesHeld(n int) string {
	return fmt.Sprintf("its pods are gone, and %d of their volumes are still attached; the drain waits for them for at most %s", n, amount.ShortDuration(DetachPatience))
}

// WaitsFor reports whether a drain of the node evicts the pod and waits until it is gone. It does not if the pod
// would come back, as DaemonSet and static pods do, or if it tolerates one of the taints of a drain: on nodes of
// NodePools also that of Karpenter since 1.0, for which their pods were written.
func WaitsFor(p *cluster.Pod, n *cluster.Node) bool {
	if p.Template.BelongsToNode() {
		return false
	}
	keys := []string{api.TaintDisruption, corev1.TaintNodeUnschedulable}
	if n.OfNodePool() {
		keys = append(keys, api.TaintDisrupted)
	}
	return !slices.ContainsFunc(p.Template.Tolerations, func(t corev1.Toleration) bool {
		return slices.ContainsFunc(keys, func(key string) bool {
			return cluster.Tolerates(&t, &corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
		})
	})
}
