package cluster

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// ErrGone means that the object to be changed does not exist any more.
var ErrGone = errors.New("the object is gone")

// ErrStale means that the object is no longer what a plan was made for: it was
// deleted, replaced by another of the same name, or bound elsewhere. The action
// is dropped and planned again.
var ErrStale = errors.New("the object has changed since the plan was made")

// ErrLeftToScheduler means that only kube-scheduler can bind the pod: it has to choose a
// volume that exists for a claim of the pod.
var ErrLeftToScheduler = errors.New("kube-scheduler binds the pod, with a volume for its claim")

// BlockedError means that a pod may not be evicted now.
type BlockedError struct {
	// Budget is the namespace/name of the PodDisruptionBudget that forbids it;
	// empty where the API server refused without one.
	Budget string
}

// Error names the budget.
func (e *BlockedError) Error() string {
	if e.Budget == "" {
		return "eviction is not allowed now"
	}
	return fmt.Sprintf("eviction is not allowed now by PodDisruptionBudget %s", e.Budget)
}

// NodeChange is a change to a Node object. What is there already, and what is to
// be removed and is not there, is left alone.
type NodeChange struct {
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
	// Guide sets how many soft taints of ours the node has; nil leaves them.
	Guide *int
	// Cordon sets whether the node is unschedulable; nil leaves it.
	Cordon *bool
	// Owner takes the place of all owner references; nil leaves them.
	Owner *metav1.OwnerReference
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
}
