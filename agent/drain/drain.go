// Package drain drains nodes that are being deleted, terminates their machines and removes the
// finalizer from their Node objects. docs/operations.md says what a drain waits for.
package drain

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/nodes"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/parallel"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

const (
	pollEvery = time.Second
	// leastPause is the least time between two passes, so that one pass handles several changes.
	leastPause = 100 * time.Millisecond
	// stepPatience is how long a pass waits for its steps. An eviction takes long if a webhook hangs.
	stepPatience = time.Second
	// ExcludeFromBalancers keeps load balancers from sending new connections.
	ExcludeFromBalancers = "node.kubernetes.io/exclude-from-external-load-balancers"
	// BalancerPatience is how long a machine runs at least after that, so that load balancers can take its node out:
	// even a node without pods passes connections on to pods of other nodes. Cluster Autoscaler waits as long
	// (--node-delete-delay-after-taint).
	BalancerPatience = 5 * time.Second

	podsAtOnce = 16 // of one node
)

// Taint keeps new pods off a node that is being drained.
var Taint = corev1.Taint{Key: api.TaintDisruption, Effect: corev1.TaintEffectNoSchedule}

// Unchosen is the change after which a node that was chosen to go, and is not drained yet, takes pods again.
var Unchosen = cluster.NodeChange{
	RemoveAnnotations: []string{api.AnnotationDisruption, api.AnnotationReplacedBy, api.AnnotationDisruptedAt, api.AnnotationDisruptedWith, api.AnnotationEmptiness},
	RemoveTaints:      []corev1.Taint{Taint},
}

// Cluster is what a drain reads.
type Cluster interface {
	// Snapshot returns the cluster as the caches hold it, sorted.
	Snapshot() *cluster.Snapshot
	Provisioners() []*api.Provisioner
	nodes.Reader
}

// Pods stops pods. Its methods fail with cluster.ErrBusy if a request was not sent because of the number of others.
type Pods interface {
	// Evict returns a *cluster.BlockedError while a disruption budget forbids it. A
	// pod that is gone is no error.
	Evict(ctx context.Context, pod cluster.PodKey) error
	// DeletePod deletes a pod without regard to disruption budgets, with the time to stop that
	// it asks for, or with this time if it is not 0. A pod that is gone is no error.
	DeletePod(ctx context.Context, pod cluster.PodKey, within time.Duration) error
	// RemovePod deletes a pod at once. It fails with cluster.ErrStale if the pod has changed
	// since it was seen. A pod that is gone is no error.
	RemovePod(ctx context.Context, seen *cluster.Pod) error
}

// Machines terminates instances.
type Machines interface {
	// Terminate returns the ids of the instances that are being terminated or already gone.
	Terminate(ctx context.Context, ids []string) (gone []string, err error)
}

// Inventory knows the cloud's instances.
type Inventory interface {
	// Known returns the snapshot, corrected by what the agent knows better than its caches.
	Known(seen *cluster.Snapshot) *cluster.Snapshot
	// InstanceEnded reports whether the cloud says that the instance of a node has ended. That it does not
	// know the instance is not enough.
	InstanceEnded(providerID string) bool
	// InstanceStopped reports whether the cloud says that an instance is stopped. Somebody may start it again.
	InstanceStopped(providerID string) bool
	// InstanceNew reports whether answers of the cloud may still lack an instance that runs, because it is new.
	InstanceNew(providerID string) bool
	// InstanceGone reports whether the cloud says so, or does not know the instance of a node that is not ready.
	InstanceGone(providerID string) bool
	// Untagged reports whether an instance has lost the tags of the cluster. The agent does not
	// terminate instances without them.
	Untagged(id string) bool
	// Terminated notes that the agent has terminated an instance, and whether the cloud has
	// confirmed it.
	Terminated(id string, confirmed bool)
}

