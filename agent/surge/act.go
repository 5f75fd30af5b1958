package surge

import (
	"context"
	"fmt"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

func (s *Surger) carryOut(ctx context.Context, n *cluster.Node, now *state, do action) error {
	r, d := now.record, now.deployment
	switch do {
	case grow:
		return s.grow(ctx, n, r, d)
	case finish:
		r.Back, r.Since = true, now.now.UTC()
		all := records(n)
		for i := range all {
			if all[i].UID == r.UID {
				all[i] = *r
			}
		}
		if !s.write(ctx, n, all) {
			return nil
		}
		return s.shrink(ctx, n, d)
	case shrink:
		return s.shrink(ctx, n, d)
	case undo:
		return s.undo(ctx, n, r)
	case forget:
		return s.steer(ctx, r, 0)
	}
	return nil
}

// grow makes one more pod for each that leaves. The marks come first: from then on the ReplicaSet
// controller ends those that leave before others.
func (s *Surger) grow(ctx context.Context, n *cluster.Node, r *cluster.Surge, d *cluster.Deployment) error {
	if err := s.steer(ctx, r, cluster.GradeSurge); err != nil {
		return err
	}
	if err := s.Cluster.ScaleDeployment(ctx, d, r.More()); err != nil {
		return err
	}
	s.mu.Lock()
	s.grown[d.UID] = grown{version: d.Version, node: *n, record: *r}
	s.mu.Unlock()
	s.Log.Info("scaled a deployment up to move its pods", "deployment", r.String(), "node", n.Name, "replicas", r.More())
	s.Events.Normal(event.Deployment(d), event.Surging,
		fmt.Sprintf("scaled from %d to %d until replacements for its pods on node %s are ready", r.Replicas, r.More(), n.Name))
	return nil
}

func (s *Surger) shrink(ctx context.Context, n *cluster.Node, d *cluster.Deployment) error {
	if err := s.Cluster.ScaleDeployment(ctx, d, d.Before); err != nil {
		return err
	}
	s.scaledBack(n, d)
	return nil
}

// scaledBack says that a Deployment has been scaled back.
func (s *Surger) scaledBack(n *cluster.Node, d *cluster.Deployment) {
	s.Log.Info("scaled a deployment back", "deployment", d.Namespace+"/"+d.Name, "node", n.Name, "from", d.Replicas, "replicas", d.Before)
	s.Events.Normal(event.Deployment(d), event.Surging, fmt.Sprintf("scaled back from %d to %d after surge for its pods on node %s", d.Replicas, d.Before, n.Name))
}

// undo takes back what is still there of what was begun. Without the marks, the ReplicaSet controller
// ends the youngest pods, and before those all that are not ready.
func (s *Surger) undo(ctx context.Context, n *cluster.Node, r *cluster.Surge) error {
	if err := s.steer(ctx, r, 0); err != nil {
		return err
	}
	d, err := scaleBack(ctx, s.Cluster, r)
	if d != nil {
		s.scaledBack(n, d)
	}
	return err
}

// Deployments reads and scales Deployments.
type Deployments interface {
	// Deployment returns a Deployment as it is now, whatever the caches hold; nil if it is gone.
	Deployment(ctx context.Context, namespace, name string) (*cluster.Deployment, error)
	// ScaleDeployment sets how many replicas a Deployment wants. It is cluster.ErrStale if the
	// Deployment has changed since it was read, or is gone, and cluster.ErrRefused if the API server
	// refuses to scale it, which has no effect.
	ScaleDeployment(ctx context.Context, d *cluster.Deployment, replicas int) error
}

// Undo scales the Deployments back that were scaled up for the pods of a node, unless somebody else has
// scaled them since. The caller takes the marks off the pods before, and the record off the node afterwards.
func Undo(ctx context.Context, c Deployments, n *cluster.Node) error {
	for _, r := range records(n) {
		if _, err := scaleBack(ctx, c, &r); err != nil {
			return err
		}
	}
	return nil
}

// scaleBack reads the Deployment from the API server and not from the caches, because nothing scales it back once the
// record is gone. It sends no request if the Deployment has not been scaled up: an agent without the permission to
// scale cannot have scaled it. How many replicas there were is what the Deployment says: a kubelet may write any
// number to a record. It returns the Deployment as it was if it has scaled it.
func scaleBack(ctx context.Context, c Deployments, r *cluster.Surge) (*cluster.Deployment, error) {
	d, err := c.Deployment(ctx, r.Namespace, r.Deployment)
	if err != nil || d == nil || !r.MayUndo(d) {
		return nil, err
	}
	if err := c.ScaleDeployment(ctx, d, d.Before); err != nil {
		return nil, err
	}
	return d, nil
}

// steer marks the pods that leave, or takes the marks off.
func (s *Surger) steer(ctx context.Context, r *cluster.Surge, grade int) error {
	for _, p := range r.Pods {
		if err := s.Cluster.Steer(ctx, cluster.PodKey{Namespace: r.Namespace, Name: p.Name, UID: p.UID}, grade); err != nil {
			return err
		}
	}
	return nil
}

// conclude says what has come of a record that is done with.
func (s *Surger) conclude(n *cluster.Node, r *cluster.Surge, last step) {
	outcome := metrics.SurgeUndone
	switch {
	case last.moved:
		outcome = metrics.SurgeMoved
		s.pauses.Succeeded(r.UID)
	case last.failed != "":
		outcome = metrics.SurgeFailed
		s.pauses.Failed(r.UID)
	}
	s.mu.Lock()
	s.failed[r.UID] = failure{"was not moved because its Deployment " + last.failed, last.refused}
	if last.failed == "" {
		delete(s.failed, r.UID)
	}
	s.mu.Unlock()
	s.Metrics.Surges.WithLabelValues(n.Provisioner, outcome).Inc()
	if last.failed == "" {
		s.Log.Info("ended a surge", "deployment", r.String(), "node", n.Name, "outcome", outcome)
		return
	}
	s.Log.Warn("gave up a surge", "deployment", r.String(), "node", n.Name, "reason", last.failed)
	ref := event.Deployment(&cluster.Deployment{Namespace: r.Namespace, Name: r.Deployment, UID: r.UID})
	s.Events.Warning(ref, event.SurgeFailed, fmt.Sprintf("its pods on node %s are not moved: it %s", n.Name, last.failed))
}

// hasGrown reports whether this process has scaled the Deployment up and d was read after that.
func (s *Surger) hasGrown(d *cluster.Deployment) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.grown[d.UID]
	return ok && g.version != d.Version
}
