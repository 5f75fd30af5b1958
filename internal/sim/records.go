package sim

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Nodes returns copies of the nodes, sorted by name.
func (w Records) Nodes() []*corev1.Node {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*corev1.Node
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		out = append(out, w.nodes[name].DeepCopy())
	}
	return out
}

// Pods returns copies of the pods, sorted by UID, which is the order of their creation.
func (w Records) Pods() []*corev1.Pod {
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
func (w Records) Machines() []offer.Instance {
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
func (w Records) Launches() []offer.Order {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.launches)
}

// Forgotten returns how often what was made for a Provisioner was removed.
func (w Records) Forgotten(provisioner string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.forgotten[provisioner]
}

// LaunchTemplates names the Provisioners that have launch templates in the cloud.
func (w Records) LaunchTemplates() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.launchTemplates))
}

// Sweeps returns how often a process asked for unused resources to be removed.
func (w Records) Sweeps() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sweeps
}

// Events returns the events of one reason, oldest first.
func (w Records) Events(reason string) []Event {
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
func (w Records) Provisioner(name string) *api.Provisioner {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.provisioners[name].DeepCopy()
}

// NodeTemplate returns a copy, or nil if there is none of that name.
func (w Records) NodeTemplate(name string) *api.AWSNodeTemplate {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.templates[name].DeepCopy()
}
