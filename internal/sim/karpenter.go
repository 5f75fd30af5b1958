package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/kubelet"
)

// Claimed is a machine that Karpenter has bought.
type Claimed struct {
	offer.Candidate
	Pool string
	// Young: its kubelet has not registered yet, as Karpenter has gone just before. It
	// registers with the taint that only Karpenter takes off.
	Young  bool
	Tagged bool // with the tags by which the agent lists instances, as by releases before 1.0
}

// LaunchByKarpenter makes a machine with its node and its NodeClaim, as Karpenter leaves
// them when it stops. It returns the name of the node.
func (w Users) LaunchByKarpenter(c Claimed) string {
	var name string
	w.edit(func() {
		labels := map[string]string{
			api.LabelNodePool: c.Pool, api.LabelCapacityType: c.CapacityType, api.LabelInstanceType: c.InstanceType, api.LabelZone: c.Zone,
		}
		taints := []corev1.Taint{{Key: api.TaintUnregistered, Effect: corev1.TaintEffectNoExecute}}
		i := w.start(offer.Order{Count: 1, Node: offer.NodeSpec{Labels: labels, Taints: taints}}, c.Candidate)
		m := w.machines[i.ID]
		m.untagged, m.Tags = !c.Tagged, map[string]string{api.LabelNodePool: c.Pool}
		claim := cluster.NodeClaim{Name: c.Pool + "-" + m.ID, UID: string(w.uid()), Pool: c.Pool, ProviderID: m.ProviderID}
		name = m.node
		if !c.Young {
			claim.Node = m.node
			w.registerByKarpenter(m, claim)
		}
		w.nodeClaims[claim.Name] = claim
	})
	return name
}

// registerByKarpenter is what Karpenter makes of a node when its kubelet has registered.
func (w *world) registerByKarpenter(m *machine, claim cluster.NodeClaim) {
	m.State, m.up, m.booted = offer.StateRunning, true, true
	n := kubelet.Register(m.node, m.spec, w.uid(), w.now())
	n.Spec.Taints = nil
	n.Labels["karpenter.sh/registered"], n.Labels[api.LabelInitialized] = "true", "true"
	n.Annotations = map[string]string{"karpenter.sh/nodepool-hash": "1234567890", "karpenter.sh/nodepool-hash-version": "v3"}
	n.Finalizers = []string{api.Finalizer}
	n.OwnerReferences = []metav1.OwnerReference{{APIVersion: "karpenter.sh/v1", Kind: "NodeClaim", Name: claim.Name, UID: types.UID(claim.UID)}}
	w.nodes[m.node] = n
	w.kubelets().report(m)
}

// RunKarpenter lets Karpenter run for a moment. It ends the machines that it knows and
// that have no NodeClaim, and returns their ids.
func (w Users) RunKarpenter() []string {
	var ended []string
	w.edit(func() {
		for _, id := range slices.Sorted(maps.Keys(w.machines)) {
			m := w.machines[id]
			if m.Tags[api.LabelNodePool] == "" || m.State == offer.StateGone || w.claimed(m.ProviderID) {
				continue
			}
			ended = append(ended, id)
			w.terminate(id)
			w.deleteNode(m.node)
		}
	})
	return ended
}

func (w *world) claimed(providerID string) bool {
	for _, c := range w.nodeClaims {
		if c.ProviderID == providerID {
			return true
		}
	}
	return false
}

// NodeClaims returns them, sorted by name.
func (w Records) NodeClaims() []cluster.NodeClaim {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sortedClaims()
}

// NodeClaims returns them, sorted by name.
func (c *Cluster) NodeClaims(ctx context.Context) (out []cluster.NodeClaim, err error) {
	err = c.do(ctx, "NodeClaims", func(w *world) error {
		out = w.sortedClaims()
		return nil
	})
	return out, err
}

func (w *world) sortedClaims() []cluster.NodeClaim {
	return slices.SortedFunc(maps.Values(w.nodeClaims), func(a, b cluster.NodeClaim) int { return strings.Compare(a.Name, b.Name) })
}

// ReleaseNodeClaim removes a NodeClaim. What has no other owner goes with it, as by the
// garbage collector of Kubernetes.
func (c *Cluster) ReleaseNodeClaim(ctx context.Context, claim cluster.NodeClaim) error {
	return c.do(ctx, "ReleaseNodeClaim", func(w *world) error {
		delete(w.nodeClaims, claim.Name)
		for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
			n := w.nodes[name]
			if len(n.OwnerReferences) == 1 && string(n.OwnerReferences[0].UID) == claim.UID {
				w.deleteNode(name)
			}
		}
		w.changed()
		return nil
	})
}

// Karpenters lists the machines that Karpenter knows.
func (c *Cloud) Karpenters(ctx context.Context) (out []offer.Instance, err error) {
	err = c.do(ctx, "Karpenters", func(w *world) error {
		for _, id := range slices.Sorted(maps.Keys(w.machines)) {
			m := w.machines[id]
			if m.Tags[api.LabelNodePool] == "" || m.State == offer.StateGone || m.State == offer.StateStopping {
				continue
			}
			i := m.Instance
			i.Provisioner, i.Owned = m.Tags[api.LabelNodePool], !m.untagged && m.LaunchID != ""
			out = append(out, i)
		}
		return nil
	})
	return out, err
}

// TakeOver gives machines the tags of the cluster.
func (c *Cloud) TakeOver(ctx context.Context, provisioner string, ids []string) ([]string, error) {
	err := c.do(ctx, "TakeOver", func(w *world) error {
		for _, id := range ids {
			m := w.machines[id]
			if m == nil {
				return fmt.Errorf("take over %s: there is no such machine", id)
			}
			m.untagged, m.Provisioner, m.LaunchID = false, provisioner, api.LaunchKarpenter
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}

// Disown makes Karpenter forget machines.
func (c *Cloud) Disown(ctx context.Context, ids []string) ([]string, error) {
	err := c.do(ctx, "Disown", func(w *world) error {
		for _, id := range ids {
			if m := w.machines[id]; m != nil {
				m.Tags = maps.Clone(m.Tags)
				delete(m.Tags, api.LabelNodePool)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}

// MakeNodeClaim makes a NodeClaim for a machine.
func (c *Cluster) MakeNodeClaim(ctx context.Context, object, status map[string]any) (uid string, err error) {
	u := unstructured.Unstructured{Object: object}
	err = c.do(ctx, "MakeNodeClaim", func(w *world) error {
		claim, there := w.nodeClaims[u.GetName()]
		if !there {
			claim = cluster.NodeClaim{Name: u.GetName(), UID: string(w.uid()), Pool: u.GetLabels()[api.LabelNodePool]}
		}
		claim.ProviderID, _ = status["providerID"].(string)
		claim.Node, _ = status["nodeName"].(string)
		w.nodeClaims[claim.Name] = claim
		uid = claim.UID
		return nil
	})
	return uid, err
}

// GiveBack makes Karpenter know a machine.
func (c *Cloud) GiveBack(ctx context.Context, id, nodePool, _ string) error {
	return c.do(ctx, "GiveBack", func(w *world) error {
		m := w.machines[id]
		tags := map[string]string{}
		maps.Copy(tags, m.Tags)
		tags[api.LabelNodePool] = nodePool
		m.Tags = tags
		return nil
	})
}

// LetGo takes the tags of the agent off a machine. It keeps those by which it is listed.
func (c *Cloud) LetGo(ctx context.Context, id string) error {
	return c.do(ctx, "LetGo", func(w *world) error {
		m := w.machines[id]
		m.Provisioner, m.LaunchID = "", ""
		return nil
	})
}
