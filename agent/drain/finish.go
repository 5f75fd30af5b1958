package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/parallel"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// conclude finishes drained nodes beside the passes: a cloud that hangs must not hold up the evictions of
// other nodes. It does so for one batch at a time.
func (d *Drainer) conclude(ctx context.Context, drained []*step) {
	if len(drained) == 0 {
		return
	}
	if !d.concluding.TryLock() {
		for _, each := range drained {
			d.waitForCloud(each.node)
		}
		return
	}
	d.background.Go(func() {
		defer d.concluding.Unlock()
		d.finish(ctx, d.onlyNode(ctx, d.vacant(ctx, drained)))
	})
}

// vacant returns the nodes on which the API server, too, knows no pod that the drain waits for. The
// caches of pods can be older than those of nodes, and lack pods that the scheduler has bound. It evicts
// those. A node whose machine could not be terminated a moment ago is not looked at yet.
func (d *Drainer) vacant(ctx context.Context, drained []*step) []*cluster.Node {
	var mu sync.Mutex
	var out []*cluster.Node
	parallel.Each(parallel.NodesAtOnce, drained, func(s *step) {
		switch {
		case !d.terminations.Due(s.node.InstanceID()):
			d.waitForCloud(s.node)
		case d.isVacant(ctx, *s):
			mu.Lock()
			defer mu.Unlock()
			out = append(out, s.node)
		}
	})
	return out
}

func (d *Drainer) isVacant(ctx context.Context, s step) bool {
	if d.Inventory.InstanceEnded(s.node.ProviderID) {
		return true
	}
	if !d.readAgain(ctx, &s) {
		return false
	}
	if d.hasStopped(s.node) {
		return true
	}
	if !hadKubelet(s.node, s.pods) {
		return d.eachPod(ctx, s.pods, d.Pods.RemovePod)
	}
	next := s.next()
	if len(next) > 0 {
		d.stop(ctx, &s, next)
		d.memory.held.note(s.node.Name, holdUp{cause: HeldByNode, text: fmt.Sprintf("the API server knows pod %s on it, which the caches do not show yet", next[0])})
	}
	return len(next) == 0
}

// readAgain refreshes a step, and reports whether it could.
func (d *Drainer) readAgain(ctx context.Context, s *step) bool {
	err := d.refresh(ctx, s)
	if err != nil && ctx.Err() == nil {
		d.Log.Warn("could not read a node and its pods", "node", s.node.Name, "error", err)
		d.memory.held.note(s.node.Name, holdUp{cause: HeldByNode, text: "the node and its pods could not be read from the API server"})
	}
	return err == nil
}

// refresh reads the pods of a node from the API server and, if its kubelet has been silent or its machine stopped, whether
// it answers again.
func (d *Drainer) refresh(ctx context.Context, s *step) error {
	pods, err := d.Cluster.PodsOn(ctx, s.node.Name)
	if err != nil {
		return err
	}
	s.pods = nil
	for i := range pods {
		s.pods = append(s.pods, &pods[i])
	}
	if s.node.SilentSince.IsZero() && !d.hasStopped(s.node) {
		return nil
	}
	ready, err := d.Cluster.NodeReady(ctx, s.node.Name)
	if ready {
		answers := *s.node
		answers.Ready, answers.SilentSince, answers.UnreadySince = true, time.Time{}, time.Time{}
		s.node = &answers
	}
	return err
}

// onlyNode returns the drained nodes whose machine has no other Node object. A machine whose kubelet
// has registered under another name has two, and both are drained before it is terminated. The snapshot
// of the pass is too old to tell: the API server may have been slow since, or the process stopped.
func (d *Drainer) onlyNode(ctx context.Context, drained []*cluster.Node) []*cluster.Node {
	machines, itself := map[string]bool{}, map[string]bool{}
	for _, d := range drained {
		machines[d.ProviderID], itself[d.Name] = true, true
	}
	occupied := map[string]string{}
	s := d.Inventory.Known(d.Cluster.Snapshot())
	for n := range s.EachNode() {
		if n.ProviderID == "" || itself[n.Name] || !machines[n.ProviderID] {
			continue
		}
		occupied[n.ProviderID] = n.Name
		if !n.Deleting {
			d.Nodes.Drain(ctx, n)
		}
	}
	return slices.DeleteFunc(drained, func(n *cluster.Node) bool {
		other := occupied[n.ProviderID]
		if other != "" {
			d.memory.held.note(n.Name, holdUp{cause: HeldByMachine, text: "node " + other + " is on the same instance and is drained first"})
		}
		return other != ""
	})
}

