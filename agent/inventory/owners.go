package inventory

import (
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/drain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// owners knows to which Provisioner each machine belongs, by the tags of its instance when it was
// last listed. The labels of the Node object say so too, but programs on the node may change them.
type owners struct {
	mu       sync.Mutex
	machines map[string]offer.Instance // by provider id
	listed   map[string]time.Time      // by provider id: when it was last listed, or bought
	noded    map[string]bool           // by provider id: they had a Node object
	untagged map[string]bool           // by instance id: without the tags of the cluster
}

func newOwners() *owners {
	return &owners{machines: map[string]offer.Instance{}, listed: map[string]time.Time{}, untagged: map[string]bool{}}
}

// learn notes the instances that the cloud has listed. An instance that is not listed stays known as
// long as it has a node, or may be too young to be listed.
func (o *owners) learn(instances []offer.Instance) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.machines, func(provider string, i offer.Instance) bool {
		return !o.noded[provider] && time.Since(i.LaunchedAt) > offer.ListingLag
	})
	maps.DeleteFunc(o.listed, func(_ string, at time.Time) bool { return time.Since(at) > offer.ListingLag })
	clear(o.untagged)
	for _, i := range instances {
		// As long as Karpenter knows an instance, its node may not be taken over yet. It
		// would look as if it had drifted from the NodePool, which it was not built from here.
		if i.LaunchID != "" && i.Provisioner != "" && i.Tags[api.LabelNodePool] == "" {
			o.machines[i.ProviderID], o.listed[i.ProviderID] = i, time.Now()
		}
	}
}

// leftOut returns the machines that ran when they were listed or bought within the last minute, and that
// an answer of the cloud does not have. They count: a machine that has ended is listed for longer.
func (o *owners) leftOut(answer []offer.Instance) (out []offer.Instance) {
	there := make(map[string]bool, len(answer))
	for _, i := range answer {
		there[i.ProviderID] = true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for provider, i := range o.machines {
		runs := i.State == offer.StatePending || i.State == offer.StateRunning
		if at, known := o.listed[provider]; known && runs && !there[provider] && time.Since(at) < offer.ListingLag {
			out = append(out, i)
		}
	}
	return out
}

// own notes whose an instance is.
func (o *owners) own(i offer.Instance) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.machines[i.ProviderID], o.listed[i.ProviderID] = i, time.Now()
}

// untag notes an instance that has lost the tags of the cluster.
func (o *owners) untag(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.untagged[id] = true
}

// Untagged reports whether an instance has lost the tags of the cluster.
func (o *owners) Untagged(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.untagged[id]
}

// Apply sets the Provisioner of each node to that of its machine. It does not change the argument,
// nor the labels in the result, which show what is to be put back.
func (o *owners) Apply(s *cluster.Snapshot) *cluster.Snapshot {
	o.mu.Lock()
	defer o.mu.Unlock()
	out, copied := *s, false
	for i := range s.Nodes {
		m, known := o.machines[s.Nodes[i].ProviderID]
		if !known || s.Nodes[i].Provisioner == m.Provisioner {
			continue
		}
		if !copied {
			out.Nodes, copied = slices.Clone(s.Nodes), true
		}
		out.Nodes[i].Provisioner = m.Provisioner
	}
	return &out
}

// missing returns what has to be put back on a node of a Provisioner, so that it is recognized.
func (o *owners) missing(n *cluster.Node) (change cluster.NodeChange, lost bool) {
	if n.Provisioner == "" || n.Deleting {
		return change, false
	}
	if !n.HeldBy(api.Finalizer) {
		if n.Annotations[api.AnnotationLaunchID] == "" {
			return change, false // it is adopted as a whole
		}
		change.AddFinalizer, lost = api.Finalizer, true
	}
	if n.Labels[api.LabelProvisioner] != n.Provisioner {
		change.SetLabels, lost = map[string]string{api.LabelProvisioner: n.Provisioner}, true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if m, known := o.machines[n.ProviderID]; known && n.Annotations[api.AnnotationLaunchID] != m.LaunchID {
		change.SetAnnotations, lost = map[string]string{api.AnnotationLaunchID: m.LaunchID}, true
	}
	return change, lost
}

// closed reports whether a node has the taint of a removal without the annotation that comes and goes
// with it. Without that, nobody would take the taint off.
func (o *owners) closed(n *cluster.Node) bool {
	if n.Deleting || n.Annotations[api.AnnotationDisruption] != "" ||
		!slices.ContainsFunc(n.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&drain.Taint) }) {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ours := o.machines[n.ProviderID]
	return ours
}

// lostNode reports whether the Node object of a machine has gone since the last call although the
// machine was not terminated. The machine still counts, and needs another Node object.
func (o *owners) lostNode(s *cluster.Snapshot, givenBack func(id string) bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := make(map[string]bool, len(s.Nodes))
	for i := range s.Nodes {
		now[s.Nodes[i].ProviderID] = true
	}
	lost := false
	for provider, m := range o.machines {
		runs := m.State == offer.StatePending || m.State == offer.StateRunning
		if runs && o.noded[provider] && !now[provider] && !givenBack(m.ID) {
			lost = true
		}
	}
	o.noded = now
	return lost
}
