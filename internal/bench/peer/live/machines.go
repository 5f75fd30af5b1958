package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"time"

	opstatus "github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/test/v1alpha1"
	podutil "sigs.k8s.io/karpenter/pkg/utils/pod"
	"sigs.k8s.io/karpenter/pkg/utils/resources"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// nodeClass is of a kind that the module has for tests: each cloud brings its own.
var nodeClass = &v1.NodeClassReference{Group: v1alpha1.Group, Kind: "TestNodeClass", Name: "default"}

// cloud says what can be bought. The controllers that would ask it for more do not run here.
type cloud struct {
	cloudprovider.CloudProvider
	types []*cloudprovider.InstanceType
}

func (c *cloud) GetInstanceTypes(context.Context, *v1.NodePool) ([]*cloudprovider.InstanceType, error) {
	return c.types, nil
}

func (c *cloud) IsDrifted(context.Context, *v1.NodeClaim) (cloudprovider.DriftReason, error) {
	return "", nil
}

func (c *cloud) Name() string { return "sim" }

func (c *cloud) GetSupportedNodeClasses() []opstatus.Object {
	return []opstatus.Object{&v1alpha1.TestNodeClass{}}
}

// cheapest is the offering that the cloud sells for a NodeClaim; false if there is none.
func (c *cloud) cheapest(claim *v1.NodeClaim) (best offer.Candidate, of *cloudprovider.InstanceType) {
	allowed := scheduling.NewNodeSelectorRequirementsWithMinValues(claim.Spec.Requirements...)
	for _, t := range c.types {
		if allowed.Compatible(t.Requirements, scheduling.AllowUndefinedWellKnownLabels) != nil || !resources.Fits(claim.Spec.Resources.Requests, t.Allocatable()) {
			continue
		}
		for _, o := range t.Offerings.Available().Compatible(allowed) {
			found := offer.Candidate{
				InstanceType: t.Name, Zone: o.Requirements.Get(corev1.LabelTopologyZone).Any(),
				CapacityType: o.Requirements.Get(v1.CapacityTypeLabelKey).Any(), Price: offer.Price(math.Round(o.Price * 1e6)),
			}
			if of == nil || cmp.Or(cmp.Compare(found.Price, best.Price), cmp.Compare(found.InstanceType, best.InstanceType), cmp.Compare(found.Zone, best.Zone)) < 0 {
				best, of = found, t
			}
		}
	}
	return best, of
}

// keepClaims tells the controllers which NodeClaims have changed, and carries out what they say.
func (p *Peer) keepClaims(ctx context.Context) {
	timers := map[string]*time.Timer{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.store.dirty:
		}
		changed, fresh, leaving := p.store.take()
		for _, name := range slices.Sorted(maps.Keys(changed)) {
			if timer := timers[name]; timer != nil {
				timer.Stop()
				delete(timers, name)
			}
			again, err := p.keepClaim(ctx, name, changed[name])
			p.fail(ctx, "keep NodeClaim "+name, err)
			if again > 0 {
				timers[name] = time.AfterFunc(again, func() { p.store.revisit(name) })
			}
		}
		for _, claim := range fresh {
			p.running.Go(func() { p.fail(ctx, "launch "+claim.Name, p.launch(ctx, claim)) })
		}
		for _, claim := range leaving {
			p.running.Go(func() { p.fail(ctx, "drain "+claim.Status.NodeName, p.drain(ctx, claim)) })
		}
	}
}

// keepClaim tells the controllers what has become of a NodeClaim, nil if it has gone, and returns after
// what time they want to look at it again.
func (p *Peer) keepClaim(ctx context.Context, name string, claim *v1.NodeClaim) (again time.Duration, err error) {
	if claim == nil {
		p.state.DeleteNodeClaim(name)
		return 0, p.cost.DeleteNodeClaim(ctx, client.ObjectKey{Name: name})
	}
	p.state.UpdateNodeClaim(claim.DeepCopy())
	if err := p.cost.UpdateNodeClaim(ctx, claim); err != nil {
		return 0, err
	}
	result, err := p.claims.Reconcile(ctx, claim.DeepCopy())
	return result.RequeueAfter, err
}

