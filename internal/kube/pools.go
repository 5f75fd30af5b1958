package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
)

// classPrefix tells the profiles that stand for EC2NodeClasses from AWSNodeTemplates,
// whose names have no slash.
const classPrefix = karpenter.ClassPrefix

// KarpenterLease is the Lease by which the replicas of Karpenter agree who leads, in
// whatever namespace.
const KarpenterLease = "karpenter-leader-election"

// pools gives Provisioners that stand for NodePools, and node profiles that stand for
// EC2NodeClasses. A nil one gives none.
type pools struct {
	nodePools, nodeClasses *mirror
	karpenter              watchman

	mu      sync.Mutex
	of      string // what the stand-ins were made of
	made    standIns
	holding map[string]bool // pools that have nodes; see SetProvisionerFinalizer
}

// standIns are what stands for NodePools and EC2NodeClasses.
type standIns struct {
	provisioners []*api.Provisioner
	templates    []*api.AWSNodeTemplate
	readings     []cluster.Reading
}

// addPools adds the caches of NodePools and EC2NodeClasses. A cluster may lack either kind.
func (c *caches) addPools() *pools {
	return &pools{holding: map[string]bool{}, nodePools: c.poolMirror(karpenter.NodePools), nodeClasses: c.poolMirror(karpenter.NodeClasses)}
}

// poolMirror is the cache of a kind that a cluster may lack.
func (c *caches) poolMirror(kind schema.GroupResource) *mirror {
	v := &versioned{client: c.client, resource: kind}
	m := c.mirror(v.now(), v.informer())
	m.versions, m.optional = v, true
	return m
}

// take returns the stand-ins as of now. They may not be changed.
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
	waits := p.karpenter.leads(time.Now())
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
	var documents []map[string]any
	ignored := map[string]finding.List{} // by kind and name
	for _, u := range found {
		if karpenter.Foreign(u.Object) != "" {
			continue
		}
		said := karpenter.Check(u.Object)
		ignored[u.GetKind()+" "+u.GetName()] = said.Warnings()
		if errs := said.Errors(); len(errs) > 0 {
			out.add(p, u, karpenter.Refused(u.Object, errs), waits)
			continue
		}
		documents = append(documents, u.Object)
	}
	served, err := karpenter.Serve(documents)
	for _, u := range found {
		i := slices.IndexFunc(served, func(s karpenter.Served) bool { return s.Kind == u.GetKind() && s.Name == u.GetName() })
		if i >= 0 {
			s := served[i]
			s.Losses = append(ignored[u.GetKind()+" "+u.GetName()], s.Losses...)
			out.add(p, u, s, waits)
		} else if err != nil {
			out.add(p, u, karpenter.Refused(u.Object, finding.Of(err)), waits)
		}
	}
	return out
}

// add takes over what stands for an object, with the object's identity.
func (out *standIns) add(p *pools, u *unstructured.Unstructured, s karpenter.Served, waits string) {
	ref := cluster.ObjectRef{Kind: api.ProvisionerKind, Name: u.GetName(), UID: string(u.GetUID())}
	meta := metav1.ObjectMeta{
		Name: u.GetName(), UID: u.GetUID(), Generation: u.GetGeneration(), ResourceVersion: u.GetResourceVersion(),
		CreationTimestamp: u.GetCreationTimestamp(), DeletionTimestamp: u.GetDeletionTimestamp(),
	}
	if t := s.NodeTemplate; t != nil {
		meta.Name = classPrefix + meta.Name
		ref.Kind, ref.Name = api.NodeTemplateKind, meta.Name
		t.ObjectMeta = meta
		out.templates = append(out.templates, t)
	} else if v := s.Provisioner; v != nil {
		if p.holding[meta.Name] {
			meta.Finalizers = []string{api.Finalizer}
		}
		v.ObjectMeta = meta
		v.Status.Conditions = conditionsOf(u)
		if ref := v.Spec.ProviderRef; ref != nil {
			ref.Name = classPrefix + ref.Name
		}
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

// leaveAlone keeps a Provisioner's nodes as they are, for as long as another controller is
// at the wheel.
func leaveAlone(p *api.Provisioner) {
	p.Spec.TTLSecondsAfterEmpty, p.Spec.TTLSecondsUntilExpired, p.Spec.Consolidation = nil, nil, nil
	p.Spec.Disruption = &api.Disruption{Drift: ptr.To(false), ConsolidateAfter: ptr.To(api.Never)}
}

func conditionsOf(u *unstructured.Unstructured) []metav1.Condition {
	var status struct {
		Conditions []metav1.Condition `json:"conditions"`
	}
	if asJSON, err := json.Marshal(u.Object["status"]); err == nil {
		_ = json.Unmarshal(asJSON, &status)
	}
	return status.Conditions
}

// has reports whether a name is that of a pool that is served.
func (p *pools) has(name string) bool {
	return slices.ContainsFunc(p.take().provisioners, func(v *api.Provisioner) bool { return v.Name == name })
}

// hold notes whether a pool has nodes. A NodePool gets no finalizer: Karpenter gives it
// none either, and would never take ours off.
func (p *pools) hold(name string, present bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holding[name] = present
}

// watchman knows whether Karpenter leads. Whether the holder of its Lease lives is known
// by renewals that are seen, not by clocks.
type watchman struct {
	mu     sync.Mutex
	looked time.Time
	seen   map[string]sighting // by namespace
}

// sighting is a Lease that is held, and since when it has been like that.
type sighting struct {
	holder  string
	renewed time.Time
	expires time.Duration
	since   time.Time
}

// blindAfter is for how long the last look at the Leases is believed.
const blindAfter = 4 * leaseDuration

// leads says by whom Karpenter is led, or that this is not known; nothing if nobody
// leads it.
func (w *watchman) leads(now time.Time) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Sub(w.looked) > blindAfter {
		return "the Leases " + KarpenterLease + " could not be read yet, so that Karpenter may be running"
	}
	for _, namespace := range slices.Sorted(maps.Keys(w.seen)) {
		if s := w.seen[namespace]; now.Sub(s.since) < s.expires {
			return fmt.Sprintf("Karpenter is running: %s renews the Lease %s/%s", s.holder, namespace, KarpenterLease)
		}
	}
	return ""
}

// look takes the Leases down as they are now.
func (w *watchman) look(held map[string]coordinationv1.Lease, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := make(map[string]sighting, len(held))
	for namespace, lease := range held {
		s := sighting{
			holder: ptr.Deref(lease.Spec.HolderIdentity, ""), renewed: ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{}).Time,
			expires: time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, int32(leaseDuration/time.Second))) * time.Second, since: now,
		}
		if was, ok := w.seen[namespace]; ok && was.holder == s.holder && was.renewed.Equal(s.renewed) {
			s.since = was.since
		}
		seen[namespace] = s
	}
	w.seen, w.looked = seen, now
}

