package agent

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// finish gives the machines of drained nodes back and, once the cloud confirms
// that they are going, lets the Node objects go. It returns how many went.
func (a *Agent) finish(ctx context.Context, drained []*cluster.Node) int {
	gone := a.terminate(ctx, drained)
	results := make([]bool, len(drained))
	var g errgroup.Group
	g.SetLimit(patchesAtOnce)
	for i, n := range drained {
		if id := instanceID(n.ProviderID); !gone[id] {
			a.drains.held.note(n.Name, holdUp{cause: heldByMachine, text: a.unconfirmed(id)})
			continue
		}
		g.Go(func() error {
			if results[i] = a.letNodeGo(ctx, n); !results[i] {
				a.drains.held.note(n.Name, holdUp{cause: heldByNode, text: "the finalizer " + api.Finalizer + " could not be removed from the node"})
			}
			return nil
		})
	}
	_ = g.Wait() // what did not succeed is taken again in the next pass
	went := 0
	for _, ok := range results {
		if ok {
			went++
		}
	}
	return went
}

// terminate returns the instances that are going.
func (a *Agent) terminate(ctx context.Context, drained []*cluster.Node) map[string]bool {
	gone := map[string]bool{"": true} // a node without a provider id has no machine
	var ids []string
	for _, n := range drained {
		if id := instanceID(n.ProviderID); id != "" && a.terminations.due(id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return gone
	}
	slices.Sort(ids)
	call, cancel := context.WithTimeout(ctx, cloudTimeout)
	defer cancel()
	confirmed, err := a.cloud.Terminate(call, ids)
	if err != nil && ctx.Err() == nil {
		a.metrics.cloudErrors.WithLabelValues("Terminate").Inc()
		a.log.Error("left instances for later", "instances", ids, "error", err)
	}
	for _, id := range confirmed {
		gone[id] = true
		a.ledger.gaveBack(id)
	}
	for _, id := range ids {
		switch {
		case gone[id]:
			a.terminations.succeeded(id)
		case ctx.Err() == nil:
			a.terminations.failed(id)
			if !a.owners.estranged(id) { // it may be by now
				a.ledger.unsettled()
				a.replan.set()
			}
		}
	}
	return gone
}

// unconfirmed says why a machine without pods is still there.
func (a *Agent) unconfirmed(id string) string {
	if a.owners.estranged(id) {
		return "its pods are gone, but instance " + id + " has lost the tags of the cluster, without which it is not terminated: put them back, or terminate it"
	}
	return "its pods are gone, and the cloud has not confirmed yet that instance " + id + " is going"
}

// letNodeGo removes the finalizer.
func (a *Agent) letNodeGo(ctx context.Context, n *cluster.Node) bool {
	if !a.patchNode(ctx, n.Name, cluster.NodeChange{RemoveFinalizer: api.Finalizer}) {
		return false
	}
	a.assumed.gone(n.Name)
	a.ledger.scale(n.Provisioner)
	took := a.drains.since(n.Name)
	a.metrics.drained(n.Provisioner, took)
	a.log.Info("terminated a node", "node", n.Name, "provisioner", n.Provisioner, "instance", instanceID(n.ProviderID),
		"drain_seconds", took.Seconds())
	a.event(nodeRef(n.Name), corev1.EventTypeNormal, eventTerminated,
		fmt.Sprintf("instance %s is going", instanceID(n.ProviderID)))
	a.replan.set()
	return true
}
