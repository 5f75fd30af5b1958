package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/drain"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/parallel"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Compare compares the cloud's instances with the cluster's nodes: when the agent starts, after each
// interval, and whenever an order may have left an instance without a Node object. A young instance
// without a Node object gets one, an old one is terminated. A node whose instance is gone is deleted.
func (inv *Inventory) Compare(ctx context.Context, v *view.View) {
	// The snapshot of v is older than the listing: a node that is missing in it
	// was let go after its instance was.
	asked := inv.asks()
	instances, err := inv.instances(ctx)
	if err != nil {
		if ctx.Err() == nil {
			inv.failed(err)
			inv.Metrics.Failed("Instances")
			inv.Log.Error("could not compare nodes with instances", "error", err)
		}
		return
	}
	nodes := nodesByProviderID(v)
	inv.relaunch(ctx, nodes, instances)
	inv.learn(instances)
	inv.noteStopped(instances)
	inv.part(nodes)
	found := inv.sort(v, nodes, instances)
	inv.close(ctx, found.ending)
	without := &nodeless{}
	vacant, occupied := inv.vacant(ctx, found.old, without)
	surplus, kept := slices.Concat(found.surplus, vacant), slices.Concat(found.kept, occupied)
	parallel.Each(parallel.NodesAtOnce, kept, func(i instanceNodes) {
		inv.unreserve(ctx, v, i.own, i.Instance)
		without.note(i.Instance, inv.adoptAll(ctx, v, i))
	})
	inv.terminate(ctx, v, surplus, without)
	inv.Metrics.Ownerless.WithLabelValues("instance").Set(float64(inv.countOwnerless(v, nodes, instances)))
	if ctx.Err() == nil {
		inv.reportRefused(v, without.refused)
	}
	inv.settled(asked, inv.letGo(ctx, v, instances, found.ending), without)
	inv.Redrain()
}

// comparison sorts instances by what becomes of them.
type comparison struct {
	kept    []instanceNodes // they have Node objects, or get them
	old     []instanceNodes // they have none, and are terminated unless pods run there
	surplus []instanceNodes // they are terminated
	ending  []endingNode    // nodes of instances that are being terminated or gone
}

// sort looks at the instances that were listed, and at those that the list should have.
func (inv *Inventory) sort(v *view.View, nodes map[string][]*cluster.Node, instances []offer.Instance) (found comparison) {
	for _, i := range instances {
		own, others := inv.nodesOf(v, nodes, i)
		switch {
		case i.LaunchID == "", inv.Launching(i.LaunchID): // another program's, or not answered yet
		case !i.Runs() && i.State != offer.StateGone && len(own)+len(others) == 0 && !inv.wasTerminated(i.ID) && inv.tooOld(v, i):
			found.old = append(found.old, instanceNodes{Instance: i}) // somebody may have stopped it, and its disk is paid for
		case !i.Runs():
			found.ending = end(found.ending, i, own, others)
		case inv.wasTerminated(i.ID):
			// The cloud may have taken it for gone because it did not list it at that moment.
			found.ending = end(found.ending, i, own, others)
			found.surplus = append(found.surplus, instanceNodes{i, own, others})
		case len(own) == 0 && !inv.drainable(v, i, others) && inv.tooOld(v, i):
			found.old = append(found.old, instanceNodes{i, own, others})
		default:
			found.kept = append(found.kept, instanceNodes{i, own, others})
		}
	}
	for _, i := range inv.leftOut() {
		own, others := inv.nodesOf(v, nodes, i)
		if !slices.ContainsFunc(slices.Concat(own, others), adopted) && !inv.Launching(i.LaunchID) && !inv.wasTerminated(i.ID) {
			found.kept = append(found.kept, instanceNodes{i, own, others}) // if it has lost its tags, only its nodes tell the next leader whose it is
		}
	}
	return found
}

// instanceNodes are an instance, its node, if there is one, and those that its kubelet has registered
// under other names.
type instanceNodes struct {
	offer.Instance
	own, others []*cluster.Node
}

// reportRefused sends an event to each Provisioner when the Node object of one of its instances is refused
// for the first time. The condition Ready says so for as long as it lasts.
func (inv *Inventory) reportRefused(v *view.View, refused map[string]refusal) {
	for name, r := range refused {
		if p := v.ByName[name]; p != nil && inv.Refused(name) == "" {
			inv.Events.Warning(event.Provisioner(p.Raw), event.NodeRefused, r.words())
		}
	}
}