// Standby says why no NodePool is served for now; empty if they are, or if none is to be.
func (p *pools) Standby() string {
	if p == nil {
		return ""
	}
	return p.karpenter.leads(time.Now())
}

// watchKarpenter looks at Karpenter's Leases until ctx ends, and tells each change.
func watchKarpenter(ctx context.Context, c *Cluster, report func(string)) {
	last := "unknown"
	_ = wait.PollUntilContextCancel(ctx, retryPeriod, true, func(ctx context.Context) (bool, error) {
		if held, err := heldLeases(ctx, c.client, KarpenterLease); err == nil {
			c.pools.karpenter.look(held, time.Now())
		}
		if now := c.pools.karpenter.leads(time.Now()); now != last {
			last = now
			c.caches.dirty()
			if report != nil {
				report(now)
			}
		}
		return false, nil
	})
}

// poolStatus is the status of a NodePool in Karpenter's terms.
func poolStatus(s api.ProvisionerStatus) map[string]any {
	conditions := []any{}
	put := func(kind string, of metav1.Condition, bad bool) {
		c := map[string]any{
			"type": kind, "status": "True", "reason": kind, "message": "", "observedGeneration": of.ObservedGeneration,
			"lastTransitionTime": of.LastTransitionTime.UTC().Format(time.RFC3339),
		}
		if bad {
			c["status"], c["reason"], c["message"] = "False", of.Reason, of.Message
		}
		conditions = append(conditions, c)
	}
	for _, c := range s.Conditions {
		if c.Type == "Ready" {
			bad := c.Status != metav1.ConditionTrue
			put("Ready", c, bad)
			put("ValidationSucceeded", c, bad && c.Reason == "ValidationFailed")
			put("NodeClassReady", c, bad && slices.Contains(classReasons, c.Reason))
			continue
		}
		if c.Type == "ValidationSucceeded" || c.Type == "NodeClassReady" {
			continue // as it was before
		}
		put(c.Type, c, false)
		last := conditions[len(conditions)-1].(map[string]any)
		last["status"], last["reason"], last["message"] = string(c.Status), c.Reason, c.Message
	}
	resources := map[string]any{"nodes": strconv.FormatInt(s.Nodes, 10)}
	for name, q := range s.Resources {
		resources[string(name)] = q.String()
	}
	return map[string]any{"resources": resources, "nodes": s.Nodes, "conditions": conditions}
}

// classReasons are the reasons of Ready that are about the EC2NodeClass.
var classReasons = []string{"NodeProfileNotFound", "NoSubnets", "NoSecurityGroups", "NoImages", "NoInstanceProfile", "UnsupportedCapacityReservation"}

