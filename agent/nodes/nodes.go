// Package nodes changes Node objects, and remembers what the agent has done until its
// caches show it.
package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// API changes Node objects.
type API interface {
	// CreateNode creates the object, or takes one of the same name over: labels,
	// annotations, finalizer and owner are set, and of its taints only the given ones, where it
	// lacks them. It reports whether the kubelet has been faster and the node is ready already.
	CreateNode(ctx context.Context, node *corev1.Node, taints ...corev1.Taint) (ready bool, err error)
	// PatchNode returns cluster.ErrGone if there is no such node, or if it is another machine's. It returns
	// cluster.ErrRefused if the API server refuses the change.
	PatchNode(ctx context.Context, name string, change cluster.NodeChange) error
	// DeleteNode asks for a deletion, which the finalizer holds up until the drain
	// is over. A node that is gone is no error. If it is another machine's, the error is cluster.ErrGone. If the
	// API server refuses the deletion, it is cluster.ErrRefused.
	DeleteNode(ctx context.Context, name, providerID string) error
}

// Reader reads what the API server knows of a node, and the caches may not show yet.
type Reader interface {
	// PodsOn returns the pods that are bound to a node and have not finished.
	PodsOn(ctx context.Context, node string) ([]cluster.Pod, error)
	// NodeReady reports whether a node is ready. A node that is gone is not.
	NodeReady(ctx context.Context, node string) (bool, error)
}

// Writer changes Node objects and assumes the changes.
type Writer struct {
	API     API
	Assumed *Assumptions
	Log     hclog.Logger
	// Deleted is called when a node's deletion was asked for, and Failed when something
	// has to be tried again.
	Deleted, Failed func()
	// Refused paces what the API server refuses. It may go on refusing it, for every node.
	Refused *pace.Retries
}

// Create creates a Node object and assumes it, with or without success: its machine
// exists and counts. It reports whether the node is ready already. A Node that the kubelet
// has created gets those of the taints that it lacks.
func (w *Writer) Create(ctx context.Context, node *corev1.Node, taints []corev1.Taint) (ready bool, err error) {
	expected := cluster.FromNode(node, nil)
	expected.Created = time.Now()
	ready, err = w.API.CreateNode(ctx, node, taints...)
	expected.Ready = ready
	w.Assumed.node(expected, err == nil)
	if err != nil && ctx.Err() == nil {
		w.Log.Error("could not create the Node object of an instance", "node", node.Name, "provider_id", node.Spec.ProviderID, "error", err)
	}
	return ready, err
}

// Patch changes a node and assumes the change. It reports whether it was made. The caches may be so old
// that a new machine has the name of the node, which is left alone then. A change that was refused is not
// tried again at once.
func (w *Writer) Patch(ctx context.Context, n *cluster.Node, change cluster.NodeChange) bool {
	return w.patch(ctx, n, change) == nil
}

// Prepare makes a change without which a node cannot go. It is as Patch, but the node counts as refused if the
// change is, as if its deletion were.
func (w *Writer) Prepare(ctx context.Context, n *cluster.Node, change cluster.NodeChange) bool {
	err := w.patch(ctx, n, change)
	if errors.Is(err, cluster.ErrRefused) {
		w.Assumed.asked(n, err)
	}
	return err == nil
}

var errPaused = errors.New("it was refused a short while ago")

func (w *Writer) patch(ctx context.Context, n *cluster.Node, change cluster.NodeChange) error {
	change.ProviderID = n.ProviderID
	key := keyOf(n, change)
	if !w.Refused.Due(key) {
		return errPaused
	}
	err := w.API.PatchNode(ctx, n.Name, change)
	switch {
	case err == nil:
		w.Refused.Succeeded(key)
		w.Assumed.edited(n.Name, change)
	case errors.Is(err, cluster.ErrGone):
	case ctx.Err() == nil:
		w.Log.Warn("could not change a node", "node", n.Name, "error", err)
		w.failed(key, err)
	}
	return err
}

// keyOf identifies what a change does to a node. The values of annotations do not count: some are times.
func keyOf(n *cluster.Node, change cluster.NodeChange) string {
	values := change.SetAnnotations
	change.SetAnnotations = make(map[string]string, len(values))
	for key := range values {
		change.SetAnnotations[key] = ""
	}
	text, _ := json.Marshal(change) // it has only fields that can be encoded
	return n.Name + " " + string(text)
}

// failed notes what has to be tried again: at once, or after a pause if it was refused.
func (w *Writer) failed(key string, err error) {
	if errors.Is(err, cluster.ErrRefused) {
		w.Refused.Failed(key)
		return
	}
	w.Failed()
}

// Resumes returns when what was refused may be tried again. It forgets nodes that the snapshot lacks.
func (w *Writer) Resumes(s *cluster.Snapshot) []time.Time {
	return w.Refused.Resumes(func(key string) bool {
		name, _, _ := strings.Cut(key, " ")
		return s.Node(name) != nil
	})
}

// Drain asks for a node's deletion. One that has lost its finalizer gets it back first: without, it
// would be gone before its pods are evicted and its machine is terminated. It reports the success.
func (w *Writer) Drain(ctx context.Context, n *cluster.Node) bool {
	held := n.HeldBy(api.Finalizer) || w.Prepare(ctx, n, cluster.NodeChange{AddFinalizer: api.Finalizer})
	return held && w.Delete(ctx, n)
}

// Delete asks for a node's deletion, which begins its drain. It reports the success. As Patch, it leaves the
// node of a new machine alone, and does not try again at once what was refused.
func (w *Writer) Delete(ctx context.Context, n *cluster.Node) bool {
	key := n.Name + " delete " + n.ProviderID
	if !w.Refused.Due(key) {
		return false
	}
	w.Assumed.deletes(n) // the caches may show the deletion before the answer comes
	err := w.API.DeleteNode(ctx, n.Name, n.ProviderID)
	if err == nil || errors.Is(err, cluster.ErrRefused) {
		w.Assumed.asked(n, err)
	}
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, cluster.ErrGone) {
			w.Log.Warn("could not delete a node", "node", n.Name, "error", err)
			w.failed(key, err)
		}
		return false
	}
	w.Refused.Succeeded(key)
	w.Deleted()
	return true
}
