// Package takeover takes over what Karpenter has launched for the NodePools that the agent serves:
// instances, their nodes and NodeClaims. It drains and restarts nothing.
//
// Each machine goes through four steps, in this order, and each step can be repeated. At every moment,
// at least one of the two controllers knows the machine as its own, and neither would terminate it. If
// the process dies between two steps, its successor continues there, or Karpenter finds what it needs.
// After the last step, Karpenter leaves the machine alone, but for 0.32, which also finds it by the
// tag of Provisioners: it may only start again after a handback.
//
//  1. The instance gets the cluster's tags. From now on the agent lists it, and so can
//     neither lose it nor take it for somebody else's. Karpenter still knows it, too.
//  2. The node gets the marks of the agent's own nodes, and its NodePool as its only
//     owner. Before, its owner was the NodeClaim: the garbage collector of Kubernetes
//     would delete the node with the NodeClaim, and that would drain it.
//  3. The instance loses the tag by which Karpenter finds instances. Karpenter ends
//     those that have it and no NodeClaim, so that this comes before the last step.
//     With its NodeClaim, a machine whose node is ready is left alone by Karpenter.
//  4. The NodeClaim loses its finalizer, and then it is deleted. The other way round,
//     Karpenter, back at that moment, would end the instance for the sake of it.
package takeover

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/nodes"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/parallel"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Claims are the NodeClaims of a cluster.
type Claims interface {
	// Standby says why the machines of NodePools are left to Karpenter for now, such as because it
	// is running; empty if they are not.
	Standby() string
	// NodeClaims returns them as they are now.
	NodeClaims(ctx context.Context) ([]cluster.NodeClaim, error)
	// ReleaseNodeClaim removes one, and neither its node nor its machine. One that is gone is
	// fine. While Karpenter leads it is an error.
	ReleaseNodeClaim(ctx context.Context, claim cluster.NodeClaim) error
}

// Machines are the instances of Karpenter.
type Machines interface {
	// Karpenters returns the instances of the cluster that Karpenter knows as its own.
	// Their Provisioner is the NodePool. Those that TakeOver has been asked for are Owned.
	Karpenters(ctx context.Context) ([]offer.Instance, error)
	// TakeOver makes instances the cluster's own, as those of a Provisioner. It returns
	// the ids of those that are.
	TakeOver(ctx context.Context, provisioner string, ids []string) ([]string, error)
	// Disown makes Karpenter forget instances. It returns the ids of those that it has
	// forgotten.
	Disown(ctx context.Context, ids []string) ([]string, error)
}

// Source is where Karpenter's machines and NodeClaims are.
type Source struct {
	Claims   Claims
	Machines Machines
}

// Ports are what a Takeover works with. All are to be set. Without a Source, nothing is taken over.
type Ports struct {
	Source  Source
	Nodes   *nodes.Writer
	Events  *event.Recorder
	Metrics *metrics.Metrics
	Log     hclog.Logger
}

const (
	// firstPause is how long what could not be taken over waits. Each further failure doubles
	// it, up to longestPause.
	firstPause   = 5 * time.Second
	longestPause = time.Minute
)

// Takeover takes machines over. The planning loop runs it; its results may be asked for
// at any time.
type Takeover struct {
	Ports

	mu     sync.Mutex
	looked time.Time
	pools  []string          // those served when it looked
	left   map[string]string // by NodePool: what is left to be done, and why
	again  *pace.Retries     // under an empty key: when to try again what is left
}

// New returns one that has taken over nothing yet.
func New(p Ports) *Takeover {
	return &Takeover{Ports: p, again: pace.NewRetries(firstPause, longestPause)}
}

// Left says why the machines of a NodePool have not all been taken over. It is empty if they have. Until
// then, the agent cannot keep the limits of the NodePool.
func (t *Takeover) Left(pool string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left[pool]
}

// Due reports whether there may be something to take over: NodePools are served that
// were not before, something was left, or the interval has passed.
func (t *Takeover) Due(v *view.View, interval time.Duration) bool {
	if t.Source == (Source{}) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	since := time.Since(t.looked)
	pools := slices.Sorted(maps.Keys(served(v)))
	return !slices.Equal(pools, t.pools) || len(pools) > 0 && len(t.left) == 0 && since >= interval || len(t.left) > 0 && t.again.Due("")
}

// Next returns when the agent tries again. It is zero if nothing is left.
func (t *Takeover) Next() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.again.Next("")
}