// classStatus is the status of an EC2NodeClass in Karpenter's terms.
func classStatus(s api.AWSNodeTemplateStatus) map[string]any {
	subnets, groups, images := []any{}, []any{}, []any{}
	for _, n := range s.Subnets {
		subnets = append(subnets, map[string]any{"id": n.ID, "zone": n.Zone})
	}
	for _, g := range s.SecurityGroups {
		groups = append(groups, map[string]any{"id": g.ID, "name": g.Name})
	}
	for _, im := range s.AMIs {
		requirements := []any{}
		for _, r := range im.Requirements {
			values := []any{}
			for _, v := range r.Values {
				values = append(values, v)
			}
			requirements = append(requirements, map[string]any{"key": r.Key, "operator": string(r.Operator), "values": values})
		}
		images = append(images, map[string]any{"id": im.ID, "name": im.Name, "requirements": requirements})
	}
	out := map[string]any{"subnets": subnets, "securityGroups": groups, "amis": images, "capacityReservations": reservationStatuses(s.Reservations)}
	parts := []struct{ kind, reason string }{
		{"SubnetsReady", "NoSubnets"}, {"SecurityGroupsReady", "NoSecurityGroups"}, {"AMIsReady", "NoImages"},
		{"InstanceProfileReady", "NoInstanceProfile"}, {"CapacityReservationsReady", "UnsupportedCapacityReservation"}, {"ValidationSucceeded", "ValidationFailed"}, {"Ready", ""},
	}
	conditions := []any{}
	for _, c := range s.Conditions {
		if c.Type != "Ready" {
			continue
		}
		if c.LastTransitionTime.IsZero() {
			c.LastTransitionTime = metav1.Now()
		}
		for _, part := range parts {
			condition := map[string]any{
				"type": part.kind, "status": "True", "reason": part.kind, "message": "",
				"lastTransitionTime": c.LastTransitionTime.UTC().Format(time.RFC3339),
			}
			if c.Status != metav1.ConditionTrue && (part.reason == c.Reason || part.kind == "Ready") {
				condition["status"], condition["reason"], condition["message"] = "False", c.Reason, c.Message
			}
			conditions = append(conditions, condition)
		}
	}
	out["conditions"] = conditions
	return out
}

func reservationStatuses(of []api.ReservationStatus) []any {
	out := []any{}
	for _, r := range of {
		one := map[string]any{
			"id": r.ID, "availabilityZone": r.Zone, "instanceType": r.InstanceType, "ownerID": r.OwnerID,
			"instanceMatchCriteria": r.MatchCriteria, "reservationType": r.Type, "state": r.State, "interruptible": r.Interruptible,
		}
		if !r.End.IsZero() {
			one["endTime"] = r.End.UTC().Format(time.RFC3339)
		}
		out = append(out, one)
	}
	return out
}

// updateForeignStatus writes the fields of a status that differ from those in the cache.
func updateForeignStatus(ctx context.Context, c *Cluster, m *mirror, name string, want map[string]any) error {
	u, ok := get[*unstructured.Unstructured](m, "", name)
	if !ok {
		return nil
	}
	before, _ := u.Object["status"].(map[string]any)
	keepTimes(before, want)
	now := map[string]any{}
	for field := range want {
		now[field] = before[field]
	}
	return c.updateStatus(ctx, m.versions.now(), u.GroupVersionKind(), statusChange{cache: m, name: name, now: now, want: want})
}

// keepTimes keeps the transition time of each condition whose status is as before.
func keepTimes(before, want map[string]any) {
	old, _ := before["conditions"].([]any)
	now, _ := want["conditions"].([]any)
	for _, item := range now {
		c, _ := item.(map[string]any)
		for _, was := range old {
			if w, _ := was.(map[string]any); w["type"] == c["type"] && w["status"] == c["status"] && w["lastTransitionTime"] != nil {
				c["lastTransitionTime"] = w["lastTransitionTime"]
			}
		}
	}
}

// poolReference is that of the NodePool or EC2NodeClass that is known under the
// reference; the reference itself for everything else.
func (p *pools) reference(ref cluster.ObjectRef) cluster.ObjectRef {
	if p == nil {
		return ref
	}
	if name, ok := strings.CutPrefix(ref.Name, classPrefix); ok && ref.Kind == api.NodeTemplateKind {
		ref.Kind, ref.Name, ref.APIVersion = karpenter.NodeClassKind, name, p.nodeClasses.versions.now().GroupVersion().String()
	} else if ref.Kind == api.ProvisionerKind && p.has(ref.Name) {
		ref.Kind, ref.APIVersion = karpenter.NodePoolKind, p.nodePools.versions.now().GroupVersion().String()
	}
	return ref
}

// sayTaken tells of NodePools that have the name of a Provisioner, by which nodes know
// their owner: such a NodePool is not served.
func sayTaken(c *Cluster, p *api.Provisioner) {
	ref := cluster.ObjectRef{Kind: karpenter.NodePoolKind, Name: p.Name, UID: string(p.UID), APIVersion: c.pools.nodePools.versions.now().GroupVersion().String()}
	c.Event(ref, corev1.EventTypeWarning, "DoubtfulSpec", "is not served, because a Provisioner has the same name: rename one of the two")
}
