// Package surge moves pods of Deployments off a node while the wanted number of pods stays ready. It scales the
// Deployment up by one for each pod that leaves, waits until the new pods are ready, and scales the Deployment back so
// that the ReplicaSet controller removes the pods on the node.
package surge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/nodes"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/parallel"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Cluster is what surge changes besides nodes.
type Cluster interface {
	Deployments
	// Steer makes the owner of a pod, when it shrinks, end the pod before others, as
	// disrupt.Pods does.
	Steer(ctx context.Context, pod cluster.PodKey, grade int) error
}

// Ports are what a Surger works with. All are to be set.
type Ports struct {
	Cluster Cluster
	Nodes   *nodes.Writer
	Events  *event.Recorder
	Metrics *metrics.Metrics
	Log     hclog.Logger
	// Retry is called when something is left for a little later.
	Retry func()
}

// Surger moves pods. Only the planning loop changes anything through it; Cover, Obstacle and Clear may be
// called at the same time. It remembers what has failed, so that it does not try in vain, and what it has scaled
// up, in case somebody removes the record. All that was begun is also in annotations of nodes.
type Surger struct {
	Ports
	pauses *pace.Retries

	mu     sync.Mutex
	failed map[string]failure // by UID of the Deployment: why its pods could not be moved the last time
	grown  map[string]grown   // by UID of the Deployment: those that were scaled up and have a record
	begun  map[string]bool    // by UID of the Deployment: some node has a record of it, or is about to get one
}

// failure is why pods of a Deployment could not be moved.
type failure struct {
	why     string
	refused bool // the API server did not let it be scaled up
}

// grown is what is known of a Deployment that was scaled up.
type grown struct {
	version string // before that
	node    cluster.Node
	record  cluster.Surge
	noted   bool // the caches have shown the record
}

// New returns a Surger.
func New(p Ports) *Surger {
	return &Surger{Ports: p, pauses: pace.Refusals(), failed: map[string]failure{}, grown: map[string]grown{}, begun: map[string]bool{}}
}

// Cover returns the snapshot with what surge does to its pods; see cluster.Pod.Covered. The argument is
// not changed.
func (s *Surger) Cover(in *cluster.Snapshot, provisioners []*api.Provisioner) *cluster.Snapshot {
	return cover(in, provisioners, s.paused)
}

// paused says why pods of a Deployment are not moved for some time; empty if they may be.
func (s *Surger) paused(uid string) string {
	if s.pauses.Due(uid) {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed[uid].why
}

// exportRefused sets the gauge of Deployments that are paused because they could not be scaled up.
func (s *Surger) exportRefused(in *cluster.Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refused := 0
	for i := range in.Deployments {
		if uid := in.Deployments[i].UID; s.failed[uid].refused && !s.pauses.Due(uid) {
			refused++
		}
	}
	s.Metrics.RemovalsRefused.WithLabelValues("deployment").Set(float64(refused))
}

// Obstacle returns why a node cannot go because pods that surge moves could not be moved; empty where
// that is not so.
func (s *Surger) Obstacle(in *cluster.Snapshot, pods []*cluster.Pod) string {
	for _, p := range pods {
		if !p.Covered || p.State != cluster.PodBound {
			continue
		}
		if d := in.Deployment(p.Namespace, p.Deployment()); d != nil && s.paused(d.UID) != "" {
			return fmt.Sprintf("pod %s %s", p, s.paused(d.UID))
		}
	}
	return ""
}

// Clear reports whether all pods of a node that surge moves have left it. Otherwise it starts to move them, except for
// Deployments whose pods are still leaving another node.
func (s *Surger) Clear(ctx context.Context, in *cluster.Snapshot, n *cluster.Node, pods []*cluster.Pod) bool {
	if n.Annotations[api.AnnotationSurging] != "" {
		return false
	}
	left := true
	var begun []cluster.Surge
	for _, p := range pods {
		if !p.Covered || p.State != cluster.PodBound {
			continue
		}
		left = false
		d := in.Deployment(p.Namespace, p.Deployment())
		if d == nil || p.Held != "" {
			continue
		}
		i := slices.IndexFunc(begun, func(r cluster.Surge) bool { return r.Of(d) })
		if i < 0 && !s.begins(in, d) {
			continue
		}
		if i < 0 {
			i = len(begun)
			begun = append(begun, cluster.Surge{
				Namespace: d.Namespace, Deployment: d.Name, UID: d.UID, Replicas: d.Replicas, Since: time.Now().UTC(),
			})
		}
		begun[i].Pods = append(begun[i].Pods, cluster.SurgePod{Name: p.Name, UID: p.UID})
	}
	if len(begun) > 0 {
		c := change(begun)
		c.AddFinalizer = api.Finalizer // without it, the node could go with its records
		s.Nodes.Patch(ctx, n, c)
	}
	return left
}

// begins reports whether no move of the Deployment's pods is under way. If so, it reserves the Deployment for the
// caller, because nodes are processed concurrently.
func (s *Surger) begins(in *cluster.Snapshot, d *cluster.Deployment) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun[d.UID] || underWay(in, d) {
		return false
	}
	s.begun[d.UID] = true
	return true
}

