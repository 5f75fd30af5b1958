package live

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	podutil "sigs.k8s.io/karpenter/pkg/utils/pod"
)

// mirror shows the controllers what changes in the cluster, until the context ends.
func (p *Peer) mirror(ctx context.Context) {
	again := time.NewTicker(retrigger)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.process.Cluster.Changed():
			p.mirrorBudgets()
			p.mirrorNodes(ctx)
			p.mirrorPods(ctx)
		case <-again.C:
			p.retrigger()
		}
	}
}

// retrigger has the provisioner look again at what it may have left, as its controllers for pods
// and nodes do.
func (p *Peer) retrigger() {
	p.store.mu.RLock()
	defer p.store.mu.RUnlock()
	for _, pod := range p.store.byNode[""] {
		p.trigger(pod)
	}
	for _, n := range p.store.nodes {
		p.triggerNode(n)
	}
}

func (p *Peer) trigger(pod *corev1.Pod) {
	if podutil.IsProvisionable(pod) {
		p.batcher.Trigger(pod.UID)
		p.state.AckPods(pod)
	}
}

func (p *Peer) triggerNode(n *corev1.Node) {
	for i := range n.Spec.Taints {
		if n.Spec.Taints[i].MatchTaint(&v1.DisruptedNoScheduleTaint) {
			p.batcher.Trigger(n.UID)
		}
	}
}

func (p *Peer) mirrorBudgets() {
	var out []policyv1.PodDisruptionBudget
	for _, b := range p.process.Cluster.Snapshot().PodDisruptionBudgets {
		out = append(out, policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: b.Selector},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: b.DisruptionsAllowed},
		})
	}
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	p.store.budgets = out
}

// patchNode gives a node in the cluster the taints that a controller wants.
func (p *Peer) patchNode(wanted *corev1.Node) {
	p.world.EditNode(wanted.Name, func(n *corev1.Node) { n.Spec.Taints = wanted.Spec.Taints })
}

func (p *Peer) mirrorNodes(ctx context.Context) {
	there := map[string]bool{}
	for _, n := range p.world.Nodes() {
		there[n.Name] = true
		known, changed := p.store.putNode(n)
		if !changed {
			continue
		}
		p.fail(ctx, "note node "+n.Name, p.state.UpdateNode(ctx, n.DeepCopy()))
		p.triggerNode(n)
		if !known {
			p.initialize(n)
		}
	}
	for _, name := range p.store.dropNodes(there) {
		p.state.DeleteNode(name)
	}
}

// putNode notes a node as it is now, and says whether it was known, and whether it has
// changed since.
func (s *store) putNode(n *corev1.Node) (known, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.nodes[n.Name]
	if before != nil {
		n.ResourceVersion = before.ResourceVersion
		if equality.Semantic.DeepEqual(before, n) {
			return true, false
		}
	}
	n.ResourceVersion = s.next()
	s.nodes[n.Name] = n
	return before != nil, true
}

// dropNodes forgets the nodes that are not there any more, and names them.
func (s *store) dropNodes(there map[string]bool) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var gone []string
	for name := range s.nodes {
		if !there[name] {
			gone = append(gone, name)
			delete(s.nodes, name)
		}
	}
	return gone
}

// look is what a controller can see change about a pod.
type look struct {
	version, node string
	phase         corev1.PodPhase
	leaving       bool
	conditions    int
}

func lookAt(p *corev1.Pod) look {
	return look{p.ResourceVersion, p.Spec.NodeName, p.Status.Phase, p.DeletionTimestamp != nil, len(p.Status.Conditions)}
}

func (p *Peer) mirrorPods(ctx context.Context) {
	there := map[types.UID]bool{}
	pods := p.world.Pods()
	for _, pod := range pods {
		there[pod.UID] = true
	}
	for _, pod := range p.store.podsBut(there) {
		if !podutil.IsTerminal(pod) && !podutil.IsTerminating(pod) {
			p.podEvent(ctx, pod) // it has finished
		}
		p.store.remove(pod.UID)
		p.state.DeletePod(client.ObjectKeyFromObject(pod))
	}
	for _, pod := range pods {
		before := p.store.pods[pod.UID] // only this goroutine writes them
		if before != nil && lookAt(before) == lookAt(pod) {
			continue
		}
		p.store.put(pod)
		if err := p.state.UpdatePod(ctx, pod.DeepCopy()); !apierrors.IsNotFound(err) { // not found: its node has gone
			p.fail(ctx, "note pod "+pod.Name, err)
		}
		if before == nil || before.Spec.NodeName != pod.Spec.NodeName || podutil.IsTerminal(before) != podutil.IsTerminal(pod) || podutil.IsTerminating(before) != podutil.IsTerminating(pod) {
			p.podEvent(ctx, pod)
		}
		p.trigger(pod)
	}
}

// podEvent tells that a pod was bound, has finished or begins to terminate.
func (p *Peer) podEvent(ctx context.Context, pod *corev1.Pod) {
	_, err := p.podEvents.Reconcile(ctx, pod.DeepCopy())
	p.fail(ctx, "note an event of pod "+pod.Name, err)
}

// podsBut returns the pods that are not there any more.
func (s *store) podsBut(there map[types.UID]bool) []*corev1.Pod {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var gone []*corev1.Pod
	for uid, pod := range s.pods {
		if !there[uid] {
			gone = append(gone, pod)
		}
	}
	return gone
}

func (s *store) remove(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removePod(uid)
}
