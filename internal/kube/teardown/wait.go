package teardown

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

// pollInterval is how often the progress is read. Draining a node takes tens of seconds, and a
// Provisioner without nodes is gone in a moment.
const pollInterval = time.Second

// maxFailures is after how many failed polls in a row Wait gives up.
const maxFailures = 30

// Reader reads Provisioners.
type Reader interface {
	// Get returns a Provisioner. If it is gone, apierrors.IsNotFound is true of the error, or
	// meta.IsNoMatchError if the kind is gone too.
	Get(ctx context.Context, name string) (*unstructured.Unstructured, error)
}

// Watch follows deletions in one cluster.
type Watch struct {
	client   kubernetes.Interface
	reader   Reader
	metadata metadata.Interface
}

// NewWatch returns a Watch.
func NewWatch(client kubernetes.Interface, reader Reader, metadata metadata.Interface) *Watch {
	return &Watch{client, reader, metadata}
}

// Nodes returns the names of the Provisioner's nodes, sorted. It leaves out nodes that no agent drains: those of others
// that have the label of a Provisioner, and those that an agent has let go and another program holds.
func (w *Watch) Nodes(ctx context.Context, provisioner string) (names []string, err error) {
	nodes, err := call.Get(ctx, func(ctx context.Context) (*metav1.PartialObjectMetadataList, error) {
		return w.metadata.Resource(corev1.SchemeGroupVersion.WithResource("nodes")).List(ctx, metav1.ListOptions{LabelSelector: api.LabelProvisioner + "=" + provisioner})
	})
	if err != nil {
		return nil, fmt.Errorf("list the nodes of provisioner %q: %w", provisioner, err)
	}
	for i := range nodes.Items {
		if n := &nodes.Items[i]; cluster.Managed(n) {
			names = append(names, n.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Wait waits until the Provisioner and all of its nodes are gone. It calls progress whenever the
// remaining nodes have changed. If the context ends first, the error is a StuckError that names what
// remains.
func (w *Watch) Wait(ctx context.Context, provisioner string, progress func(remaining []string)) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var reported []string
	failures := 0
	for first := true; ; first = false {
		gone, remaining, err := w.poll(ctx, provisioner)
		switch {
		case err == nil && gone && len(remaining) == 0:
			return nil
		case err == nil:
			failures = 0
			if first || !slices.Equal(reported, remaining) {
				progress(remaining)
				reported = remaining
			}
		case ctx.Err() == nil:
			if failures++; failures == maxFailures {
				return fmt.Errorf("wait for the deletion of provisioner %q: %w", provisioner, err)
			}
		}
		select {
		case <-ctx.Done():
			return w.stuck(ctx, provisioner)
		case <-ticker.C:
		}
	}
}

// poll returns whether the Provisioner is gone, and the names of its remaining nodes.
func (w *Watch) poll(ctx context.Context, provisioner string) (gone bool, remaining []string, err error) {
	_, err = w.reader.Get(ctx, provisioner)
	gone = apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
	if err != nil && !gone {
		return false, nil, err
	}
	remaining, err = w.Nodes(ctx, provisioner)
	return gone, remaining, err
}

// StuckError says what remains of a Provisioner that is being deleted, and what blocks it.
type StuckError struct {
	// Interrupted means that the wait was cancelled and did not run into its deadline.
	Interrupted bool
	Provisioner string
	// Finalizers of the Provisioner itself, if it still exists.
	Finalizers []string
	Nodes      []StuckNode
}

// StuckNode is a node that still exists.
type StuckNode struct {
	Name       string
	Instance   string // provider id, empty if the node has none
	Finalizers []string
	// Deleting reports whether the node is marked for deletion.
	Deleting bool
	// Pods are those on the node, as namespace/name, without DaemonSet pods.
	Pods []string
	// Budgets are the PodDisruptionBudgets, as namespace/name, that currently block the
	// eviction of a pod on the node.
	Budgets []string
}

// Error lists everything that remains, with a line for each node.
func (e *StuckError) Error() string {
	lines := []string{"it was not deleted in time"}
	if e.Interrupted {
		lines[0] = "the wait was interrupted; the deletion continues in the cluster"
	}
	if len(e.Finalizers) > 0 {
		lines = append(lines, "  its finalizers: "+strings.Join(e.Finalizers, ", "))
	}
	for _, n := range e.Nodes {
		lines = append(lines, "  "+n.String())
	}
	if slices.ContainsFunc(e.Nodes, func(n StuckNode) bool { return len(n.Budgets) > 0 }) {
		lines = append(lines, "  A PodDisruptionBudget holds a node as long as its pods have no other node to go to. Delete it, or, if the Provisioner has no terminationGracePeriod, limit the drains:",
			fmt.Sprintf("  kubectl annotate --overwrite nodes -l %s=%s %s=1m", api.LabelProvisioner, e.Provisioner, api.AnnotationGracePeriod))
	}
	return strings.Join(lines, "\n")
}

// String describes the node in one line.
func (n StuckNode) String() string {
	parts := []string{"node " + n.Name}
	if n.Instance != "" {
		parts = append(parts, "instance "+n.Instance)
	}
	if !n.Deleting {
		parts = append(parts, "not marked for deletion")
	}
	for _, list := range []struct {
		title string
		items []string
	}{{"finalizers", n.Finalizers}, {"pods", n.Pods}, {"held by PodDisruptionBudgets", n.Budgets}} {
		if len(list.items) > 0 {
			parts = append(parts, list.title+" "+strings.Join(list.items, ", "))
		}
	}
	return strings.Join(parts, "; ")
}
