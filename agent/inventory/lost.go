package inventory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/drain"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// letGo deletes the nodes whose instance is gone, and returns their provider ids. An instance that the
// cloud no longer lists may only have lost its tags, so the agent looks it up by its id first.
// A node without a launch id may be another program's. If it has lost its launch id, that is put back,
// but not on a node that is already being drained.
func (c *Inventory) letGo(ctx context.Context, v *view.View, listed map[string]offer.Instance) map[string]bool {
	missing := map[string]bool{}
	var unlisted []*cluster.Node
	for i := range v.Snapshot.Nodes {
		n := &v.Snapshot.Nodes[i]
		drained := n.Deleting && n.HeldBy(api.Finalizer)
		ours := n.Provisioner != "" && (drained || n.Annotations[api.AnnotationLaunchID] != "")
		switch known, there := listed[n.ProviderID]; {
		case !there && c.InstanceGone(n.ProviderID), there && ours && known.State == offer.StateGone:
			missing[n.ProviderID] = true
		case !there && ours && n.ProviderID != "":
			unlisted = append(unlisted, n)
		}
	}
	for _, n := range c.untraceable(ctx, unlisted) {
		missing[n.ProviderID] = true
	}
	for i := range v.Snapshot.Nodes {
		n := &v.Snapshot.Nodes[i]
		if !missing[n.ProviderID] || n.Deleting || !c.Nodes.Delete(ctx, n.Name) {
			continue
		}
		c.Log.Info("removed a node whose instance is gone", "node", n.Name, "provider_id", n.ProviderID)
		c.Events.Warning(event.Node(n.Name), event.InstanceGone, "the instance no longer exists")
	}
	return missing
}

// untraceable returns the nodes whose instances the cloud does not know by their ids either. It
// puts back the tags of the other instances.
func (c *Inventory) untraceable(ctx context.Context, nodes []*cluster.Node) []*cluster.Node {
	since := c.unlistedSince(nodes)
	if len(nodes) == 0 {
		return nil
	}
	ids := make([]string, len(nodes))
	for i, n := range nodes {
		ids[i] = n.InstanceID()
	}
	found, err := c.Listing.Find(ctx, ids)
	if err != nil {
		if ctx.Err() == nil {
			c.Metrics.Failed("Find")
			c.Log.Error("could not look up instances by id", "instances", ids, "error", err)
		}
		return nil // nobody knows whether they are gone
	}
	byID := make(map[string]offer.Instance, len(found))
	for _, i := range found {
		byID[i.ID] = i
	}
	// An instance may have two nodes: one that was expected, and one under the name that its kubelet
	// has registered. If either is ready, the instance runs.
	ready := map[string]string{} // names of nodes by instance id
	for i, n := range nodes {
		if _, there := byID[ids[i]]; !there && n.Ready {
			ready[ids[i]] = n.Name
		}
	}
	var gone []*cluster.Node
	for i, n := range nodes {
		instance, there := byID[ids[i]]
		if there && runs(instance) || !there && ready[ids[i]] != "" {
			c.there(n)
		}
		switch {
		case !there && time.Since(since[n.ProviderID]) < offer.ListingLag: // it may be listed yet
		case !there && ready[ids[i]] != "":
		case !there || instance.State == offer.StateGone:
			gone = append(gone, n)
		case instance.State == offer.StateStopping:
			c.close(ctx, []*cluster.Node{n}, instance)
		case !instance.Owned:
			c.retag(ctx, n, instance)
		}
	}
	if len(ready) > 0 {
		first := slices.Min(slices.Collect(maps.Values(ready)))
		c.Log.Warn("kept nodes that are ready although AWS does not know their instances", "node", first, "instances", len(ready))
	}
	return gone
}

// retag puts the tags of a node's instance back. If that fails, it reports an event: the machine
// keeps running, but the agent cannot terminate it.
func (c *Inventory) retag(ctx context.Context, n *cluster.Node, i offer.Instance) {
	c.untag(i.ID)
	if !c.retags.Due(i.ID) {
		return
	}
	i.Provisioner, i.LaunchID = n.Provisioner, n.Annotations[api.AnnotationLaunchID]
	if err := c.Machines.Retag(ctx, i); err != nil {
		if ctx.Err() == nil {
			c.retags.Failed(i.ID)
			c.Metrics.Failed("Retag")
			c.Log.Error("found an instance without the tags of the cluster", "node", n.Name, "instance", i.ID, "error", err)
			c.Events.Warning(event.Node(n.Name), event.TagsLost, fmt.Sprintf("instance %s: %s", i.ID, err))
		}
		return
	}
	c.retags.Succeeded(i.ID)
	c.Log.Info("restored the tags of an instance", "node", n.Name, "instance", i.ID)
	c.Events.Warning(event.Node(n.Name), event.TagsLost,
		fmt.Sprintf("instance %s had lost the tags of the cluster, which were put back", i.ID))
}

// Mend puts back the labels, annotations and finalizers that mark nodes as those of Provisioners.
// It does not need the list of instances, which lacks those that have lost their tags.
func (c *Inventory) Mend(ctx context.Context, v *view.View) {
	for i := range v.Snapshot.Nodes {
		n := &v.Snapshot.Nodes[i]
		if c.owners.closed(n) && c.Nodes.Patch(ctx, n.Name, cluster.NodeChange{RemoveTaints: []corev1.Taint{drain.Taint}}) {
			c.Log.Info("opened a node that had lost the mark of its removal", "node", n.Name, "provisioner", n.Provisioner)
			c.Events.Warning(event.Node(n.Name), event.MarksLost, "removed the taint "+drain.Taint.Key+", because the annotation that goes with it was lost")
		}
		change, lost := c.owners.missing(n)
		if !lost || !c.Nodes.Patch(ctx, n.Name, change) {
			continue
		}
		c.Log.Info("restored the marks of a node", "node", n.Name, "provisioner", n.Provisioner)
		c.Events.Warning(event.Node(n.Name), event.MarksLost,
			fmt.Sprintf("put back what marks the node as one of Provisioner %s: %s", n.Provisioner, lostMarks(change)))
	}
}

func lostMarks(change cluster.NodeChange) string {
	var lost []string
	if change.SetLabels != nil {
		lost = append(lost, "the label "+api.LabelProvisioner)
	}
	if change.SetAnnotations != nil {
		lost = append(lost, "the annotation "+api.AnnotationLaunchID)
	}
	if change.AddFinalizer != "" {
		lost = append(lost, "the finalizer "+api.Finalizer)
	}
	return strings.Join(lost, " and ")
}