// Ports are what a Drainer works with. All are to be set.
type Ports struct {
	Cluster   Cluster
	Pods      Pods
	Nodes     *nodes.Writer
	Machines  Machines
	Inventory Inventory
	Events    *event.Recorder
	Metrics   *metrics.Metrics
	Log       hclog.Logger
	// Wake has a token when something that draining depends on has changed.
	Wake <-chan struct{}
	// Drained is called when the finalizer was removed from a Node object.
	Drained func(n *cluster.Node)
}

// Drainer drains nodes.
type Drainer struct {
	Ports
	memory       memory
	terminations *pace.Retries // failed terminations, by instance id
	patches      *pace.Retries // failed changes, by node
	concluding   sync.Mutex    // held while machines of drained nodes are terminated
	steps        sync.Map      // names of the nodes of which a step runs
	background   sync.WaitGroup
}

// New returns a Drainer.
func New(p Ports) *Drainer {
	p.Pods = newLimited(p.Pods)
	return &Drainer{Ports: p, memory: newMemory(), terminations: pace.NewRetries(time.Second, time.Minute), patches: pace.NewRetries(time.Second, 10*time.Second)}
}

// Run drains nodes until the context ends: when something changes, each second while nodes are being
// drained, and after each interval.
func (d *Drainer) Run(ctx context.Context, interval time.Duration) error {
	defer d.background.Wait()
	for {
		idle := interval
		if d.pass(ctx) > 0 {
			idle = pollEvery
		}
		if err := pace.Sleep(ctx, pace.BackOff(d.memory.thought, leastPause)); err != nil {
			return err
		}
		timer := time.NewTimer(idle)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-d.Wake:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// HeldUp says what holds up each node that is being drained, by its name.
func (d *Drainer) HeldUp() map[string]string { return d.memory.held.words() }

// pass takes one step with each node that is being deleted, and returns how many they are.
func (d *Drainer) pass(ctx context.Context) int {
	began := time.Now()
	defer func() { d.Metrics.DrainPassSeconds.Observe(time.Since(began).Seconds()) }()
	seen := d.Cluster.Snapshot()
	s := d.Inventory.Known(seen)
	var leaving []*cluster.Node
	for n := range s.EachNode() {
		switch {
		case !n.Deleting || n.Provisioner == "":
		case n.HeldBy(api.Finalizer) && d.memory.wasLetGo(n): // the caches do not show it yet
		case n.HeldBy(api.Finalizer):
			leaving = append(leaving, n)
		case len(n.Finalizers) > 0:
			d.memory.held.note(n.Name, holdUp{cause: HeldByNode, text: "the Node object waits for the finalizer " + strings.Join(n.Finalizers, ", ") + " of another program"})
		}
	}
	d.memory.keep(leaving, s)
	shut := d.memory.shutSince(closedNodes(seen))
	d.memory.thought = time.Since(began)
	if len(leaving) == 0 {
		d.reportHeldUp(s)
		return 0
	}
	pods, limits, refused := s.PodsByNode(), d.drainLimits(), d.memory.refusedByBudgets()
	drained := d.takeSteps(leaving, func(n *cluster.Node) (*step, bool) {
		next := step{node: n, pods: pods[n.Name], limit: limitOf(n, limits), now: time.Now(), refused: refused, shut: shut[n.Name]}
		return &next, !d.restore(ctx, s, n, next.pods) && d.drain(ctx, &next)
	})
	d.conclude(ctx, drained)
	d.reportHeldUp(s)
	return len(leaving)
}

// takeSteps takes a step with each node, and returns the steps after which a node is drained. A step that
// takes long goes on beside the next passes, which leave its node out, so that it does not hold up other nodes. The
// order changes: where pods wait for their turn, the first nodes do not always come before the others.
func (d *Drainer) takeSteps(leaving []*cluster.Node, take func(*cluster.Node) (s *step, drained bool)) []*step {
	rand.Shuffle(len(leaving), func(i, j int) { leaving[i], leaving[j] = leaving[j], leaving[i] })
	var mu sync.Mutex
	var drained []*step
	done := make(chan struct{})
	d.background.Go(func() {
		defer close(done)
		parallel.Each(parallel.NodesAtOnce, leaving, func(n *cluster.Node) {
			if _, runs := d.steps.LoadOrStore(n.Name, true); runs {
				return
			}
			defer d.steps.Delete(n.Name)
			if s, isDrained := take(n); isDrained {
				mu.Lock()
				defer mu.Unlock()
				drained = append(drained, s)
			}
		})
	})
	timer := time.NewTimer(stepPatience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(drained)
}

// runs reports whether a step of the node runs.
func (d *Drainer) runs(node string) bool {
	_, runs := d.steps.Load(node)
	return runs
}

// reportHeldUp sends events to nodes and pods about drains that take longer than they should. An
// eviction that a disruption budget forbids has its own event.
func (d *Drainer) reportHeldUp(s *cluster.Snapshot) {
	d.memory.noteRefusals()
	for _, h := range d.memory.held.endPass(time.Now(), d.runs) {
		if h.cause == HeldByBudget {
			continue
		}
		d.Log.Warn("waited longer than usual to drain a node", "node", h.node, "cause", string(h.cause), "message", h.text)
		d.Events.Warning(event.Node(h.node), event.DrainHeldUp, h.text)
		if h.pod.UID != "" {
			d.Events.Warning(event.Pod(h.pod), event.DrainHeldUp, h.text)
		}
	}
	d.exportHeldUp(s)
}

// exportHeldUp sets the gauges of drains that take longer than they should.
func (d *Drainer) exportHeldUp(s *cluster.Snapshot) {
	defer d.Metrics.Together()()
	d.Metrics.DrainsHeldUp.Reset()
	d.Metrics.HeldUpSeconds.Reset()
	type labels struct{ provisioner, cause string }
	longest := map[labels]time.Duration{}
	for _, c := range d.memory.held.causes() {
		if n := s.Node(c.node); n != nil {
			by := labels{n.Provisioner, string(c.cause)}
			longest[by] = max(longest[by], time.Since(c.since))
			d.Metrics.DrainsHeldUp.WithLabelValues(by.provisioner, by.cause).Inc()
			d.Metrics.HeldUpSeconds.WithLabelValues(by.provisioner, by.cause).Set(longest[by].Seconds())
		}
	}
}

// drain takes one step with a node and reports whether it is drained as far as the caches show.
func (d *Drainer) drain(ctx context.Context, s *step) bool {
	n := s.node
	closings := d.memory.closingsOf(n.Name)
	if open := !closed(n) || closings == 0 && !n.Unschedulable; open && !d.closeNode(ctx, n) {
		d.memory.held.note(n.Name, holdUp{cause: HeldByNode, text: "the node could not be tainted and cordoned"})
		return false
	}
	if closings > 1 && !s.settled() {
		d.memory.held.note(n.Name, holdUp{cause: HeldByNode, text: reopened})
	}
	if d.hasStopped(n) {
		return true // its pods are removed once its termination keeps anybody from starting it, and them, again
	}
	ended := d.Inventory.InstanceEnded(n.ProviderID)
	if !ended && s.shut.IsZero() && !hadKubelet(n, s.pods) {
		return false // its kubelet may have started since; the caches show that once they show the taint
	}
	// If no kubelet can stop the pods, they are deleted so that their controllers can replace them.
	switch {
	case ended:
		return d.removeEnded(ctx, s.pods) || heldByOthers(n) // see removeEndedPods
	case !hadKubelet(n, s.pods):
		return d.eachPod(ctx, s.pods, d.Pods.RemovePod)
	}
	next := s.next()
	d.stop(ctx, s, next)
	for _, h := range s.held() {
		d.memory.held.note(n.Name, h)
	}
	if len(next) > 0 || s.shut.IsZero() {
		return false
	}
	if left := s.volumesLeft(d.memory.emptySince(n.Name)); left > 0 {
		d.memory.held.note(n.Name, holdUp{cause: HeldByVolume, text: volumesHeld(left)})
		return false
	}
	return s.settled()
}

// reopened says why a node has been closed more than once.
const reopened = "another program keeps removing the taint " + api.TaintDisruption + " or the label " + ExcludeFromBalancers + ", without which the node takes pods or connections"

// closed reports whether the node takes no new pods that the drain would wait for, and no connections. The taint is enough
// for that: a node that somebody uncordons again is not cordoned again.
func closed(n *cluster.Node) bool {
	tainted := slices.ContainsFunc(n.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&Taint) })
	return tainted && n.Labels[ExcludeFromBalancers] != ""
}

func closedNodes(s *cluster.Snapshot) map[string]bool {
	out := map[string]bool{}
	for n := range s.EachNode() {
		if n.Deleting && closed(n) {
			out[n.Name] = true
		}
	}
	return out
}

// closeNode closes a node.
func (d *Drainer) closeNode(ctx context.Context, n *cluster.Node) bool {
	done := d.patch(ctx, n, cluster.NodeChange{
		SetLabels: map[string]string{ExcludeFromBalancers: "true"},
		AddTaints: []corev1.Taint{Taint},
		Cordon:    ptr.To(true),
	})
	if done && d.memory.closedAgain(n.Name) == 1 {
		d.Log.Info("began to drain a node", "node", n.Name, "provisioner", n.Provisioner)
		d.Events.Normal(event.Node(n.Name), event.Draining, "the node's pods are being evicted")
	}
	return done
}

// patch changes a node, and reports whether it did. It does not try again at once what has failed.
func (d *Drainer) patch(ctx context.Context, n *cluster.Node, change cluster.NodeChange) bool {
	if !d.patches.Due(n.Name) {
		return false
	}
	if !d.Nodes.Patch(ctx, n, change) {
		d.patches.Failed(n.Name)
		return false
	}
	d.patches.Succeeded(n.Name)
	return true
}

// hasStopped reports whether the machine of a node is stopped, so that no kubelet stops its pods. A node that is ready has been
// started again.
func (d *Drainer) hasStopped(n *cluster.Node) bool {
	return !n.Ready && d.Inventory.InstanceStopped(n.ProviderID)
}

// hadKubelet reports whether a kubelet has ever run on the node. A kubelet that fell silent before the
// node was initialized is known by the pods that it has started.
func hadKubelet(n *cluster.Node, pods []*cluster.Pod) bool {
	return n.Ready || n.Initialized || slices.ContainsFunc(pods, func(p *cluster.Pod) bool { return p.Running })
}

// drainLimits are the terminationGracePeriods of the Provisioners that can be read, by name; 0 means no limit. One
// that is being deleted and has no limit is left out: Terraform can no longer set one. So is a NodePool with an error
// and no limit, which may have one that cannot be read.
func (d *Drainer) drainLimits() map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, p := range d.Cluster.Provisioners() {
		if d := p.Spec.Disruption; d != nil && d.TerminationGracePeriod != nil {
			out[p.Name] = max(d.TerminationGracePeriod.Duration, 1)
		} else if p.DeletionTimestamp == nil && (p.Source == nil || len(p.Source.Unsupported) == 0) {
			out[p.Name] = 0
		}
	}
	return out
}

// limitOf is how long the drain of a node may wait for evictions; if it was bought for a NodePool, how long the
// drain may take. If the Provisioner is gone, as a NodePool is once it is deleted, or cannot be read, or is being
// deleted and has no limit, what the node carries applies.
func limitOf(n *cluster.Node, limits map[string]time.Duration) time.Duration {
	if limit, known := limits[n.Provisioner]; known {
		return limit
	}
	limit, err := time.ParseDuration(n.Annotations[api.AnnotationGracePeriod])
	if err != nil || limit < 0 {
		return 0
	}
	return max(limit, 1)
}
