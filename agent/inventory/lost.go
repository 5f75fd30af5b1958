package inventory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/drain"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/parallel"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// letGo deletes the nodes whose instance is gone, and returns their provider ids, each with whether the cloud
// says so. An instance that the cloud no longer lists may only have lost its tags, so the agent looks it up by
// its id first. A node without a launch id may be another program's. If it has lost its launch id, that is put
// back, but not on a node that is already being drained. It does not delete again what has just been closed.
func (inv *Inventory) letGo(ctx context.Context, v *view.View, instances []offer.Instance, closed []endingNode) map[string]bool {
	listed, missing := make(map[string]offer.Instance, len(instances)), map[string]bool{}
	for _, i := range instances {
		listed[i.ProviderID] = i
	}
	var unlisted []*cluster.Node
	for n := range v.Snapshot.EachNode() {
		drained := n.Deleting && n.HeldBy(api.Finalizer)
		counted := n.Provisioner != "" && (drained || n.Annotations[api.AnnotationLaunchID] != "")
		ours := counted || n.Deleting && inv.InstanceGone(n.ProviderID) // see Counted
		switch known, there := listed[n.ProviderID]; {
		case there && ours && known.State == offer.StateGone:
			missing[n.ProviderID] = true
		case !there && ours && n.ProviderID != "":
			unlisted = append(unlisted, n)
		}
	}
	ended, unknown := inv.untraceable(ctx, unlisted)
	for _, n := range unknown {
		missing[n.ProviderID] = false
	}
	for _, n := range ended {
		missing[n.ProviderID] = true
	}
	gone := v.Snapshot.NodesThat(func(n *cluster.Node) bool {
		_, is := missing[n.ProviderID]
		return is && !n.Deleting && !slices.ContainsFunc(closed, func(e endingNode) bool { return e.Node == n })
	})
	parallel.Each(parallel.NodesAtOnce, gone, func(n *cluster.Node) {
		if inv.Nodes.Delete(ctx, n) {
			inv.Log.Info("removed a node whose instance is gone", "node", n.Name, "provider_id", n.ProviderID)
			inv.Events.Warning(event.Node(n.Name), event.InstanceGone, "the instance no longer exists")
		}
	})
	return missing
}

// untraceable returns the nodes whose instances have ended, and those whose instances the cloud does not know
// by their ids either; if it cannot be asked, those that it did not know before. It puts back the tags of the
// other instances.
func (inv *Inventory) untraceable(ctx context.Context, nodes []*cluster.Node) (ended, unknown []*cluster.Node) {
	found, err := inv.find(ctx, nodes)
	if err != nil {
		return nil, slices.DeleteFunc(slices.Clone(nodes), func(n *cluster.Node) bool { return !inv.InstanceGone(n.ProviderID) })
	}
	for _, n := range nodes {
		if i, there := found[n.InstanceID()]; !there {
			unknown = append(unknown, n)
		} else if i.Runs() {
			inv.there(n)
		}
	}
	ready := inv.readyOnes(ctx, unknown)
	unknown = slices.DeleteFunc(unknown, func(n *cluster.Node) bool { return ready[n.ProviderID] })
	since := inv.unknownSince(unknown)
	unknown = slices.DeleteFunc(unknown, func(n *cluster.Node) bool { return time.Since(since[n.ProviderID]) < offer.ListingLag })
	untagged := map[string]bool{}
	var stopping []endingNode
	var lost []*cluster.Node
	for _, n := range nodes {
		switch i, there := found[n.InstanceID()]; {
		case !there:
		case i.State == offer.StateGone:
			ended = append(ended, n)
		case !i.Runs():
			stopping = append(stopping, endingNode{n, i})
		case !i.Owned:
			untagged[i.ID] = true
			lost = append(lost, n)
		}
	}
	parallel.Each(parallel.NodesAtOnce, lost, func(n *cluster.Node) {
		i := found[n.InstanceID()]
		i.Provisioner, i.LaunchID = n.Provisioner, n.Annotations[api.AnnotationLaunchID]
		inv.retag(ctx, n.Name, i)
	})
	inv.close(ctx, stopping)
	inv.noteUntagged(untagged)
	return ended, unknown
}

