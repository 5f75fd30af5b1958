package kube

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/lease"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

// pools makes Provisioners of NodePools, and node profiles of EC2NodeClasses. A nil one makes none.
type pools struct {
	nodePools, nodeClasses *mirror
	karpenter              *lease.Watch

	mu      sync.Mutex
	of      string // identifies what the stand-ins were made of
	made    standIns
	holding map[string]bool // pools that have nodes; see SetProvisionerFinalizer
}

// standIns are the Provisioners and node profiles for NodePools and EC2NodeClasses.
type standIns struct {
	provisioners []*api.Provisioner
	templates    []*api.AWSNodeTemplate
	readings     []cluster.Reading
}

// addPools adds the caches of NodePools and EC2NodeClasses. A cluster may lack either kind.
func (c *caches) addPools(leases *lease.Watch) *pools {
	return &pools{
		holding: map[string]bool{}, karpenter: leases,
		nodePools: c.poolMirror(kinds.NodePools), nodeClasses: c.poolMirror(kinds.NodeClasses),
	}
}

// poolMirror returns the cache of a kind that a cluster may lack.
func (c *caches) poolMirror(kind schema.GroupResource) *mirror {
	v := &versioned{client: c.client, resource: kind}
	m := c.mirror(v.now(), v.informer())
	m.versions, m.optional = v, true
	return m
}

// take returns the current stand-ins. They must not be changed.
func (p *pools) take() standIns {
	if p == nil {
		return standIns{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	found := slices.Concat(list[*unstructured.Unstructured](p.nodeClasses), list[*unstructured.Unstructured](p.nodePools))
	slices.SortFunc(found, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetName(), b.GetName()))
	})
	waits := p.Standby()
	var key strings.Builder
	key.WriteString(waits)
	for _, u := range found {
		fmt.Fprintf(&key, " %s/%s/%t", u.GetUID(), u.GetResourceVersion(), p.holding[u.GetName()])
	}
	of := key.String()
	if of != p.of || p.made.provisioners == nil && p.made.templates == nil {
		p.of, p.made = of, p.standInsFor(found, waits)
	}
	return p.made
}

func (p *pools) standInsFor(found []*unstructured.Unstructured, waits string) standIns {
	var out standIns
	var objects []map[string]any
	of := map[string]*unstructured.Unstructured{} // by kind and name
	for _, u := range found {
		objects = append(objects, u.Object)
		of[u.GetKind()+" "+u.GetName()] = u
	}
	for _, s := range karpenter.StandIns(objects) {
		out.add(p, of[s.Kind+" "+s.Name], s, waits)
	}
	return out
}

// add adds the stand-in for an object.
func (out *standIns) add(p *pools, u *unstructured.Unstructured, s karpenter.Served, waits string) {
	ref := cluster.ObjectRef{Kind: api.ProvisionerKind, Name: u.GetName(), UID: string(u.GetUID())}
	if t := s.NodeTemplate; t != nil {
		ref.Kind, ref.Name = api.NodeTemplateKind, t.Name
		out.templates = append(out.templates, t)
	} else {
		v := s.Provisioner
		if p.holding[v.Name] {
			v.Finalizers = []string{api.Finalizer}
		}
		v.Status.Conditions = karpenter.PoolConditions(u.Object)
		if waits != "" {
			leaveAlone(v)
			v.Source.Waits = waits
		}
		out.provisioners = append(out.provisioners, v)
	}
	if len(s.Losses) > 0 {
		out.readings = append(out.readings, cluster.Reading{Object: ref, Findings: s.Losses})
	}
}

// leaveAlone makes the agent disrupt none of the Provisioner's nodes, because Karpenter still
// manages them. The terminationGracePeriod stays: it ends drains that others begin.
func leaveAlone(p *api.Provisioner) {
	p.Spec.TTLSecondsAfterEmpty, p.Spec.TTLSecondsUntilExpired, p.Spec.Consolidation = nil, nil, nil
	p.Spec.Disruption = cmp.Or(p.Spec.Disruption, &api.Disruption{})
	p.Spec.Disruption.Drift, p.Spec.Disruption.ConsolidateAfter = ptr.To(false), ptr.To(api.Never)
}

// has reports whether a NodePool of the name is served.
func (p *pools) has(name string) bool {
	return slices.ContainsFunc(p.take().provisioners, func(v *api.Provisioner) bool { return v.Name == name })
}

// hold notes whether a NodePool has nodes. A NodePool gets no finalizer, because Karpenter would
// not remove it after the cluster has been given back.
func (p *pools) hold(name string, present bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holding[name] = present
}

// Standby says why no NodePool is served at the moment. It is empty if they are served, or if the
// agent was not asked to serve them.
func (p *pools) Standby() string {
	if p == nil {
		return ""
	}
	holder, known := p.karpenter.Leads(time.Now())
	switch {
	case !known:
		return "Karpenter may be running: its Leases " + install.KarpenterLease + " could not be read"
	case holder != "":
		return "Karpenter is running: " + holder
	}
	return ""
}

// karpenterPoll is how often Karpenter's Leases are read.
const karpenterPoll = 2 * time.Second

// watchKarpenter polls Karpenter's Leases until ctx ends, and reports each change of Standby.
func watchKarpenter(ctx context.Context, c *Cluster, report func(string)) {
	last := "unknown"
	_ = wait.PollUntilContextCancel(ctx, karpenterPoll, true, func(ctx context.Context) (bool, error) {
		_ = c.pools.karpenter.Poll(ctx) // Leads considers when the last poll succeeded
		if now := c.pools.Standby(); now != last {
			last = now
			c.caches.dirty()
			if report != nil {
				report(now)
			}
		}
		return false, nil
	})
}

// reference returns the reference of the NodePool or EC2NodeClass for which the referenced object
// stands, or else ref itself.
func (p *pools) reference(ref cluster.ObjectRef) cluster.ObjectRef {
	if p == nil {
		return ref
	}
	if name, ok := strings.CutPrefix(ref.Name, karpenter.ClassPrefix); ok && ref.Kind == api.NodeTemplateKind {
		ref.Kind, ref.Name, ref.APIVersion = kinds.NodeClassKind, name, p.nodeClasses.versions.now().GroupVersion().String()
	} else if ref.Kind == api.ProvisionerKind && p.has(ref.Name) {
		ref.Kind, ref.APIVersion = kinds.NodePoolKind, p.nodePools.versions.now().GroupVersion().String()
	}
	return ref
}

// reportTaken writes an event on a NodePool that is not served because a Provisioner has its name:
// nodes refer to their owner by that name.
func reportTaken(c *Cluster, p *api.Provisioner) {
	ref := cluster.ObjectRef{Kind: kinds.NodePoolKind, Name: p.Name, UID: string(p.UID), APIVersion: c.pools.nodePools.versions.now().GroupVersion().String()}
	c.Event(ref, corev1.EventTypeWarning, "DoubtfulSpec", "The NodePool is not served, because a Provisioner has the same name: rename one of the two")
}
