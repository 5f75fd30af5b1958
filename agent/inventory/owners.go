package inventory

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/drain"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// owners knows to which Provisioner each machine belongs, by the tags of its instance when it was
// last listed. The labels of the Node object say so too, but programs on the node may change them.
type owners struct {
	mu       sync.Mutex
	machines map[string]offer.Instance // by provider id
	absent   map[string]time.Time      // by provider id: since when the cloud's answers lack it, and it has no node
	noded    map[string]bool           // by provider id: they had a Node object at the last look, or have got one since
	untagged map[string]bool           // by instance id: without the tags of the cluster
}

func newOwners() *owners {
	return &owners{machines: map[string]offer.Instance{}, absent: map[string]time.Time{}, noded: map[string]bool{}, untagged: map[string]bool{}}
}

// learn notes an answer of the cloud. An instance that it lacks stays known as long as it has a node, or
// may be listed yet.
func (o *owners) learn(instances []offer.Instance) {
	o.mu.Lock()
	defer o.mu.Unlock()
	since := o.absent
	o.absent = map[string]time.Time{}
	for provider := range o.machines {
		o.absent[provider] = time.Now()
		if !o.noded[provider] {
			o.absent[provider] = cmp.Or(since[provider], time.Now())
		}
	}
	for _, i := range instances {
		delete(o.absent, i.ProviderID)
	}
	maps.DeleteFunc(o.machines, func(provider string, _ offer.Instance) bool { return o.left(provider) })
	for _, i := range instances {
		if ours(i) {
			o.machines[i.ProviderID] = i
		}
	}
}

// leftOut returns the machines that ran when they were last listed, or were bought, and that the last
// answer of the cloud lacks. They count until answers have lacked them for a minute: a machine that has
// ended is listed for longer. For those with a node, the minute begins when they have none any more: a node that
// has lost its marks is looked up by its id only once it has them again.
func (o *owners) leftOut() (out []offer.Instance) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for provider := range o.absent {
		i, known := o.machines[provider]
		if known && (!o.left(provider) || o.noded[provider]) && i.Runs() {
			out = append(out, i)
		}
	}
	return out
}

// left reports whether the cloud's answers have lacked a machine for so long that it is taken for gone.
func (o *owners) left(provider string) bool {
	at, absent := o.absent[provider]
	return absent && time.Since(at) >= offer.ListingLag
}

// there notes that the machine of a node exists although the cloud does not list it. A process that has
// not seen it listed yet knows it by its node.
func (o *owners) there(n *cluster.Node) {
	o.runs(offer.Instance{
		ID: n.InstanceID(), ProviderID: n.ProviderID, NodeName: n.Name, State: offer.StateRunning, LaunchedAt: n.Created,
		LaunchID: n.Annotations[api.AnnotationLaunchID], Provisioner: n.Provisioner,
		InstanceType: n.Labels[corev1.LabelInstanceTypeStable], Zone: n.Labels[corev1.LabelTopologyZone],
		CapacityType: n.Labels[api.LabelCapacityType], Reservation: n.Labels[api.LabelReservationID],
	})
}

// runs notes a machine that runs, although the last comparison may lack it. What is known of it may be newer.
func (o *owners) runs(i offer.Instance) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.absent, i.ProviderID)
	if _, known := o.machines[i.ProviderID]; !known && ours(i) {
		o.machines[i.ProviderID] = i
	}
}

// ours reports whether an instance was bought for a Provisioner. As long as Karpenter knows it, its node may not be
// taken over yet. It would look as if it had drifted from the NodePool, which it was not built from here.
func ours(i offer.Instance) bool {
	return i.LaunchID != "" && i.Provisioner != "" && i.Tags[api.LabelNodePool] == ""
}

func (o *owners) isRunning(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, i := range o.machines {
		if i.ID == id {
			return i.Runs()
		}
	}
	return false
}

// own notes whose an instance is. It is about to get its Node object.
func (o *owners) own(i offer.Instance) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.machines[i.ProviderID] = i
	o.noded[i.ProviderID] = true
	delete(o.absent, i.ProviderID)
}

// hasNode notes that a machine has got a Node object, so that it is missed even if it goes before the next look.
func (o *owners) hasNode(provider string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.noded[provider] = true
}

// noteUntagged notes which instances, by their ids, lack the tags of the cluster now.
func (o *owners) noteUntagged(ids map[string]bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.untagged = ids
}

// Untagged reports whether an instance has lost the tags of the cluster.
func (o *owners) Untagged(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.untagged[id]
}

// knows reports whether a machine has been one of the agent's.
func (o *owners) knows(provider string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, known := o.machines[provider]
	return known
}

// machineOf returns what is known of a machine, as when it was last listed with its tags; empty if that is nothing.
func (o *owners) machineOf(provider string) offer.Instance {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.machines[provider]
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

// missing returns what has to be put back on a node of a Provisioner, so that the node is recognized and says what was bought.
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
	o.mu.Lock()
	defer o.mu.Unlock()
	m, known := o.machines[n.ProviderID]
	labels := lostLabels(n, m)
	if n.Labels[api.LabelProvisioner] != n.Provisioner {
		labels[api.LabelProvisioner] = n.Provisioner
	}
	if len(labels) > 0 {
		change.SetLabels, lost = labels, true
	}
	restored := map[string]string{}
	if known && n.Annotations[api.AnnotationLaunchID] != m.LaunchID {
		restored[api.AnnotationLaunchID] = m.LaunchID
	}
	for _, key := range view.BuiltFrom {
		// With another value, the node would drift without reason, or never. A takeover replaces no machine, even if its
		// tags say that the agent has built it, before it was handed back to Karpenter.
		if built := m.Tags[key]; built != "" && n.Annotations[key] != built && m.LaunchID != api.LaunchKarpenter {
			restored[key] = built
		}
	}
	if len(restored) > 0 {
		change.SetAnnotations, lost = restored, true
	}
	return change, lost
}

// lostLabels returns the labels that a node lacks and that follow from its machine. Without them, it would have drifted.
func lostLabels(n *cluster.Node, m offer.Instance) map[string]string {
	if bought := n.Labels[api.LabelCapacityType]; bought != "" && bought != m.CapacityType {
		m.Reservation = "" // Karpenter did not buy it as reserved, or the reservation has begun or ended since it was listed
	}
	labels := view.MachineLabels(m)
	maps.DeleteFunc(labels, func(key, value string) bool { return value == "" || n.Labels[key] != "" })
	return labels
}

// closed reports whether a node has the taint of a removal without the annotations that come and go with it.
// Without them, nobody would take the taint off. The reason alone may be the mark of a Karpenter that has launched the
// node.
func (o *owners) closed(n *cluster.Node) bool {
	launch, mark := n.Annotations[api.AnnotationLaunchID], n.Mark()
	if n.Deleting || mark.Own || mark.Reason != "" && (launch == "" || launch == api.LaunchKarpenter) ||
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
func (o *owners) lostNode(s *cluster.Snapshot, terminated func(id string) bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := make(map[string]bool, len(s.Nodes))
	for i := range s.Nodes {
		now[s.Nodes[i].ProviderID] = true
	}
	lost := false
	for provider, m := range o.machines {
		if m.Runs() && o.noded[provider] && !now[provider] && !terminated(m.ID) {
			lost = true
		}
	}
	o.noded = now
	return lost
}
