package teardown

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/declare"
)

// pollInterval is how often the progress is looked at. Draining a node takes
// tens of seconds, and a Provisioner without nodes is gone in a moment.
const pollInterval = time.Second

// maxFailures is how many looks in a row may fail before the wait gives up.
const maxFailures = 30

// Reader reads the Provisioner that is being removed.
type Reader interface {
	// Get returns an error that wraps declare.ErrNotFound once it is gone.
	Get(ctx context.Context, name string) (*unstructured.Unstructured, error)
}

// Removal follows the removal of one Provisioner.
type Removal struct {
	Provisioner string
	Reader      Reader
	Client      kubernetes.Interface
	// Progress is told whenever the set of remaining nodes has changed.
	Progress func(remaining []string)
}

// Nodes returns the nodes of the Provisioner.
func (r Removal) Nodes(ctx context.Context) ([]corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	nodes, err := r.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{
		LabelSelector: labels.Set{api.LabelProvisioner: r.Provisioner}.String(),
	})
	if err != nil {
		return nil, fmt.Errorf("list the nodes of provisioner %q: %w", r.Provisioner, err)
	}
	return nodes.Items, nil
}

// Wait returns once the Provisioner and all of its nodes are gone. When the
// context ends first the error is a StuckError that names what remains.
func (r Removal) Wait(ctx context.Context) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var reported []string
	failures := 0
	for first := true; ; first = false {
		gone, remaining, err := r.look(ctx)
		switch {
		case err == nil && gone && len(remaining) == 0:
			return nil
		case err == nil:
			failures = 0
			if first || !slices.Equal(reported, remaining) {
				r.Progress(remaining)
				reported = remaining
			}
		case ctx.Err() == nil:
			if failures++; failures == maxFailures {
				return fmt.Errorf("wait for provisioner %q to go: %w", r.Provisioner, err)
			}
		}
		select {
		case <-ctx.Done():
			return r.stuck(ctx)
		case <-ticker.C:
		}
	}
}

// look reports whether the object is gone, and the names of the nodes that are not.
func (r Removal) look(ctx context.Context) (gone bool, remaining []string, err error) {
	_, err = r.Reader.Get(ctx, r.Provisioner)
	if err != nil && !errors.Is(err, declare.ErrNotFound) && !errors.Is(err, declare.ErrNoKind) {
		return false, nil, err
	}
	gone = err != nil
	nodes, err := r.Nodes(ctx)
	if err != nil {
		return false, nil, err
	}
	for i := range nodes {
		remaining = append(remaining, nodes[i].Name)
	}
	slices.Sort(remaining)
	return gone, remaining, nil
}

// StuckError names what is left of a Provisioner and what holds it.
type StuckError struct {
	Provisioner string
	// Finalizers of the Provisioner itself, if it is still there.
	Finalizers []string
	Nodes      []StuckNode
}

// StuckNode is a node that has not gone.
type StuckNode struct {
	Name       string
	Instance   string // provider id, empty if the node has none
	Finalizers []string
	// Deleting is false for a node that nobody has asked to go.
	Deleting bool
	// Pods that are still on it, as namespace/name; DaemonSet pods not counted.
	Pods []string
	// Budgets are the PodDisruptionBudgets, as namespace/name, that allow no
	// eviction of a pod on it now.
	Budgets []string
}

// Error lists everything that remains, one line each.
func (e *StuckError) Error() string {
	lines := []string{fmt.Sprintf("provisioner %q is not gone in time", e.Provisioner)}
	if len(e.Finalizers) > 0 {
		lines = append(lines, "  its finalizers: "+strings.Join(e.Finalizers, ", "))
	}
	for _, n := range e.Nodes {
		lines = append(lines, "  "+n.String())
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
