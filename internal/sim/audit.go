package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/election"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/replicas"
)

// audit notes what a test cannot see afterwards.
type audit struct {
	peak    map[string]amount.List // by Provisioner: the most capacity that its machines had together
	cut     []string               // pods that an agent ended although they ran and could have been asked to stop
	usurped []string               // calls of processes that had lost the lease
	missed  []string               // what made fewer pods of a Deployment ready than are wanted, which had asked for surge, or disrupted protected ones
	sent    metav1.Time            // when the call was sent that takes effect now
	late    bool                   // its process was stopped meanwhile
}

// acted notes a change by a process whose lease another one may have taken, unless
// it was on its way when the process was stopped: nothing can call it back.
func (a *audit) acted(w *world, held *election.Term, call string, sent metav1.Time, late bool) {
	a.sent, a.late = sent, late
	if held != nil && !w.election.Leads(held) && !late && !slices.Contains(reads, call) {
		a.usurped = append(a.usurped, call)
	}
}

// bought adds up the machines of a Provisioner that are not on their way out.
func (a *audit) bought(w *world, provisioner string) {
	sum := amount.List{}
	for _, m := range w.machines {
		if m.Provisioner != provisioner || m.State == offer.StateGone || m.State == offer.StateStopping {
			continue
		}
		if t := w.stock.Type(m.InstanceType); t != nil {
			sum = sum.Plus(t.Capacity)
		}
	}
	a.peak[provisioner] = a.peak[provisioner].Max(sum)
}

// placed notes that a machine serves a workload.
func (a *audit) placed(w *world, p *corev1.Pod) {
	if o := metav1.GetControllerOf(p); o != nil && o.Kind == "DaemonSet" {
		return
	}
	for _, m := range w.machines {
		if m.NodeName == p.Spec.NodeName || m.node == p.Spec.NodeName {
			m.used = true
		}
	}
}

// terminated notes the pods that run on a machine which an agent gives back.
func (a *audit) terminated(w *world, m *machine) {
	if m == nil || !m.up || m.silent || m.State == offer.StateStopping {
		return
	}
	if n := w.nodes[m.node]; a.late && n != nil && !n.CreationTimestamp.Before(&a.sent) {
		return // its kubelet has registered since: nobody could have closed the node, or called the order back
	}
	for _, p := range w.pods {
		if p.Spec.NodeName == m.node {
			a.cutOff(w, p)
		}
	}
}

// cutOff notes a pod of a workload that an agent ends without asking, if it runs
// where somebody could have stopped it.
func (a *audit) cutOff(w *world, p *corev1.Pod) {
	o := metav1.GetControllerOf(p)
	if m := w.kubelets().machineOf(p.Spec.NodeName); m != nil && m.State == offer.StateStopping {
		return // its machine ends in any case
	}
	if p.Annotations[stopped] != "" || p.DeletionTimestamp != nil && !w.now().Time.Before(p.DeletionTimestamp.Time) {
		return // it has stopped, or had the time to
	}
	if p.Status.Phase != corev1.PodRunning || !w.kubelets().hasKubelet(p.Spec.NodeName) || o == nil || o.Kind == "DaemonSet" {
		return
	}
	a.cut = append(a.cut, fmt.Sprintf("%s on %s", p.Name, p.Spec.NodeName))
}

// scaled notes that an agent scales a Deployment below what users want.
func (a *audit) scaled(w *world, name string, replicas int) {
	if wished := w.scales[name].Wished; replicas < wished {
		a.missed = append(a.missed, fmt.Sprintf("%s was scaled to %d, and users want %d", name, replicas, wished))
	}
}

// letGo notes the pods that surge should have moved, and those that may not be disrupted, when an agent deletes
// a node voluntarily.
func (a *audit) letGo(w *world, n *corev1.Node) {
	m := w.kubelets().machineOf(n.Name)
	p := w.provisioners[n.Labels[api.LabelProvisioner]]
	if n.Annotations[api.AnnotationDisruption] == "" || n.Annotations[api.AnnotationRemade] != "" || n.DeletionTimestamp != nil || m == nil || m.State != offer.StateRunning || m.node != m.NodeName || m.noticed || m.silent || p == nil || p.DeletionTimestamp != nil {
		return // it is not voluntary, such as that of a node that a person has removed by force, or the machine has another Node object too
	}
	for _, pod := range w.pods {
		if pod.Spec.NodeName == n.Name && pod.Annotations[api.AnnotationDoNotDisrupt] == "true" && replicas.Active(pod) {
			a.missed = append(a.missed, fmt.Sprintf("node %s was let go with the protected %s", n.Name, pod.Name))
		}
		load := w.workloads[pod.Labels["app"]]
		if load != nil && load.Surges() && pod.Spec.NodeName == n.Name && replicas.Active(pod) && replicas.Ready(pod) {
			a.missed = append(a.missed, fmt.Sprintf("node %s was let go with %s", n.Name, pod.Name))
		}
	}
}

func (w Records) noted(in *[]string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(*in)
}

// Missed lists what agents did that made fewer pods of Deployments ready than are wanted, where
// they had asked for surge, and the nodes that they gave up voluntarily with protected pods.
func (w Records) Missed() []string { return w.noted(&w.audit.missed) }

// Peak returns the most capacity that the machines of a Provisioner have had
// together, those on their way out not counted.
func (w Records) Peak(provisioner string) amount.List {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.audit.peak[provisioner])
}

// CutOff lists the pods of workloads that an agent ended without asking although
// they ran and could have been stopped in order.
func (w Records) CutOff() []string { return w.noted(&w.audit.cut) }

// Usurped lists the calls with an effect of processes that had lost the lease.
func (w Records) Usurped() []string { return w.noted(&w.audit.usurped) }

// Unused lists the machines, gone or not, that came up under the right name and on which no pod of a
// workload was ever placed, sorted by id.
func (w Records) Unused() []offer.Instance {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []offer.Instance
	for _, m := range append(slices.Collect(maps.Values(w.machines)), w.past...) {
		if m.booted && m.node == m.NodeName && !m.used {
			out = append(out, m.Instance)
		}
	}
	slices.SortFunc(out, func(a, b offer.Instance) int { return strings.Compare(a.ID, b.ID) })
	return out
}
