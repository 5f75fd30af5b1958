package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/replicas"
)

// Workload keeps a number of equal pods up, as a ReplicaSet does.
type Workload struct {
	Name     string
	Replicas int
	Doubtful bool              // something may keep its pods from being made
	Labels   map[string]string // besides app=Name
	Spec     corev1.PodSpec
	// Stateful: it is a StatefulSet, whose pods have names of their own, so that a
	// successor comes only when its predecessor is gone.
	Stateful bool
	// Finalizers hold its pods when they are deleted; see Release.
	Finalizers []string
	// Annotations are those of its pods.
	Annotations map[string]string
	// Revision: it is a Deployment, which replaces pods of another one step by step.
	Revision string
	// Surge is the Deployment's annotation. Autoscaled: an autoscaler scales it.
	Surge      string
	Autoscaled bool
	// Unready: pods that start do not become ready as long as it says so.
	Unready bool
	// Job: its pods end by themselves after so long, and are not made again.
	Job time.Duration
	// Lifetime says after how long the n-th pod ends and is replaced; nil: none does. A pod
	// in the place of one that was evicted has the rest of its time.
	Lifetime func(n int) time.Duration
}

// Budget is a disruption budget.
type Budget = replicas.Budget

// Requests returns a pod spec with one container that requests the amounts.
func Requests(cpu, memory string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{
		Name:      "main",
		Resources: corev1.ResourceRequirements{Requests: resources(cpu, memory)},
	}}}
}

func resources(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse(memory),
	}
}

func (w controllers) reconcileWorkloads() {
	all := replicas.ByWorkload(w.pods)
	for _, name := range slices.Sorted(maps.Keys(w.workloads)) {
		load := w.workloads[name]
		if load.Stateful {
			w.reconcileStateful(load)
			continue
		}
		pods := all[name]
		replicas.Order(pods)
		if w.rollOut(load, pods) {
			continue
		}
		for range w.atOnce(load.Replicas - len(pods)) {
			w.addPod(load, "")
		}
		for _, p := range pods[min(load.Replicas, len(pods)):] {
			w.stop(p)
		}
	}
}

// reconcileStateful makes the pods of a StatefulSet that are missing, and stops those
// that are too many.
func (w controllers) reconcileStateful(load *Workload) {
	there := map[string]bool{}
	for _, p := range w.pods {
		there[p.Name] = true
	}
	for i := range load.Replicas {
		if name := fmt.Sprintf("%s-%d", load.Name, i); !there[name] {
			w.addPod(load, name)
		}
	}
	for _, p := range replicas.Of(w.pods, load.Name) {
		ordinal, err := strconv.Atoi(strings.TrimPrefix(p.Name, load.Name+"-"))
		if err == nil && ordinal >= load.Replicas {
			w.stop(p)
		}
	}
}

// rollOut replaces pods of other revisions: a quarter more may be there than are wanted,
// and a quarter fewer may run. It reports whether there were any.
func (w controllers) rollOut(load *Workload, pods []*corev1.Pod) bool {
	var old []*corev1.Pod
	running := 0
	for _, p := range pods {
		if p.Labels[revision] != load.Revision {
			old = append(old, p)
		}
		if p.Status.Phase == corev1.PodRunning {
			running++
		}
	}
	if len(old) == 0 {
		return false
	}
	surge, missing := (load.Replicas+3)/4, load.Replicas/4
	for range min(load.Replicas-(len(pods)-len(old)), load.Replicas+surge-len(pods)) {
		w.addPod(load, "")
	}
	for _, p := range slices.Backward(old) {
		if p.Status.Phase == corev1.PodRunning {
			if running <= load.Replicas-missing {
				break
			}
			running--
		}
		w.stop(p)
	}
	return true
}

// revision is the label of a pod's revision.
const revision = appsv1.DefaultDeploymentUniqueLabelKey

// kind is the kind of its owner.
func (l *Workload) kind() string {
	switch {
	case l.Stateful:
		return "StatefulSet"
	case l.Job > 0:
		return "Job"
	}
	return "ReplicaSet"
}

// owner is the object that its pods belong to.
func (l *Workload) owner() string {
	if l.Revision != "" {
		return l.Name + "-" + l.Revision
	}
	return l.Name
}

// atOnce is how many of the pods that a workload lacks it makes this time.
func (w controllers) atOnce(missing int) int {
	if most := w.options.ControllerPods; most > 0 {
		return min(missing, most)
	}
	return missing
}

// addPod makes a pod, under a name of its own where none is given.
func (w controllers) addPod(load *Workload, name string) {
	uid := w.uid()
	if name == "" {
		name = fmt.Sprintf("%s-%s", load.Name, uid)
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: name, UID: uid, Finalizers: load.Finalizers,
			Labels: map[string]string{"app": load.Name}, Annotations: maps.Clone(load.Annotations), CreationTimestamp: w.now(),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: load.kind(), Name: load.owner(), UID: types.UID("workload/" + load.owner()), Controller: ptr.To(true),
			}},
		},
		Spec:   *load.Spec.DeepCopy(),
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	maps.Copy(p.Labels, load.Labels)
	if load.Revision != "" {
		p.Labels[revision] = load.Revision
	}
	w.pods[uid] = p
	w.moves.Succeeds(p)
	w.changed()
}

func daemonSet(name string, template *corev1.PodTemplateSpec) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, UID: "daemonset"},
		Spec:       appsv1.DaemonSetSpec{Template: *template},
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
			p := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: metav1.NamespaceDefault, Name: fmt.Sprintf("%s-%s", name, uid), UID: uid,
					OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(daemonSet(name, template), appsv1.SchemeGroupVersion.WithKind("DaemonSet"))},
				},
				Spec: *template.Spec.DeepCopy(),
			}
			w.pods[uid] = p
			w.bind(p, node)
		}
	}
}

func (w controllers) bind(p *corev1.Pod, node string) {
	p.Spec.NodeName = node
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: w.now()}}
	if w.kubelets().hasKubelet(node) {
		w.run(p)
	}
	w.audit.placed(w.world, p)
	w.moves.Lands(p)
	w.changed()
}

// run starts a pod, or refuses it where the node has less room than was predicted.
func (w controllers) run(p *corev1.Pod) {
	if p.Status.Phase == corev1.PodFailed || p.Status.Phase != corev1.PodRunning && w.kubelets().refuse(p) {
		return
	}
	if p.Status.Phase != corev1.PodRunning {
		p.Status.Phase = corev1.PodRunning
		w.serve(p)
		w.endLater(p)
	}
	if p.DeletionTimestamp != nil {
		w.stopLater(p)
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
					w.stop(p)
				}
			})
		})
	}
}

// stop deletes a pod: at once if it is not bound, else when its kubelet has
// stopped it, which a kubelet that never comes up never does.
func (w controllers) stop(p *corev1.Pod) {
	if p.DeletionTimestamp != nil {
		return
	}
	if p.Spec.NodeName == "" {
		delete(w.pods, p.UID)
		w.changed()
		return
	}
	const usualGrace = 30
	by := metav1.NewTime(w.now().Add(time.Duration(ptr.Deref(p.Spec.TerminationGracePeriodSeconds, usualGrace)) * time.Second))
	p.DeletionTimestamp = &by // as in Kubernetes, when it must have stopped
	if w.kubelets().hasKubelet(p.Spec.NodeName) {
		w.stopLater(p)
	}
	w.changed()
}

func (w controllers) stopLater(p *corev1.Pod) {
	time.AfterFunc(w.options.StopTime, func() {
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