// Returned deletes nodes that registered again after the agent had terminated their instances, which
// kubelets do until the instance stops. It reports whether there are other nodes without the finalizer
// that have not been compared with the instances yet.
func (inv *Inventory) Returned(ctx context.Context, v *view.View) bool {
	unknown := false
	var ending []endingNode
	for n := range v.Snapshot.EachNode() {
		if v.ByName[cmp.Or(n.Provisioner, n.Labels[api.LabelProvisioner])] == nil || n.Deleting || n.ProviderID == "" || n.HeldBy(api.Finalizer) {
			continue
		}
		if id := n.InstanceID(); inv.wasTerminated(id) {
			ending = append(ending, endingNode{n, offer.Instance{ID: id, State: offer.StateGone}})
		} else if inv.meet(n.ProviderID) {
			unknown = true
		}
	}
	inv.close(ctx, ending)
	return unknown
}

// nodesByProviderID lists the nodes of each instance; more than one where a
// kubelet has registered under another name than was expected.
func nodesByProviderID(v *view.View) map[string][]*cluster.Node {
	out := map[string][]*cluster.Node{}
	for n := range v.Snapshot.EachNode() {
		out[n.ProviderID] = append(out[n.ProviderID], n)
	}
	return out
}

// nodesOf returns the node of an instance, if there is one, and those that its
// kubelet has registered under other names.
func (inv *Inventory) nodesOf(v *view.View, nodes map[string][]*cluster.Node, i offer.Instance) (own, others []*cluster.Node) {
	if n := v.Snapshot.Node(i.NodeName); n != nil && n.ProviderID == "" {
		own = append(own, n) // its kubelet does not know its provider id
	}
	for _, n := range nodes[i.ProviderID] {
		switch {
		case inv.Assumed.Uncreated(n.Name):
		case n.Name == i.NodeName:
			own = append(own, n)
		default:
			others = append(others, n)
		}
	}
	return own, others
}

// instances lists what there is. What an earlier leader has ordered is there by then,
// or never will be.
func (inv *Inventory) instances(ctx context.Context) ([]offer.Instance, error) {
	if !inv.owned.Load() {
		if err := inv.Listing.Claim(ctx); err != nil {
			return nil, err
		}
		inv.owned.Store(true)
	}
	return inv.Listing.Instances(ctx)
}

// tooOld reports whether an instance without a Node object is to be terminated: its startup timeout
// has passed, or its Provisioner is gone.
func (inv *Inventory) tooOld(v *view.View, i offer.Instance) bool {
	p := v.ByName[i.Provisioner]
	return p == nil || p.Raw.DeletionTimestamp != nil || v.Now.Sub(i.LaunchedAt) >= inv.StartupTimeout
}

// drainable reports whether the kubelet of an instance has registered a node under another name that
// somebody drains: pods may run there. Without a Provisioner, it cannot be taken over any more.
func (inv *Inventory) drainable(v *view.View, i offer.Instance, others []*cluster.Node) bool {
	return slices.ContainsFunc(others, func(n *cluster.Node) bool { return v.ByName[i.Provisioner] != nil || n.HeldBy(api.Finalizer) })
}

// vacant separates the instances without a Node object on which pods run from those on which no pods run, because the
// node cache may be too old to show the object. If the pods cannot be read, it notes the instance as unknown.
func (inv *Inventory) vacant(ctx context.Context, old []instanceNodes, without *nodeless) (vacant, occupied []instanceNodes) {
	var mu sync.Mutex
	parallel.Each(parallel.NodesAtOnce, old, func(i instanceNodes) {
		pods, err := inv.podsOn(ctx, i.NodeName)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case !i.Runs() && (err != nil || len(pods) > 0): // it is shutting down, and its pods go with it
		case err != nil:
			without.unknown = append(without.unknown, i.ID)
		case slices.ContainsFunc(pods, func(p cluster.Pod) bool { return drain.WaitsFor(&p, &cluster.Node{}) }):
			occupied = append(occupied, i)
		default:
			vacant = append(vacant, i)
		}
	})
	return vacant, occupied
}

func (inv *Inventory) podsOn(ctx context.Context, node string) ([]cluster.Pod, error) {
	if node == "" {
		return nil, nil
	}
	pods, err := inv.Reader.PodsOn(ctx, node)
	if err != nil && ctx.Err() == nil {
		inv.Log.Warn("could not read the pods of a node", "node", node, "error", err)
	}
	return pods, err
}

