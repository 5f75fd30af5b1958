package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// generateUsed makes up a cluster in which pods run and none are pending. Its Provisioners consolidate.
func generateUsed(r *rand.Rand) *scenario {
	g := generator{r}
	s := &scenario{Provisioners: g.provisioners()}
	for _, p := range s.Provisioners {
		// The controllers of the control plane evict pods that do not tolerate such a taint.
		p.Spec.Taints = slices.DeleteFunc(p.Spec.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute })
		p.Spec.Consolidation = &api.Consolidation{Enabled: ptr.To(true)}
		p.Spec.Disruption.ConsolidateAfter, p.Spec.Disruption.Budgets = ptr.To("0s"), []api.Budget{{Nodes: "100%"}}
		if g.chance(50) {
			p.Spec.Disruption.EvictionCost = ptr.To(api.NumberOrNever("0"))
		}
		if g.chance(80) {
			p.Spec.Limits = nil
		}
	}
	for len(s.Nodes) < 2 || len(s.Nodes) < 8 && g.chance(70) {
		// As long as a node is starting, consolidation waits.
		if n := g.node(fmt.Sprintf("node-%d", len(s.Nodes)), s.Provisioners); !starting(n) {
			s.Nodes = append(s.Nodes, n)
		}
	}
	for i := range 1 + g.IntN(5) {
		p := g.pod(fmt.Sprintf("work-%d", i))
		p.Spec.Containers[0].Resources = g.requests(700, 1500)
		for range g.IntN(3) {
			oneOf(g, constraints...)(g, p)
		}
		for _, replica := range replicas(p, 1+g.IntN(5)) {
			s.Running = append(s.Running, runningOn(replica, oneOf(g, s.Nodes...).Name))
		}
	}
	s.Running = withoutSharedClaims(s.Running)
	s.DaemonSets = g.daemonSets()
	return s
}

// withoutSharedClaims leaves out the pods that cannot run at the same time as one before them, because both
// use the claim for a single pod. When one of them moved, the other would keep it off any node.
func withoutSharedClaims(pods []*corev1.Pod) []*corev1.Pod {
	taken := map[string]bool{}
	return slices.DeleteFunc(pods, func(p *corev1.Pod) bool {
		uses := slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == exclusive })
		shared := uses && taken[p.Namespace]
		taken[p.Namespace] = taken[p.Namespace] || uses
		return shared
	})
}

// generateLeaving makes up a cluster with pending pods in which at least one node is being deleted.
func generateLeaving(r *rand.Rand) *scenario {
	g := generator{r}
	for {
		s := generate(r)
		left := false
		for _, n := range s.Nodes {
			if n.Labels[api.LabelProvisioner] != "" && !starting(n) && g.chance(60) {
				now := metav1.Now()
				n.DeletionTimestamp, n.Finalizers, left = &now, []string{api.Finalizer}, true
				n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: api.TaintDisruption, Effect: corev1.TaintEffectNoSchedule})
			}
		}
		if left {
			return s
		}
	}
}

// runningOn makes a pod one that runs on the node. It has a controller, so that it may move.
func runningOn(p *corev1.Pod, node string) *corev1.Pod {
	owner := p.Name[:strings.LastIndexByte(p.Name, '-')]
	p.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, UID: types.UID(p.Namespace + "-" + owner), Controller: ptr.To(true),
	}}
	p.Spec.NodeName = node
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	return p
}

// pendingAgain is the pod that the controller of one that ran creates instead of it.
func pendingAgain(p *corev1.Pod) *corev1.Pod {
	out := p.DeepCopy()
	out.OwnerReferences, out.Spec.NodeName, out.Status = nil, "", corev1.PodStatus{}
	return out
}

// judgeRemovals takes away the nodes that the plan removes, and those that are being deleted. Their pods
// become pending again. If the plan removes a node that is in use, its pods must have a place.
func (j *judge) judgeRemovals(ctx context.Context, p *decide.Plan, home map[string]string) error {
	removed := map[string]bool{}
	for _, r := range p.Removals {
		if r.Reason != decide.Consolidated && r.Reason != decide.Empty {
			return fmt.Errorf("node %s is to be removed: %s", r.Node, r.Message)
		}
		removed[r.Node] = true
	}
	gone := func(n *corev1.Node) bool { return removed[n.Name] || n.DeletionTimestamp != nil }
	for _, n := range j.nodes {
		if !gone(n) {
			continue
		}
		for _, pod := range j.scenario.Running {
			if pod.Spec.NodeName != n.Name {
				continue
			}
			if removed[n.Name] && home[keyOf(pod)] == "" {
				j.differ(lost, keyOf(pod), "node "+n.Name+" is to be removed", "nothing: the plan has no place for the pod")
			}
			j.pods = append(j.pods, pendingAgain(pod))
		}
		if err := j.removeNode(ctx, n.Name); err != nil {
			return err
		}
		j.out.removed++
	}
	j.nodes = slices.DeleteFunc(j.nodes, gone)
	return nil
}

// removeNode deletes a node and the pods that are left on it.
func (l *lab) removeNode(ctx context.Context, name string) error {
	if err := l.client.CoreV1().Nodes().Delete(ctx, name, atOnce); err != nil {
		return fmt.Errorf("delete node %s: %w", name, err)
	}
	for _, ns := range namespaces {
		pods := l.client.CoreV1().Pods(ns.Name)
		if err := pods.DeleteCollection(ctx, atOnce, metav1.ListOptions{FieldSelector: "spec.nodeName=" + name}); err != nil {
			return fmt.Errorf("delete the pods of node %s: %w", name, err)
		}
	}
	return nil
}