// launch buys a machine for a NodeClaim.
func (p *Peer) launch(ctx context.Context, claim *v1.NodeClaim) error {
	choice, of := p.cloud.cheapest(claim)
	if of == nil {
		return fmt.Errorf("no offering of %d types serves it", len(p.cloud.types))
	}
	labels := map[string]string{}
	for _, r := range of.Requirements {
		if r.Len() == 1 {
			labels[r.Key] = r.Any()
		}
	}
	maps.Copy(labels, claim.Labels)
	labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelTopologyZone], labels[v1.CapacityTypeLabelKey] = choice.InstanceType, choice.Zone, choice.CapacityType
	onNode := maps.Clone(labels)
	onNode[v1.NodeRegisteredLabelKey], onNode[v1.NodeInitializedLabelKey] = "true", "true"
	onNode[api.LabelProvisioner] = labels[v1.NodePoolLabelKey] // by which timelines count nodes
	delivered, err := p.process.Cloud.Launch(ctx, offer.Order{
		LaunchID: string(claim.UID), Provisioner: labels[v1.NodePoolLabelKey], Count: 1,
		Candidates: []offer.Candidate{choice}, Node: offer.NodeSpec{Labels: onNode, Taints: claim.Spec.Taints},
	})
	if err != nil {
		return err
	}
	if len(delivered.Instances) != 1 {
		return fmt.Errorf("%d machines delivered, refusals %v", len(delivered.Instances), delivered.Refusals)
	}
	p.store.edit(claim.Name, func(c *v1.NodeClaim) {
		c.Labels, c.Status.ProviderID = labels, delivered.Instances[0].ProviderID
		c.Status.Capacity, c.Status.Allocatable = of.Capacity, of.Allocatable()
		c.StatusConditions().SetTrue(v1.ConditionTypeLaunched)
	})
	return nil
}

// initialize notes that the node of a NodeClaim is ready.
func (p *Peer) initialize(n *corev1.Node) {
	p.store.mu.RLock()
	var of string
	for name, c := range p.store.claims {
		if c.Status.ProviderID == n.Spec.ProviderID {
			of = name
		}
	}
	p.store.mu.RUnlock()
	p.store.edit(of, func(c *v1.NodeClaim) {
		c.Status.NodeName = n.Name
		c.StatusConditions().SetTrue(v1.ConditionTypeRegistered)
		c.StatusConditions().SetTrue(v1.ConditionTypeInitialized)
	})
}

// drain evicts the pods of a node, and ends its machine when they have gone.
func (p *Peer) drain(ctx context.Context, claim *v1.NodeClaim) error {
	node := claim.Status.NodeName
	for {
		evictable, waiting := p.store.pending(node)
		if waiting == 0 {
			break
		}
		for _, pod := range evictable {
			var blocked *cluster.BlockedError
			key := cluster.PodKey{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}
			if err := p.process.Cluster.Evict(ctx, key); err != nil && !errors.As(err, &blocked) {
				return err
			}
		}
		if !pause(ctx, retry) {
			return ctx.Err()
		}
	}
	if _, err := p.process.Cloud.Terminate(ctx, []string{path.Base(claim.Status.ProviderID)}); err != nil {
		return err
	}
	if err := p.process.Cluster.DeleteNode(ctx, node, claim.Status.ProviderID); err != nil {
		return err
	}
	p.store.drop(claim.Name)
	return nil
}

// pending returns the pods of a node that can be evicted, and how many have to go. DaemonSet pods do not count.
func (s *store) pending(node string) (evictable []*corev1.Pod, waiting int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, pod := range s.byNode[node] {
		if podutil.IsOwnedByDaemonSet(pod) || !podutil.IsWaitingEviction(pod, clock.RealClock{}) {
			continue
		}
		waiting++
		if podutil.IsEvictable(pod, clock.RealClock{}, silent{}) {
			evictable = append(evictable, pod)
		}
	}
	slices.SortFunc(evictable, func(a, b *corev1.Pod) int { return cmp.Compare(a.UID, b.UID) })
	return evictable, waiting
}