// countOwnerless counts the running instances that belong to nobody: their Provisioner is gone, or
// they have had no Node object for longer than the startup timeout. The agent terminates them unless
// something prevents it.
func (inv *Inventory) countOwnerless(v *view.View, nodes map[string][]*cluster.Node, instances []offer.Instance) int {
	count := 0
	for _, i := range instances {
		if !i.Runs() || inv.wasTerminated(i.ID) || inv.Launching(i.LaunchID) || i.Tags[api.LabelNodePool] != "" {
			continue // Karpenter manages those with a NodePool
		}
		own, others := inv.nodesOf(v, nodes, i)
		has := slices.Concat(own, others)
		drained := slices.ContainsFunc(has, func(n *cluster.Node) bool { return n.Deleting })
		if v.ByName[i.Provisioner] == nil && !drained || len(has) == 0 && inv.tooOld(v, i) {
			count++
		}
	}
	return count
}

// adopted reports whether a node need not be adopted, because it is being deleted or has the agent's finalizer.
func adopted(n *cluster.Node) bool { return n.Deleting || n.HeldBy(api.Finalizer) }

// adoptAll gives an instance its Node object. It also takes over the nodes that its kubelet has
// registered under other names, so that they are drained with the instance. If the instance had lost the
// object although pods run there, it is drained: that is what the deletion of a node asks for. The next
// comparison that finds the instance listed does so, because only then can it be terminated.
func (inv *Inventory) adoptAll(ctx context.Context, v *view.View, i instanceNodes) error {
	ran, err := inv.lostAfterRun(ctx, v, i)
	switch {
	case err != nil, slices.ContainsFunc(i.own, adopted):
	case len(i.own) == 0 && !ran && hasNoSize(v.ByName[i.Provisioner], i.Instance):
		if len(i.others) == 0 { // otherwise it counts by a node of another name
			err = errUnknown // its kubelet will register by itself, with its size, labels and taints
		}
	default:
		err = inv.adopt(ctx, v, i.Instance, ran)
	}
	for _, n := range i.own {
		if n.Annotations[api.AnnotationRemade] != "" && !n.Deleting {
			inv.Nodes.Drain(ctx, n)
		}
	}
	for _, n := range i.others {
		if adopted(n) {
			continue
		}
		misnamed := i.Instance
		misnamed.NodeName = n.Name
		err = cmp.Or(inv.adopt(ctx, v, misnamed, false), err)
	}
	return err
}

// hasNoSize reports whether the size of an instance is not known because its Provisioner has no market now, such as one that
// is not valid.
func hasNoSize(p *view.Provisioner, i offer.Instance) bool {
	return p != nil && p.Blocked != "" && p.InstanceType(i.InstanceType) == nil
}

// lostAfterRun reports whether an instance has lost its Node object although a kubelet has started pods there. The cache of
// nodes may be older than that of pods, and not show an object that was never lost, so it asks the API server.
func (inv *Inventory) lostAfterRun(ctx context.Context, v *view.View, i instanceNodes) (bool, error) {
	if len(i.own) > 0 || !hasRun(v, i.NodeName) {
		return false, nil
	}
	err := inv.Nodes.API.PatchNode(ctx, i.NodeName, cluster.NodeChange{ProviderID: i.ProviderID}) // it changes nothing
	switch {
	case err == nil:
		return false, nil
	case errors.Is(err, cluster.ErrGone):
		return true, nil
	case ctx.Err() == nil:
		inv.Log.Warn("could not read the node of an instance", "node", i.NodeName, "instance", i.ID, "error", err)
	}
	return false, errUnknown
}

// hasRun reports whether a kubelet has started pods under the name of a node.
func hasRun(v *view.View, node string) bool {
	return slices.ContainsFunc(v.Snapshot.Pods, func(p cluster.Pod) bool { return p.NodeName == node && p.Running })
}

var (
	// errUnknown: what the Node object of an instance should contain, or whether there is one, is not known yet.
	errUnknown = errors.New("its size or its name is not known yet, or whether it has a Node object")
	// errTaken: an earlier machine had the same name, and its Node object is held.
	errTaken = errors.New("the Node object of an earlier machine still has its name")
)