// prune forgets what has no record. A Deployment that was scaled up and whose record somebody has removed would keep
// its extra replicas, so prune scales it back. A record that the caches have not shown yet does not count as removed
// until pace.RefusalPause has passed, because the caches may be behind.
func (s *Surger) prune(ctx context.Context, cached, in *cluster.Snapshot) {
	shown, recorded := withRecord(cached), withRecord(in)
	var lost []grown
	s.mu.Lock()
	s.begun = recorded
	for uid, g := range s.grown {
		g.noted = g.noted || shown[uid]
		s.grown[uid] = g
		if !recorded[uid] && (g.noted || time.Since(g.record.Since) > pace.RefusalPause) {
			lost = append(lost, g)
		}
		s.begun[uid] = true // the caches do not show it scaled back yet
	}
	s.mu.Unlock()
	for _, g := range lost {
		if err := s.undo(ctx, &g.node, &g.record); err != nil {
			s.again(ctx, &g.node, &g.record, err)
			continue
		}
		s.conclude(&g.node, &g.record, step{do: undo})
		s.settled(&g.record)
	}
}

// withRecord returns the UIDs of the Deployments of which some node has a record.
func withRecord(in *cluster.Snapshot) map[string]bool {
	out := map[string]bool{}
	for n := range in.EachNode() {
		for _, r := range records(n) {
			out[r.UID] = true
		}
	}
	return out
}

// settled forgets a Deployment that has been scaled back.
func (s *Surger) settled(r *cluster.Surge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.grown, r.UID)
}

// underWay reports whether pods of a Deployment leave some node.
func underWay(in *cluster.Snapshot, d *cluster.Deployment) bool {
	return slices.ContainsFunc(in.Nodes, func(n cluster.Node) bool {
		return slices.ContainsFunc(records(&n), func(r cluster.Surge) bool { return r.Of(d) })
	})
}

// Tend continues each move that is under way, or undoes it if the node is no longer going to be removed. in must not
// be the result of Cover. cached is the same snapshot without assumed changes.
func (s *Surger) Tend(ctx context.Context, cached, in *cluster.Snapshot, provisioners []*api.Provisioner) {
	s.prune(ctx, cached, in)
	c := newCoverage(in, provisioners)
	pods := sync.OnceValue(in.PodsByNode)
	var noted []cluster.Node
	for _, n := range in.Nodes {
		if n.Annotations[api.AnnotationSurging] != "" {
			noted = append(noted, n)
		}
	}
	parallel.Each(parallel.NodesAtOnce, noted, func(n cluster.Node) {
		if n.Provisioner != "" && len(records(&n)) == 0 {
			s.write(ctx, &n, nil) // nobody else would take off what cannot be read, and it keeps the node
		}
		for _, r := range records(&n) {
			if ctx.Err() == nil && s.tend(ctx, c, &n, pods()[n.Name], &r) && s.write(ctx, &n, slices.DeleteFunc(records(&n), func(o cluster.Surge) bool { return o.UID == r.UID })) {
				s.settled(&r)
			}
		}
	})
	s.exportRefused(in)
}

// write makes these the records of a node, also in the copy that was passed. It reports whether it did.
func (s *Surger) write(ctx context.Context, n *cluster.Node, all []cluster.Surge) bool {
	c := change(all)
	if !s.Nodes.Patch(ctx, n, c) {
		return false // Patch sees to another try, at once or after a pause, unless the node is gone
	}
	c.ApplyTo(n)
	return true
}

// tend takes one record of a node with these pods a step further, and reports whether it is done with.
func (s *Surger) tend(ctx context.Context, c *coverage, n *cluster.Node, pods []*cluster.Pod, r *cluster.Surge) (done bool) {
	now := &state{record: r, now: time.Now(), going: n.Mark().Reason != "" && !n.Deleting}
	if d := c.snapshot.Deployment(r.Namespace, r.Deployment); d != nil && r.Of(d) {
		now.deployment, now.grown, now.covered = d, s.hasGrown(d), c.moves(r, d, pods)
	}
	now.left = staying(r, pods)
	next := next(now)
	err := s.carryOut(ctx, n, now, next.do)
	if next.do == grow && errors.Is(err, cluster.ErrRefused) {
		next = step{do: undo, failed: "could not be scaled up: " + err.Error(), refused: true}
		err = s.undo(ctx, n, r)
	}
	if err != nil {
		s.again(ctx, n, r, err)
		return false
	}
	done = next.do == undo || next.do == forget
	if done {
		s.conclude(n, r, next)
	}
	return done
}

// again requests another attempt. It does not log cluster.ErrStale, because the caches will soon show the current
// state.
func (s *Surger) again(ctx context.Context, n *cluster.Node, r *cluster.Surge, err error) {
	if ctx.Err() != nil {
		return
	}
	if !errors.Is(err, cluster.ErrStale) {
		s.Log.Warn("could not move pods by surge", "deployment", r.String(), "node", n.Name, "error", err)
	}
	s.Retry()
}
