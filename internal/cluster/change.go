package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// Manager is the field manager of the agent's changes, and the source of its events.
const Manager = "packhorse-agent"

// ErrGone means that the object to be changed does not exist any more.
var ErrGone = errors.New("the object is gone")

// ErrStale means that the object is no longer what a plan was made for: it was
// deleted, replaced by another of the same name, or bound elsewhere. The action
// is dropped and planned again.
var ErrStale = errors.New("the object has changed since the plan was made")

// ErrRefused means that the API server refuses a change that it may go on refusing, for lack of a right or
// because of a policy. The change had no effect.
var ErrRefused = errors.New("the API server refuses it")

// ErrLeftToScheduler means that only kube-scheduler can bind the pod: it has to choose a
// volume that exists for a claim of the pod, it has selected a node for the claim, or the node is ready.
var ErrLeftToScheduler = errors.New("kube-scheduler binds the pod")

// ErrBusy means that a request was not sent, because too many others are before it. It may be sent again soon.
var ErrBusy = errors.New("too many requests are before it")

// BlockedError means that a pod may not be evicted now.
type BlockedError struct {
	// Budgets are the namespace/name of the PodDisruptionBudgets that select the pod; none where the API server
	// refused without one. If there are several, the API server never allows it.
	Budgets []string
}

// Error names the budgets.
func (e *BlockedError) Error() string {
	switch len(e.Budgets) {
	case 0:
		return "eviction is not allowed now"
	case 1:
		return "eviction is not allowed now by PodDisruptionBudget " + e.Budgets[0]
	}
	return fmt.Sprintf("eviction is never allowed, because several PodDisruptionBudgets select the pod (%s): let only one select it", strings.Join(e.Budgets, ", "))
}

// NodeChange is a change to a Node object. What is there already, and what is to
// be removed and is not there, is left alone.
type NodeChange struct {
	// ProviderID is that of the machine whose node is meant: a node of the same name that is another
	// machine's is not changed. Empty means any.
	ProviderID        string
	SetLabels         map[string]string
	RemoveLabels      []string
	SetAnnotations    map[string]string
	RemoveAnnotations []string
	// Taints are identified by key and effect; adding one that is there with
	// another value replaces it.
	AddTaints       []corev1.Taint
	RemoveTaints    []corev1.Taint
	AddFinalizer    string
	RemoveFinalizer string
	// FreeOwners: what owns the node may go before it does.
	FreeOwners bool
	// Guide sets how many soft taints of ours the node has; nil leaves them.
	Guide *int
	// Cordon sets whether the node is unschedulable; nil leaves it.
	Cordon *bool
	// Owner takes the place of all owner references; nil leaves them.
	Owner *metav1.OwnerReference
}

// OfAnother reports whether a Node object is that of another machine than the one with the provider id.
func OfAnother(n *corev1.Node, providerID string) bool {
	return providerID != "" && n.Spec.ProviderID != "" && n.Spec.ProviderID != providerID
}

// Apply makes the change in a Node object.
func (c *NodeChange) Apply(n *corev1.Node) {
	n.Labels = changedMap(n.Labels, c.SetLabels, c.RemoveLabels)
	n.Annotations = changedMap(n.Annotations, c.SetAnnotations, c.RemoveAnnotations)
	n.Spec.Taints = c.taints(n.Spec.Taints)
	if c.Guide != nil {
		n.Spec.Taints = WithGuide(n.Spec.Taints, *c.Guide)
	}
	if c.AddFinalizer != "" && !slices.Contains(n.Finalizers, c.AddFinalizer) {
		n.Finalizers = append(slices.Clip(n.Finalizers), c.AddFinalizer)
	}
	if c.RemoveFinalizer != "" {
		n.Finalizers = slices.DeleteFunc(slices.Clone(n.Finalizers), func(f string) bool { return f == c.RemoveFinalizer })
	}
	if c.Cordon != nil {
		n.Spec.Unschedulable = *c.Cordon
	}
	if c.Owner != nil {
		n.OwnerReferences = []metav1.OwnerReference{*c.Owner}
	}
	if c.FreeOwners {
		n.OwnerReferences = slices.Clone(n.OwnerReferences)
		for i := range n.OwnerReferences {
			n.OwnerReferences[i].BlockOwnerDeletion = nil
		}
	}
}

// ApplyTo makes the change in a node of a snapshot, and reports whether it made a difference. It
// leaves the maps and slices alone that the node shares with others.
func (c *NodeChange) ApplyTo(n *Node) (differs bool) {
	before := *n
	n.Labels = changedMap(n.Labels, c.SetLabels, c.RemoveLabels)
	n.Annotations = changedMap(n.Annotations, c.SetAnnotations, c.RemoveAnnotations)
	n.Taints = c.taints(n.Taints)
	n.Guide = ptr.Deref(c.Guide, n.Guide)
	n.Unschedulable = ptr.Deref(c.Cordon, n.Unschedulable)
	n.Initialized = n.Labels[api.LabelInitialized] == "true"
	n.Provisioner = cmp.Or(c.SetLabels[api.LabelProvisioner], n.Provisioner)
	if c.Owner != nil {
		n.Owners = []string{string(c.Owner.UID)}
	}
	return n.Guide != before.Guide || !slices.Equal(n.Owners, before.Owners) || n.Unschedulable != before.Unschedulable || !maps.Equal(n.Labels, before.Labels) ||
		!maps.Equal(n.Annotations, before.Annotations) || !slices.Equal(n.Taints, before.Taints)
}

func changedMap(have, set map[string]string, remove []string) map[string]string {
	if len(set) == 0 && len(remove) == 0 {
		return have
	}
	out := map[string]string{}
	maps.Copy(out, have)
	maps.Copy(out, set)
	for _, key := range remove {
		delete(out, key)
	}
	return out
}

func (c *NodeChange) taints(have []corev1.Taint) []corev1.Taint {
	out := slices.DeleteFunc(slices.Clone(have), func(t corev1.Taint) bool {
		return slices.ContainsFunc(c.RemoveTaints, func(r corev1.Taint) bool { return r.MatchTaint(&t) })
	})
	for _, add := range c.AddTaints {
		i := slices.IndexFunc(out, func(t corev1.Taint) bool { return t.MatchTaint(&add) })
		switch {
		case i < 0:
			out = append(out, add)
		case out[i].Value != add.Value:
			out[i] = add
		}
	}
	return out
}

// ObjectRef names an object that an event is about.
type ObjectRef struct {
	APIVersion string // empty for kinds that are known: Pod, Node, Provisioner and AWSNodeTemplate
	Kind       string
	Namespace  string
	Name       string
	UID        string
}

// Reading is what there is to say about the text of one of our custom resources:
// fields that are ignored and, where it cannot be read at all, errors.
type Reading struct {
	Object   ObjectRef
	Findings finding.List
	// Deleted is when its deletion was asked for, which its Finalizers hold up.
	Deleted    *metav1.Time
	Finalizers []string
}