// adopt creates, or takes over, the Node object of an instance, on which pods may have run.
func (inv *Inventory) adopt(ctx context.Context, v *view.View, i offer.Instance, ran bool) error {
	p := v.ByName[i.Provisioner]
	if p == nil {
		return nil // its node is there, and goes with its Provisioner
	}
	if p.Reason == view.ReasonMarket || i.NodeName == "" {
		return errUnknown
	}
	node := view.AdoptedNode(p, i)
	if ran {
		node = view.RemadeNode(p, i)
	}
	ready, err := inv.Nodes.Create(ctx, node, p.TaintsToAdd())
	if err != nil {
		n := v.Snapshot.Node(i.NodeName)
		if !errors.Is(err, cluster.ErrStale) || n == nil || n.ProviderID == "" || n.ProviderID == i.ProviderID {
			return err
		}
		i.NodeName = i.ID // no Node object has that name
		inv.Assumed.Lingers(cluster.FromNode(view.AdoptedNode(p, i), nil))
		return fmt.Errorf("%w: %s is %s", errTaken, n.Name, n.ProviderID)
	}
	inv.Assumed.Gone(i.ID)
	inv.hasNode(i.ProviderID)
	inv.Log.Info("adopted an instance", "node", i.NodeName, "instance", i.ID, "provisioner", i.Provisioner, "launch_id", i.LaunchID)
	inv.Events.Normal(event.Node(i.NodeName), event.Adopted,
		fmt.Sprintf("the Node object of instance %s was created", i.ID))
	if ran && !ready { // one that is ready was there already
		inv.Unsettled()
	}
	return nil
}

// unreserve tells the nodes of an instance that its capacity reservation has ended.
func (inv *Inventory) unreserve(ctx context.Context, v *view.View, nodes []*cluster.Node, i offer.Instance) {
	for _, n := range nodes {
		change, ended := view.Unreserved(v.ByName[n.Provisioner], n, i)
		if !ended || n.Deleting || !inv.Nodes.Patch(ctx, n, change) {
			continue
		}
		id := n.Labels[api.LabelReservationID]
		inv.Log.Info("lost the capacity reservation of a node", "node", n.Name, "instance", i.ID, "reservation", id)
		inv.Events.Normal(event.Node(n.Name), event.ReservationEnded, fmt.Sprintf("capacity reservation %s has ended, and the machine continues as an on-demand machine", id))
	}
}

// endingNode is a node and its instance, which is being terminated or gone.
type endingNode struct {
	*cluster.Node
	instance offer.Instance
}

// end appends the nodes of an instance.
func end(ending []endingNode, i offer.Instance, own, others []*cluster.Node) []endingNode {
	for _, n := range slices.Concat(others, own) {
		ending = append(ending, endingNode{n, i})
	}
	return ending
}

// close deletes nodes of instances that are being terminated or gone: nodes that registered again after
// they were deleted, and nodes of instances that somebody else has terminated.
func (inv *Inventory) close(ctx context.Context, ending []endingNode) {
	parallel.Each(parallel.NodesAtOnce, ending, func(e endingNode) {
		n, i := e.Node, e.instance
		if n.Deleting || !inv.Nodes.Delete(ctx, n) {
			return
		}
		if n.HeldBy(api.Finalizer) { // one that a kubelet has registered by itself says nothing of new machines
			inv.Ended(n)
			if !n.Initialized {
				inv.Metrics.Disruptions.WithLabelValues(n.Provisioner, string(decide.NeverUp)).Inc()
			}
		}
		inv.Log.Info("removed a node whose instance is shutting down", "node", n.Name, "instance", i.ID, "state", string(i.State), "reason", i.StateReason)
		inv.Events.Warning(event.Node(n.Name), event.InstanceGone, strings.TrimSuffix("the instance is being shut down: "+i.StateReason, ": "))
	})
}

// terminate terminates instances that will never be nodes. Those that run on count against the limits of
// their Provisioners, or are noted if their size is not known.
func (inv *Inventory) terminate(ctx context.Context, v *view.View, surplus []instanceNodes, without *nodeless) {
	if len(surplus) == 0 {
		return
	}
	ids := make([]string, len(surplus))
	for n, i := range surplus {
		ids[n] = i.ID
	}
	gone, err := inv.Machines.Terminate(ctx, ids)
	for _, i := range surplus {
		i.NodeName = i.ID // no Node object has that name
		switch p := v.ByName[i.Provisioner]; {
		case slices.Contains(gone, i.ID):
			inv.noteTerminated(i.ID)
			inv.Assumed.Gone(i.NodeName)
			inv.Log.Info("terminated an instance without a node", "instance", i.ID, "provisioner", i.Provisioner, "launch_id", i.LaunchID)
		case p == nil || len(i.own)+len(i.others) > 0 || !i.Runs():
		case p.Reason == view.ReasonMarket:
			without.note(i.Instance, errUnknown)
		default:
			inv.Assumed.Lingers(cluster.FromNode(view.AdoptedNode(p, i.Instance), nil))
		}
	}
	if err != nil && ctx.Err() == nil {
		inv.Metrics.Failed("Terminate")
		inv.Log.Error("could not terminate instances without nodes", "instances", len(ids), "instance", ids[0], "error", err)
	}
}