// finish terminates the machines of drained nodes. Once the cloud has confirmed a termination, it
// removes the finalizer from the Node object.
func (d *Drainer) finish(ctx context.Context, drained []*cluster.Node) {
	gone := d.terminate(ctx, drained)
	parallel.Each(parallel.NodesAtOnce, drained, func(n *cluster.Node) {
		switch id := n.InstanceID(); {
		case !gone[id]:
			d.waitForCloud(n)
		case n.Annotations[api.AnnotationSurging] != "":
			d.memory.held.note(n.Name, holdUp{cause: HeldByNode, text: "Deployments that were scaled up for its pods are scaled back first"})
		case !d.removeEndedPods(ctx, n): // the next pass tries again
		case !d.letNodeGo(ctx, n):
			d.memory.held.note(n.Name, holdUp{cause: HeldByNode, text: "the finalizer " + api.Finalizer + " could not be removed from the node"})
		}
	})
}

// heldByOthers reports whether another program holds a node, too.
func heldByOthers(n *cluster.Node) bool { return len(n.Finalizers) > 1 }

// removeEndedPods removes the pods that end with the machine of a node which another program holds, and reports whether the node may
// be let go. Kubernetes does so only once the Node object has gone: until then, their owners would count them, and make no
// others. While the machine shuts down, the pods still run: a StatefulSet would make a second one of the same name.
func (d *Drainer) removeEndedPods(ctx context.Context, n *cluster.Node) bool {
	if !heldByOthers(n) {
		return true
	}
	s := step{node: n}
	if !d.readAgain(ctx, &s) {
		return false
	}
	pods := slices.DeleteFunc(s.pods, func(p *cluster.Pod) bool { return p.Template.BelongsToNode() })
	if len(pods) > 0 && n.ProviderID != "" && !d.Inventory.InstanceGone(n.ProviderID) {
		d.memory.held.note(n.Name, holdUp{cause: HeldByMachine, text: "pods that end with instance " + n.InstanceID() + " are removed once it has ended"})
		return false
	}
	return d.removeEnded(ctx, pods)
}

// removeEnded removes the pods of a machine that has ended, and reports whether the node may be let go. Pods that the API
// server refuses to delete do not hold it: it would count towards limits and keep its Provisioner, and Kubernetes removes
// the pods of a node that has gone.
func (d *Drainer) removeEnded(ctx context.Context, pods []*cluster.Pod) bool {
	var again atomic.Bool // in the next pass
	d.eachPod(ctx, pods, func(ctx context.Context, p *cluster.Pod) error {
		err := d.Pods.RemovePod(ctx, p)
		if errors.Is(err, cluster.ErrStale) || errors.Is(err, cluster.ErrBusy) {
			again.Store(true)
		}
		return err
	})
	return !again.Load()
}

// terminate terminates the machines of nodes, and returns those instances that are being terminated.
func (d *Drainer) terminate(ctx context.Context, drained []*cluster.Node) map[string]bool {
	gone := map[string]bool{"": true} // a node without a provider id has no machine
	var ids []string
	for _, n := range drained {
		if id := n.InstanceID(); id != "" {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return gone
	}
	slices.Sort(ids)
	confirmed, err := d.Machines.Terminate(ctx, ids)
	if err != nil && ctx.Err() == nil {
		d.Metrics.Failed("Terminate")
		d.Log.Error("could not terminate instances", "instances", len(ids), "instance", ids[0], "error", err)
	}
	for _, id := range confirmed {
		gone[id] = true
	}
	for _, n := range drained {
		if err != nil && ctx.Err() == nil && !gone[n.InstanceID()] {
			d.memory.denies(n, err)
		}
	}
	for _, id := range ids {
		switch {
		case gone[id]:
			d.terminations.Succeeded(id)
			d.Inventory.Terminated(id, true)
		case ctx.Err() == nil:
			d.terminations.Failed(id)
			d.Inventory.Terminated(id, false)
		}
	}
	return gone
}

// waitForCloud notes why the machine of a drained node has not been terminated.
func (d *Drainer) waitForCloud(n *cluster.Node) {
	id := n.InstanceID()
	text := "its pods are gone, and AWS has not yet confirmed that instance " + id + " is terminating"
	if why := d.memory.denial(n.Name); why != "" {
		text += "; its last answer: " + why
	}
	if d.Inventory.Untagged(id) {
		text = "its pods are gone, but instance " + id + " has lost the tags of the cluster, without which it is not terminated: put them back, or terminate it"
	}
	d.memory.held.note(n.Name, holdUp{cause: HeldByMachine, text: text})
}

// letNodeGo removes the finalizer. If another program holds the node, it keeps neither its Provisioner nor whoever waits
// for that.
func (d *Drainer) letNodeGo(ctx context.Context, n *cluster.Node) bool {
	if !d.patch(ctx, n, cluster.NodeChange{RemoveFinalizer: api.Finalizer, FreeOwners: true}) {
		return false
	}
	took := d.memory.since(n.Name)
	d.memory.letGo(n)
	d.Metrics.Drained(n.Provisioner, took)
	d.Log.Info("terminated a node", "node", n.Name, "provisioner", n.Provisioner, "instance", n.InstanceID(),
		"drain_seconds", took.Seconds())
	d.Events.Normal(event.Node(n.Name), event.Terminated,
		fmt.Sprintf("instance %s is terminating", n.InstanceID()))
	d.Drained(n)
	return true
}
