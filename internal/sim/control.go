package sim

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// edit runs a change by a user.
func (w *World) edit(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	w.changed()
}

// Apply creates a Provisioner or replaces its spec.
func (w *World) Apply(p *api.Provisioner) {
	w.edit(func() {
		known := w.provisioners[p.Name]
		if known == nil {
			known = p.DeepCopy()
			known.UID, known.CreationTimestamp = w.uid(), w.now()
			w.provisioners[p.Name] = known
		}
		p.Spec.DeepCopyInto(&known.Spec)
		known.Generation++
	})
}

// Remark has the processes read a Provisioner's text with findings. Errors make it
// unreadable; nil makes it readable again.
func (w *World) Remark(name string, found api.Findings) {
	w.edit(func() { w.readings[name] = found })
}

// ApplyTemplate creates a node profile or replaces its spec.
func (w *World) ApplyTemplate(t *api.AWSNodeTemplate) {
	w.edit(func() { w.templates[t.Name] = t.DeepCopy() })
}

// DeleteProvisioner asks for a Provisioner's deletion.
func (w *World) DeleteProvisioner(name string) {
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
func (w *World) collectProvisioner(p *api.Provisioner) {
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
func (w *World) Deploy(load Workload) { w.edit(func() { w.workloads[load.Name] = &load }) }

// Scale changes the number of a workload's pods.
func (w *World) Scale(name string, replicas int) {
	w.edit(func() {
		load := *w.workloads[name]
		load.Replicas = replicas
		w.workloads[name] = &load
	})
}

// DaemonSet runs a pod on every node.
func (w *World) DaemonSet(name string, spec corev1.PodSpec) {
	w.edit(func() { w.daemonSets[name] = &corev1.PodTemplateSpec{Spec: spec} })
}

// Protect adds a disruption budget, or replaces the one of that name.
func (w *World) Protect(b Budget) {
	w.edit(func() {
		w.budgets = slices.DeleteFunc(w.budgets, func(o Budget) bool { return o.Name == b.Name })
		w.budgets = append(w.budgets, b)
	})
}

// AddPod puts a pod into the cluster as it is.
func (w *World) AddPod(p *corev1.Pod) {
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
func (w *World) Release(workload string) {
	w.edit(func() {
		load := *w.workloads[workload]
		load.Finalizers = nil
		w.workloads[workload] = &load
		for uid, p := range w.pods {
			if o := metav1.GetControllerOf(p); o == nil || o.Name != workload {
				continue
			}
			if p.Finalizers = nil; p.Annotations[stopped] != "" {
				delete(w.pods, uid)
			}
		}
	})
}

// DeletePods deletes all pods of a workload, which makes it create new ones.
func (w *World) DeletePods(workload string) {
	w.edit(func() {
		for _, p := range w.podsOf(workload) {
			w.stop(p)
		}
	})
}

// AddNode puts a node into the cluster as it is. Its pods run.
func (w *World) AddNode(n *corev1.Node) {
	w.edit(func() {
		n = n.DeepCopy()
		n.UID = w.uid()
		if n.CreationTimestamp.IsZero() {
			n.CreationTimestamp = w.now()
		}
		w.nodes[n.Name] = n
	})
}

// DeleteNode asks for a node's deletion, as a person does.
func (w *World) DeleteNode(name string) { w.edit(func() { w.deleteNode(name) }) }

// Untaint removes the taints of a key, as whoever owns a startup taint does.
func (w *World) Untaint(node, key string) {
	w.edit(func() {
		if n := w.nodes[node]; n != nil {
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
		}
	})
}

// Taint adds a taint to a node.
func (w *World) Taint(node string, taint corev1.Taint) {
	w.edit(func() {
		if n := w.nodes[node]; n != nil {
			n.Spec.Taints = append(n.Spec.Taints, taint)
		}
	})
}

// AddFinalizer lets another program hold a node.
func (w *World) AddFinalizer(node, finalizer string) {
	w.edit(func() {
		if n := w.nodes[node]; n != nil {
			n.Finalizers = append(n.Finalizers, finalizer)
		}
	})
}

// Capacity limits how many more machines an offering can serve.
func (w *World) Capacity(instanceType, zone, capacityType string, machines int) {
	w.edit(func() { w.pools[pool{instanceType, zone, capacityType}] = machines })
}

// Quota limits how many more machines of a capacity type the account may have.
func (w *World) Quota(capacityType string, machines int) {
	w.edit(func() { w.pools[quotaOf(capacityType)] = machines })
}

// UnlimitedCapacity lifts all limits of Capacity and Quota.
func (w *World) UnlimitedCapacity() { w.edit(func() { clear(w.pools) }) }

// NeverBoots makes machines launched from now on never come up if the function
// says so; nil lets all come up.
func (w *World) NeverBoots(f func(offer.Instance) bool) { w.edit(func() { w.neverBoots = f }) }

// BootsAs makes machines launched from now on register under the name that the
// function returns; empty means the right one. Nil ends it.
func (w *World) BootsAs(f func(offer.Instance) string) { w.edit(func() { w.bootsAs = f }) }

// PluginsAfter makes the device plugins of machines that boot from now on register the
// given time after their kubelets, or never where it is negative; nil makes them be
// there from the start.
func (w *World) PluginsAfter(f func(offer.Instance) time.Duration) {
	w.edit(func() { w.pluginsAfter = f })
}

// LoseDevices ends the device plugins of a machine: its kubelet reports none of their
// devices any more.
func (w *World) LoseDevices(id string) { w.plug(id, false) }

// Shortfall makes kubelets of a type that come up from now on report less memory
// than its machines have by the catalogue.
func (w *World) Shortfall(instanceType string, bytes int64) {
	w.edit(func() { w.shortfalls[instanceType] = bytes })
}

// Attach says which volumes are attached to a node.
func (w *World) Attach(node string, volumes ...string) {
	w.edit(func() {
		if n := w.nodes[node]; n != nil {
			n.Status.VolumesAttached = nil
			for _, v := range volumes {
				n.Status.VolumesAttached = append(n.Status.VolumesAttached, corev1.AttachedVolume{Name: corev1.UniqueVolumeName(v)})
			}
		}
	})
}

// TerminateInstance ends a machine behind everybody's back.
func (w *World) TerminateInstance(id string) { w.edit(func() { w.terminate(id) }) }

// Untag takes the tags from a machine by which the cloud lists it; all of them, or so
// that they can be put back.
func (w *World) Untag(id string, all bool) {
	w.edit(func() {
		if m := w.machines[id]; m != nil {
			m.untagged, m.forgotten = true, all
		}
	})
}

// TagAll puts the tags of all machines back, as a person does.
func (w *World) TagAll() {
	w.edit(func() {
		for _, m := range w.machines {
			m.untagged, m.forgotten = false, false
		}
	})
}

// EditNode changes a Node object, as anybody who may write it can.
func (w *World) EditNode(name string, change func(*corev1.Node)) {
	w.edit(func() {
		if n := w.nodes[name]; n != nil {
			change(n)
			w.collect(n)
		}
	})
}

// StopKubelet silences a node's kubelet for a while: the node is not ready, and
// nothing is started or stopped there.
func (w *World) StopKubelet(node string, d time.Duration) {
	w.edit(func() { w.silence(node, true) })
	time.AfterFunc(d, func() { w.edit(func() { w.silence(node, false) }) })
}

// Nodes returns copies of the nodes, sorted by name.
func (w *World) Nodes() []*corev1.Node {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*corev1.Node
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		out = append(out, w.nodes[name].DeepCopy())
	}
	return out
}

// Pods returns copies of the pods, sorted by UID, which is the order of their creation.
func (w *World) Pods() []*corev1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*corev1.Pod
	for _, uid := range slices.Sorted(maps.Keys(w.pods)) {
		out = append(out, w.pods[uid].DeepCopy())
	}
	return out
}

// Machines returns the instances that are not gone, sorted by id. They are Owned
// unless they have lost all their tags.
func (w *World) Machines() []offer.Instance {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []offer.Instance
	for _, id := range slices.Sorted(maps.Keys(w.machines)) {
		if w.machines[id].State != offer.StateGone {
			m := w.machines[id].Instance
			m.Owned = !w.machines[id].forgotten
			out = append(out, m)
		}
	}
	return out
}

// Launches returns the orders that were served, oldest first.
func (w *World) Launches() []offer.Order {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.launches)
}

// Forgotten returns how often what was made for a Provisioner was removed.
func (w *World) Forgotten(provisioner string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.forgotten[provisioner]
}

// LaunchTemplates names the Provisioners that have launch templates in the cloud.
func (w *World) LaunchTemplates() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.launchTemplates))
}

// Sweeps returns how often a process asked for unused resources to be removed.
func (w *World) Sweeps() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sweeps
}

// Events returns the events of one reason, oldest first.
func (w *World) Events(reason string) []Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Event
	for _, e := range w.events {
		if e.Reason == reason {
			out = append(out, e)
		}
	}
	return out
}

// Provisioner returns a copy, or nil if there is none of that name.
func (w *World) Provisioner(name string) *api.Provisioner {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.provisioners[name]; p != nil {
		return p.DeepCopy()
	}
	return nil
}

// NodeTemplate returns a copy, or nil if there is none of that name.
func (w *World) NodeTemplate(name string) *api.AWSNodeTemplate {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.templates[name]; t != nil {
		return t.DeepCopy()
	}
	return nil
}

func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