// find looks the instances of nodes up by their ids.
func (inv *Inventory) find(ctx context.Context, nodes []*cluster.Node) (map[string]offer.Instance, error) {
	found := map[string]offer.Instance{}
	if len(nodes) == 0 {
		return found, nil
	}
	ids := make([]string, len(nodes))
	for i, n := range nodes {
		ids[i] = n.InstanceID()
	}
	instances, err := inv.Listing.Find(ctx, ids)
	if err != nil && ctx.Err() == nil {
		inv.Metrics.Failed("Find")
		inv.Log.Error("could not look up instances by id", "instances", len(ids), "instance", ids[0], "error", err)
	}
	for _, i := range instances {
		found[i.ID] = i
	}
	return found, err
}

// readyOnes returns the provider ids of those instances which run, because the API server knows a node of
// theirs that is ready; the caches may be too old to show it. An instance may have two nodes: one that was
// expected, and one under the name that its kubelet has registered. What cannot be read is taken for ready.
func (inv *Inventory) readyOnes(ctx context.Context, unknown []*cluster.Node) map[string]bool {
	var mu sync.Mutex
	ready := map[string]bool{}
	example := ""
	parallel.Each(parallel.NodesAtOnce, unknown, func(n *cluster.Node) {
		is, err := inv.Reader.NodeReady(ctx, n.Name)
		if err != nil && ctx.Err() == nil {
			inv.Log.Warn("could not read a node whose instance AWS does not know", "node", n.Name, "error", err)
		}
		mu.Lock()
		defer mu.Unlock()
		if is {
			inv.there(n)
			example = max(example, n.Name)
		}
		if is || err != nil {
			ready[n.ProviderID] = true
		}
	})
	if example != "" {
		inv.Log.Warn("kept nodes that are ready although AWS does not know their instances", "node", example, "instances", len(ready))
	}
	return ready
}

// retag puts the tags of an instance back, and reports whether it did. If that fails, it reports an event on the
// node: the machine keeps running, but the agent cannot terminate it.
func (inv *Inventory) retag(ctx context.Context, node string, i offer.Instance) bool {
	if !inv.retags.Due(i.ID) {
		return false
	}
	if err := inv.Machines.Retag(ctx, i); err != nil {
		if ctx.Err() == nil {
			inv.retags.Failed(i.ID)
			inv.Metrics.Failed("Retag")
			inv.Log.Error("could not restore the tags of an instance", "node", node, "instance", i.ID, "error", err)
			inv.Events.Warning(event.Node(node), event.TagsLost, fmt.Sprintf("instance %s: %s", i.ID, err))
		}
		return false
	}
	inv.retags.Succeeded(i.ID)
	inv.Log.Info("restored the tags of an instance", "node", node, "instance", i.ID)
	inv.Events.Warning(event.Node(node), event.TagsLost,
		fmt.Sprintf("instance %s had lost tags of the agent, which were put back", i.ID))
	return true
}

// relaunch puts the tags back of instances that have lost their launch ids or the names of their Provisioners, but are
// listed. Without a launch id, an instance is taken for another program's, and without the name of a Provisioner, AWS
// denies its termination. What the agent has listed before tells both, or its nodes do.
func (inv *Inventory) relaunch(ctx context.Context, nodes map[string][]*cluster.Node, instances []offer.Instance) {
	var incomplete []*offer.Instance
	for k := range instances {
		i := &instances[k]
		if (i.LaunchID == "" || i.Provisioner == "") && i.State != offer.StateGone && i.Tags[api.LabelNodePool] == "" {
			incomplete = append(incomplete, i)
		}
	}
	parallel.Each(parallel.NodesAtOnce, incomplete, func(i *offer.Instance) {
		known, lost := inv.machineOf(i.ProviderID), *i
		lost.LaunchID, lost.Provisioner = cmp.Or(i.LaunchID, known.LaunchID), cmp.Or(i.Provisioner, known.Provisioner)
		for _, n := range nodes[i.ProviderID] {
			if launch := n.Annotations[api.AnnotationLaunchID]; launch != "" {
				lost.LaunchID, lost.Provisioner = cmp.Or(lost.LaunchID, launch), cmp.Or(lost.Provisioner, n.Provisioner)
			}
		}
		if lost.LaunchID != "" && lost.Provisioner != "" && inv.retag(ctx, i.NodeName, lost) {
			*i = lost
		}
	})
}

