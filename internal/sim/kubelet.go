package sim

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/kubelet"
)

// kubelets run the pods of machines.
type kubelets struct{ *world }

func (w *world) kubelets() kubelets { return kubelets{w} }

// boot brings a machine's kubelet up: it takes its Node object over, or creates it
// from what its user data says.
func (w kubelets) boot(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.machines[id]
	if m == nil || m.State == offer.StateGone {
		return
	}
	m.up, m.booted = true, true
	if w.pluginsAfter != nil {
		after := w.pluginsAfter(m.Instance)
		if m.bare = after != 0; after > 0 {
			time.AfterFunc(after, func() { w.plug(id, true) })
		}
	}
	if m.State == offer.StatePending {
		m.State = offer.StateRunning
	}
	if w.nodes[m.node] == nil {
		w.nodes[m.node] = kubelet.Register(m.node, m.spec, w.uid(), w.now())
	}
	w.report(m)
	w.changed()
}

// plug makes the device plugins of a machine register, or takes their devices away.
func (w kubelets) plug(id string, in bool) {
	w.edit(func() {
		m := w.machines[id]
		if m == nil || !m.up || w.nodes[m.node] == nil {
			return
		}
		m.bare = !in
		w.describe(w.nodes[m.node], m)
		w.runPods(m.node)
	})
}

// registerAgain brings the Node objects of machines back that are shutting down:
// their kubelets do not know that they are to go. Each does so once.
func (w kubelets) registerAgain() {
	for _, m := range w.machines {
		if m.up && m.State == offer.StateStopping && w.nodes[m.node] == nil && !m.again {
			m.again = true
			w.nodes[m.node] = kubelet.Register(m.node, m.spec, w.uid(), w.now())
			w.report(m)
			w.changed()
		}
	}
}

// report is the kubelet's first: what the machine is, and that it is ready.
func (w kubelets) report(m *machine) {
	n := w.nodes[m.node]
	w.describe(n, m)
	n.Spec.ProviderID = m.ProviderID
	kubelet.Answer(n, w.now())
	w.runPods(n.Name)
}

func (w kubelets) runPods(node string) {
	for _, p := range w.pods {
		if p.Spec.NodeName == node {
			w.controllers().run(p)
		}
	}
}

// failedTime is how long a failed pod is kept.
const failedTime = 30 * time.Second

// refuse fails a pod for which the node has no room, and reports whether it did so.
func (w kubelets) refuse(p *corev1.Pod) bool {
	free := amount.FromResourceList(w.nodes[p.Spec.NodeName].Status.Allocatable)
	for _, other := range w.pods {
		if pod, ok := w.convert(other); ok && other != p && pod.NodeName == p.Spec.NodeName && other.Status.Phase == corev1.PodRunning {
			free = free.Minus(pod.Template.Requests)
		}
	}
	pod, _ := w.convert(p)
	if pod.Template.Requests.Fits(free) {
		return false
	}
	p.Status.Phase, p.Status.Reason = corev1.PodFailed, "OutOfmemory"
	time.AfterFunc(failedTime, func() { w.edit(func() { delete(w.pods, p.UID) }) })
	w.changed()
	return true
}

// silence stops a kubelet from answering, or lets it answer again.
func (w kubelets) silence(node string, silent bool) {
	for _, m := range w.machines {
		if m.node == node && m.up {
			m.silent = silent
		}
	}
	n, m := w.nodes[node], w.machineOf(node)
	if n == nil || m == nil || !m.up {
		return // its Node object may come back
	}
	if silent {
		kubelet.FallSilent(n, w.now())
		for _, p := range w.pods {
			if p.Spec.NodeName == node {
				w.giveUp(p, w.now().Time)
			}
		}
		return
	}
	w.report(m)
}

// giveUp deletes a pod, as kube-controller-manager does, if its node's kubelet is silent for as long as the pod tolerates.
func (w kubelets) giveUp(p *corev1.Pod, since time.Time) {
	if patience, ends := kubelet.Patience(p); ends {
		time.AfterFunc(patience, func() {
			w.edit(func() {
				if n := w.nodes[p.Spec.NodeName]; n != nil && w.pods[p.UID] == p && cluster.FromNode(n, nil).SilentSince.Equal(since) {
					w.controllers().stop(p, 0)
				}
			})
		})
	}
}

// machineOf returns the machine behind a node, or nil.
func (w kubelets) machineOf(node string) *machine {
	n := w.nodes[node]
	if n == nil {
		return nil
	}
	for _, m := range w.machines {
		if m.node == node && m.ProviderID == n.Spec.ProviderID {
			return m
		}
	}
	return nil
}

func (w kubelets) describe(n *corev1.Node, m *machine) {
	kubelet.Describe(n, kubelet.Machine{
		Type: w.stock.Type(m.InstanceType), Name: m.InstanceType, Zone: m.Zone, Shortfall: w.shortfalls[m.InstanceType], Bare: m.bare,
	})
}

// hasKubelet reports whether somebody runs the pods of the node: nodes that no
// machine belongs to were put there by a test, and run them too.
func (w kubelets) hasKubelet(node string) bool {
	n := w.nodes[node]
	if n == nil {
		return false
	}
	if m := w.machineOf(node); m != nil {
		return m.up && !m.silent
	}
	for _, m := range w.machines {
		if m.ProviderID == n.Spec.ProviderID {
			return false // it registers under another name
		}
	}
	return true
}
