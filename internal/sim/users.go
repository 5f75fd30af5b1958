package sim

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/replicas"
)

// edit runs a change by a user.
func (w *world) edit(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	w.changed()
}

// Apply creates a Provisioner or replaces its spec.
func (w Users) Apply(p *api.Provisioner) {
	w.edit(func() {
		known := w.provisioners[p.Name]
		if known == nil {
			known = p.DeepCopy()
			known.UID, known.CreationTimestamp = w.uid(), w.now()
			w.provisioners[p.Name] = known
		}
		p.Spec.DeepCopyInto(&known.Spec)
		known.Source, known.Generation = p.Source.DeepCopy(), known.Generation+1
	})
}

// Remark has the processes read a Provisioner's text with findings. Errors make it
// unreadable; nil makes it readable again.
func (w Users) Remark(name string, found finding.List) {
	w.edit(func() { w.readings[name] = found })
}

// ApplyTemplate creates a node profile or replaces its spec.
func (w Users) ApplyTemplate(t *api.AWSNodeTemplate) {
	w.edit(func() { w.templates[t.Name] = t.DeepCopy() })
}

// DeleteProvisioner asks for a Provisioner's deletion.
func (w Users) DeleteProvisioner(name string) {
	w.edit(func() {
		if p := w.provisioners[name]; p != nil && p.DeletionTimestamp == nil {
			now := w.now()
			p.DeletionTimestamp = &now
			w.collectProvisioner(p)
		}
	})
}

// collectProvisioner removes a Provisioner that nothing holds any more, and then
// what it owns.
func (w *world) collectProvisioner(p *api.Provisioner) {
	if p.DeletionTimestamp == nil || len(p.Finalizers) > 0 {
		return
	}
	delete(w.provisioners, p.Name)
	for _, n := range w.nodes {
		if slices.ContainsFunc(n.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == p.UID }) {
			w.deleteNode(n.Name)
		}
	}
}

// Deploy creates a workload or replaces it.
func (w Users) Deploy(load Workload) { w.edit(func() { w.put(&load, false) }) }

// Scale changes the number of a workload's pods.
func (w Users) Scale(name string, replicas int) {
	w.edit(func() { w.alter(name, false, func(load *Workload) { load.Replicas = replicas }) })
}

// SetUnready says whether pods of a workload that start now become ready. Those that have
// not become ready do so when it ends.
func (w Users) SetUnready(name string, unready bool) {
	w.edit(func() { w.alter(name, false, func(load *Workload) { load.Unready = unready }) })
}

// Undeploy removes a workload with its pods.
func (w Users) Undeploy(name string) {
	w.edit(func() {
		delete(w.workloads, name)
		for _, p := range replicas.Of(w.pods, name) {
			w.controllers().stop(p, 0)
		}
	})
}

// Leave ends those pods for which the function says so, and lowers the replicas of their
// workloads by them. It is asked in the order of the pods' creation.
func (w Users) Leave(which func(*corev1.Pod) bool) {
	w.edit(func() {
		for _, uid := range slices.Sorted(maps.Keys(w.pods)) {
			p := w.pods[uid]
			load := w.workloads[p.Labels["app"]]
			if load == nil || p.DeletionTimestamp != nil || !which(p) {
				continue
			}
			w.alter(load.Name, false, func(load *Workload) { load.Replicas-- })
			w.controllers().stop(p, 0)
		}
	})
}

// DaemonSet runs a pod on every node.
func (w Users) DaemonSet(name string, spec corev1.PodSpec) {
	w.edit(func() { w.daemonSets[name] = &corev1.PodTemplateSpec{Spec: spec} })
}

// Protect adds a disruption budget, or replaces the one of that name.
func (w Users) Protect(b Budget) {
	w.edit(func() {
		w.budgets = append(slices.DeleteFunc(w.budgets, func(o Budget) bool { return o.Name == b.Name }), b)
	})
}

// AddPod puts a pod into the cluster as it is.
func (w Users) AddPod(p *corev1.Pod) {
	w.edit(func() {
		p = p.DeepCopy()
		p.Namespace, p.UID, p.CreationTimestamp = metav1.NamespaceDefault, w.uid(), w.now()
		if p.Spec.NodeName != "" && p.Status.Phase == "" {
			p.Status.Phase = corev1.PodRunning
		}
		w.pods[p.UID] = p
	})
}

// Release takes the finalizers off the pods of a workload.
func (w Users) Release(workload string) {
	w.edit(func() {
		w.alter(workload, false, func(load *Workload) { load.Finalizers = nil })
		for uid, p := range w.pods {
			if !replicas.Belongs(p, workload) {
				continue
			}
			if p.Finalizers = nil; p.Annotations[stopped] != "" {
				delete(w.pods, uid)
			}
		}
	})
}

// DeletePods deletes all pods of a workload, which makes it create new ones.
func (w Users) DeletePods(workload string) {
	w.edit(func() {
		for _, p := range replicas.Of(w.pods, workload) {
			w.controllers().stop(p, 0)
		}
	})
}

// AddNode puts a node into the cluster as it is. Its pods run.
func (w Users) AddNode(n *corev1.Node) {
	w.edit(func() {
		n = n.DeepCopy()
		n.UID, n.CreationTimestamp = w.uid(), cmp.Or(n.CreationTimestamp, w.now())
		w.nodes[n.Name] = n
	})
}

// DeleteNode asks for a node's deletion, as a person does.
func (w Users) DeleteNode(name string) { w.edit(func() { w.deleteNode(name) }) }

// Untaint removes the taints of a key, as whoever owns a startup taint does.
func (w Users) Untaint(node, key string) {
	w.EditNode(node, func(n *corev1.Node) {
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
	})
}

// Taint adds a taint to a node.
func (w Users) Taint(node string, taint corev1.Taint) {
	w.EditNode(node, func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, taint) })
}

// AddFinalizer lets another program hold a node.
func (w Users) AddFinalizer(node, finalizer string) {
	w.EditNode(node, func(n *corev1.Node) { n.Finalizers = append(n.Finalizers, finalizer) })
}

// Attach says which volumes are attached to a node.
func (w Users) Attach(node string, volumes ...string) {
	w.EditNode(node, func(n *corev1.Node) {
		n.Status.VolumesAttached = nil
		for _, v := range volumes {
			n.Status.VolumesAttached = append(n.Status.VolumesAttached, corev1.AttachedVolume{Name: corev1.UniqueVolumeName(v)})
		}
	})
}

// EditNode changes a Node object, as anybody who may write it can.
func (w Users) EditNode(name string, change func(*corev1.Node)) {
	w.edit(func() {
		if n := w.nodes[name]; n != nil {
			change(n)
			w.collect(n)
		}
	})
}