// RestoreMarks puts back the labels, annotations and finalizers that mark nodes as those of
// Provisioners, and the labels that say what was bought. It does not need the list of instances,
// which lacks those that have lost their tags. It reports whether it has changed nodes, so that
// the view is out of date.
func (inv *Inventory) RestoreMarks(ctx context.Context, v *view.View) (changed bool) {
	lost := v.Snapshot.NodesThat(func(n *cluster.Node) bool {
		_, lacks := inv.owners.missing(n)
		return lacks || inv.owners.closed(n)
	})
	var patched atomic.Bool
	parallel.Each(parallel.NodesAtOnce, lost, func(n *cluster.Node) {
		if inv.owners.closed(n) && inv.Nodes.Patch(ctx, n, drain.Unchosen) {
			patched.Store(true)
			inv.Log.Info("opened a node that had lost the mark of its removal", "node", n.Name, "provisioner", n.Provisioner)
			inv.Events.Warning(event.Node(n.Name), event.MarksLost, "removed the taint "+drain.Taint.Key+", because an annotation that goes with it was lost")
		}
		change, lacks := inv.owners.missing(n)
		if !lacks || !inv.Nodes.Patch(ctx, n, change) {
			return
		}
		patched.Store(true)
		inv.Log.Info("restored the marks of a node", "node", n.Name, "provisioner", n.Provisioner)
		inv.Events.Warning(event.Node(n.Name), event.MarksLost,
			fmt.Sprintf("put back what marks the node as one of Provisioner %s or says what was bought: %s", n.Provisioner, lostMarks(change)))
	})
	return patched.Load()
}

// Own makes Provisioners the owners of their nodes. When any other owner is deleted, such as a Machine object of
// Karpenter before 0.33 or a NodePool in whose place the Provisioner is served, the garbage collector of Kubernetes
// deletes all nodes that it owns. Without an owner, the nodes of a NodePool would remain when the NodePool is deleted.
func (inv *Inventory) Own(ctx context.Context, v *view.View) {
	others := v.Snapshot.NodesThat(func(n *cluster.Node) bool {
		_, differs := view.Owned(v.ByName[n.Provisioner], n)
		return differs && !n.Deleting && n.HeldBy(api.Finalizer)
	})
	parallel.Each(parallel.NodesAtOnce, others, func(n *cluster.Node) {
		change, _ := view.Owned(v.ByName[n.Provisioner], n)
		if !inv.Nodes.Patch(ctx, n, change) {
			return
		}
		inv.Log.Info("took over a node", "node", n.Name, "provisioner", n.Provisioner, "provider_id", n.ProviderID)
		inv.Events.Normal(event.Node(n.Name), event.TakenOver, fmt.Sprintf("%s %s owns the node from now on, and nothing else", change.Owner.Kind, n.Provisioner))
	})
}

// NoteGracePeriods keeps on nodes the terminationGracePeriods of their Provisioners. Their drains need them: a
// NodePool is gone as soon as it is deleted, and another Provisioner may not be readable then.
func (inv *Inventory) NoteGracePeriods(ctx context.Context, v *view.View) {
	held := v.Snapshot.NodesThat(func(n *cluster.Node) bool { return n.Provisioner != "" && !n.Deleting && n.HeldBy(api.Finalizer) })
	parallel.Each(parallel.NodesAtOnce, held, func(n *cluster.Node) {
		if change, differs := view.GracePeriod(v.ByName[n.Provisioner], n); differs {
			inv.Nodes.Patch(ctx, n, change)
		}
	})
}

func lostMarks(change cluster.NodeChange) string {
	var lost []string
	for _, key := range slices.Sorted(maps.Keys(change.SetLabels)) {
		lost = append(lost, "the label "+key)
	}
	for _, key := range slices.Sorted(maps.Keys(change.SetAnnotations)) {
		lost = append(lost, "the annotation "+key)
	}
	if change.AddFinalizer != "" {
		lost = append(lost, "the finalizer "+api.Finalizer)
	}
	return strings.Join(lost, " and ")
}
