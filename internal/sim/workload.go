package sim

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/replicas"
)

// Workload keeps a number of equal pods up. Release takes its Finalizers off its pods.
type Workload = replicas.Workload

// Budget is a disruption budget.
type Budget = replicas.Budget

// Requests returns a pod spec with one container that requests the amounts.
func Requests(cpu, memory string) corev1.PodSpec { return replicas.Requests(cpu, memory) }

// reconcileWorkloads makes and stops pods as their workloads want it.
func (w controllers) reconcileWorkloads() {
	active := replicas.ByWorkload(w.pods)
	for _, name := range slices.Sorted(maps.Keys(w.workloads)) {
		load := w.workloads[name]
		change := load.Change(active[name], w.pods, w.options.ControllerPods)
		for _, name := range change.Make {
			p := load.Pod(w.uid(), name, w.now())
			w.pods[p.UID] = p
			w.moves.Succeeds(p)
			w.changed()
		}
		for _, p := range change.Stop {
			w.stop(p, 0)
		}
	}
}

// reconcileDaemonSets runs one pod of each on each node whose kubelet is up.
func (w controllers) reconcileDaemonSets() {
	for name, template := range w.daemonSets {
		has := map[string]bool{}
		for _, p := range replicas.Of(w.pods, name) {
			has[p.Spec.NodeName] = true
		}
		for node, n := range w.nodes {
			if has[node] || !w.kubelets().hasKubelet(node) || n.DeletionTimestamp != nil {
				continue
			}
			uid := w.uid()
			p := replicas.DaemonPod(replicas.DaemonSet(name, template), uid)
			w.pods[uid] = p
			w.bind(p, node)
		}
	}
}

func (w controllers) bind(p *corev1.Pod, node string) {
	p.Spec.NodeName = node
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: w.now()}}
	w.revise(p)
	if w.kubelets().hasKubelet(node) {
		w.run(p)
	}
	w.audit.placed(w.world, p)
	w.moves.Lands(p)
	w.changed()
}

// revise gives a pod that has changed another resource version.
func (w controllers) revise(p *corev1.Pod) {
	w.revisions++
	p.ResourceVersion = strconv.Itoa(w.revisions)
}

// run starts a pod, or refuses it where the node has less room than was predicted.
func (w controllers) run(p *corev1.Pod) {
	if p.Status.Phase == corev1.PodFailed || p.Status.Phase != corev1.PodRunning && w.kubelets().refuse(p) {
		return
	}
	if p.Status.Phase != corev1.PodRunning {
		p.Status.Phase = corev1.PodRunning
		w.serve(p)
		w.revise(p)
		w.endLater(p)
	}
	if p.DeletionTimestamp != nil {
		w.stopLater(p, w.options.StopTime)
	}
}

// serve makes a pod that runs ready, unless its workload says otherwise.
func (w controllers) serve(p *corev1.Pod) {
	load := w.workloads[p.Labels["app"]]
	if p.Status.Phase == corev1.PodRunning && !replicas.Ready(p) && (load == nil || !load.Unready) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: w.now()})
	}
}

// endLater ends a pod whose workload says how long it runs.
func (w controllers) endLater(p *corev1.Pod) {
	load := w.workloads[p.Labels["app"]]
	switch {
	case load == nil:
	case load.Job > 0:
		time.AfterFunc(load.Job, func() {
			w.edit(func() {
				if w.pods[p.UID] == p && p.DeletionTimestamp == nil {
					delete(w.pods, p.UID)
					delete(w.workloads, load.Name)
				}
			})
		})
	case load.Lifetime != nil:
		time.AfterFunc(w.moves.Lifetime(p, load.Lifetime), func() {
			w.edit(func() {
				if w.pods[p.UID] == p {
					w.stop(p, 0)
				}
			})
		})
	}
}

// stop deletes a pod: at once if it is not bound, else when its kubelet has
// stopped it, which a kubelet that never comes up never does. A second time can only be shorter.
func (w controllers) stop(p *corev1.Pod, within time.Duration) {
	if p.Spec.NodeName == "" {
		delete(w.pods, p.UID)
		w.changed()
		return
	}
	grace := time.Duration(ptr.Deref(p.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)) * time.Second
	by := metav1.NewTime(w.now().Add(cmp.Or(within, grace)))
	if p.DeletionTimestamp != nil && !by.Before(p.DeletionTimestamp) {
		return
	}
	p.DeletionTimestamp = &by // as in Kubernetes, when it must have stopped
	w.revise(p)
	if w.kubelets().hasKubelet(p.Spec.NodeName) {
		w.stopLater(p, min(cmp.Or(within, w.options.StopTime), w.options.StopTime))
	}
	w.changed()
}

func (w controllers) stopLater(p *corev1.Pod, after time.Duration) {
	time.AfterFunc(after, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.kubelets().hasKubelet(p.Spec.NodeName) && w.pods[p.UID] == p {
			w.removePod(p)
		}
	})
}

// removePod removes a pod that nothing holds, and notes of the others that they have
// stopped.
func (w controllers) removePod(p *corev1.Pod) {
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, stopped, "true")
	if len(p.Finalizers) == 0 {
		delete(w.pods, p.UID)
	}
	w.changed()
}

// stopped marks pods that are there for the sake of their finalizers only.
const stopped = "sim/stopped"

// controllers make and stop pods.
type controllers struct{ *world }

func (w *world) controllers() controllers { return controllers{w} }