// served are the NodePools whose machines are to be taken over: those that can be served,
// also if nothing can be bought for them right now, and those that are being deleted, as
// somebody has to end their machines.
func served(v *view.View) map[string]*view.Provisioner {
	out := map[string]*view.Provisioner{}
	for _, p := range v.Provisioners {
		if s := p.Raw.Source; s == nil || s.Waits != "" || p.Market.ProfileHash == "" {
			continue
		}
		out[p.Raw.Name] = p
	}
	return out
}

// Run takes over all machines that are left.
func (t *Takeover) Run(ctx context.Context, v *view.View) {
	pools := served(v)
	p := &pass{Takeover: t, pools: maps.Clone(pools), left: map[string]string{}, byMachine: map[string]*offer.Instance{}, failed: map[string]bool{}}
	if len(pools) > 0 {
		p.run(ctx, v)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.looked, t.pools, t.left = time.Now(), slices.Sorted(maps.Keys(pools)), p.left
	if len(t.left) == 0 {
		t.again.Succeeded("")
	} else {
		t.again.Failed("")
	}
}

// pass is one attempt to take everything over.
type pass struct {
	*Takeover
	pools     map[string]*view.Provisioner
	instances []offer.Instance
	claims    []cluster.NodeClaim
	byMachine map[string]*offer.Instance // by provider id

	mu     sync.Mutex
	left   map[string]string // by NodePool
	failed map[string]bool   // by provider id: a step went wrong, so that the next may not be taken
}

func (p *pass) run(ctx context.Context, v *view.View) {
	p.leaveBlocks(ctx, v)
	if err := p.look(ctx); err != nil {
		for pool := range p.pools {
			p.fail(ctx, pool, "", err)
		}
		return
	}
	p.tag(ctx)
	p.takeNodes(ctx, v)
	p.disown(ctx)
	p.release(ctx)
}

// leaveBlocks leaves NodePools with nodes in a Capacity Block alone. Karpenter drains such nodes before EC2 ends their
// machines, and keeps what is paid for until then. The agent does neither.
func (p *pass) leaveBlocks(ctx context.Context, v *view.View) {
	inBlock := func(n *cluster.Node) bool {
		return n.Provisioner == "" && p.pools[n.Labels[api.LabelNodePool]] != nil && n.Labels[api.LabelReservationType] == api.ReservationBlock
	}
	for _, n := range v.Snapshot.NodesThat(inBlock) {
		pool := n.Labels[api.LabelNodePool]
		p.fail(ctx, pool, n.ProviderID, fmt.Errorf("node %s is in a Capacity Block, and only Karpenter drains it before the block ends: wait until such nodes are gone, or leave the NodePool to Karpenter", n.Name))
		delete(p.pools, pool)
	}
}

// look lists the machines and NodeClaims of the NodePools.
func (p *pass) look(ctx context.Context) error {
	instances, err := p.Source.Machines.Karpenters(ctx)
	if err != nil {
		p.count(ctx)
		return err
	}
	claims, err := p.Source.Claims.NodeClaims(ctx)
	if err != nil {
		return err
	}
	p.instances = slices.DeleteFunc(instances, func(i offer.Instance) bool { return p.pools[i.Provisioner] == nil })
	p.claims = slices.DeleteFunc(claims, func(c cluster.NodeClaim) bool { return p.pools[c.Pool] == nil })
	for i := range p.instances {
		p.byMachine[p.instances[i].ProviderID] = &p.instances[i]
	}
	return nil
}

// fail notes that a step has failed for a machine, or, without one, for the whole NodePool.
func (p *pass) fail(ctx context.Context, pool, machine string, err error) {
	p.mu.Lock()
	first := p.left[pool] == ""
	p.left[pool] = "the machines that Karpenter has launched for it are being taken over: " + err.Error()
	p.failed[machine] = true
	p.mu.Unlock()
	if first && ctx.Err() == nil {
		p.Log.Error("could not take over machines of Karpenter", "provisioner", pool, "error", err)
	}
}

// mayTake reports whether Karpenter still does not run. If it does, the step has failed for the machine.
// A pass takes a while: Karpenter may have come back since the view was made.
func (p *pass) mayTake(ctx context.Context, pool, machine string) bool {
	waits := p.Source.Claims.Standby()
	if waits != "" {
		p.fail(ctx, pool, machine, errors.New(waits))
	}
	return waits == ""
}

// count counts a failed call to the cloud.
func (p *pass) count(ctx context.Context) {
	if ctx.Err() == nil {
		p.Metrics.Failed("TakeOver")
	}
}

func (p *pass) hasFailed(machine string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed[machine]
}

// tag is the first step.
func (p *pass) tag(ctx context.Context) {
	for _, pool := range slices.Sorted(maps.Keys(p.pools)) {
		var ids []string
		for _, i := range p.instances {
			if i.Provisioner == pool && !i.Owned && p.mayTake(ctx, pool, i.ProviderID) {
				ids = append(ids, i.ID)
			}
		}
		if len(ids) == 0 {
			continue
		}
		done, err := p.Source.Machines.TakeOver(ctx, pool, ids)
		p.notDone(ctx, ids, done, err)
	}
}

// notDone notes the instances for which a step has failed.
func (p *pass) notDone(ctx context.Context, ids, done []string, err error) {
	if err != nil {
		p.count(ctx)
	}
	for _, i := range p.instances {
		if slices.Contains(ids, i.ID) && !slices.Contains(done, i.ID) {
			p.fail(ctx, i.Provisioner, i.ProviderID, err)
		}
	}
}

// takeNodes is the second step. It applies to nodes with an instance or a NodeClaim of Karpenter, since
// anybody could set the label of a NodePool. It also applies to nodes that look as if the agent had
// taken them over already, because the cache may not show yet that they were given back to Karpenter.
func (p *pass) takeNodes(ctx context.Context, v *view.View) {
	claimed := map[string]bool{}
	for _, c := range p.claims {
		claimed[c.Node], claimed[c.ProviderID] = true, true
	}
	delete(claimed, "")
	found := v.Snapshot.NodesThat(func(n *cluster.Node) bool {
		known := p.byMachine[n.ProviderID] != nil || claimed[n.Name] || claimed[n.ProviderID]
		return p.pools[n.Labels[api.LabelNodePool]] != nil && (known || held(n))
	})
	parallel.Each(parallel.NodesAtOnce, found, func(n *cluster.Node) { p.takeNode(ctx, n) })
}

// held reports whether a node that was taken over still has the taint of an unregistered node, because
// its kubelet has registered after Karpenter was gone.
func held(n *cluster.Node) bool {
	unregistered := func(t corev1.Taint) bool { return t.Key == api.TaintUnregistered }
	return n.Annotations[api.AnnotationLaunchID] == api.LaunchKarpenter && slices.ContainsFunc(n.Taints, unregistered)
}

func (p *pass) takeNode(ctx context.Context, n *cluster.Node) {
	pool := p.pools[n.Labels[api.LabelNodePool]]
	i := p.byMachine[n.ProviderID]
	if p.hasFailed(n.ProviderID) || !p.mayTake(ctx, pool.Raw.Name, n.ProviderID) {
		return
	}
	if !p.Nodes.Patch(ctx, n, view.TakenOver(pool, n, i)) {
		p.fail(ctx, pool.Raw.Name, n.ProviderID, fmt.Errorf("node %s could not be changed", n.Name))
		return
	}
	if n.Labels[api.LabelProvisioner] == pool.Raw.Name {
		return // it was taken over before, and only later steps were left
	}
	p.Log.Info("took over a node", "node", n.Name, "provisioner", pool.Raw.Name, "provider_id", n.ProviderID)
	p.Events.Normal(event.Node(n.Name), event.TakenOver, "Karpenter has launched the node for NodePool "+pool.Raw.Name+"; from now on Packhorse looks after it")
}

// disown is the third step.
func (p *pass) disown(ctx context.Context) {
	var ids []string
	for _, i := range p.instances {
		if !p.hasFailed(i.ProviderID) && p.mayTake(ctx, i.Provisioner, i.ProviderID) {
			ids = append(ids, i.ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	done, err := p.Source.Machines.Disown(ctx, ids)
	p.notDone(ctx, ids, done, err)
}

// release is the last step. It also removes NodeClaims without a machine: the agent buys a machine for
// their pods, or takes over the machine that Karpenter has bought once the cloud lists it.
func (p *pass) release(ctx context.Context) {
	parallel.Each(parallel.NodesAtOnce, p.claims, func(c cluster.NodeClaim) {
		if c.ProviderID != "" && p.hasFailed(c.ProviderID) {
			return
		}
		if err := p.Source.Claims.ReleaseNodeClaim(ctx, c); err != nil {
			p.fail(ctx, c.Pool, c.ProviderID, err)
			return
		}
		p.Log.Info("released a NodeClaim", "claim", c.Name, "provisioner", c.Pool, "node", c.Node)
	})
}
