package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Cluster is a process's connection to the cluster.
type Cluster struct{ *client }

// Snapshot returns the cluster as the caches hold it.
func (c *Cluster) Snapshot() *cluster.Snapshot {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	return c.world.published.snapshot
}

// Provisioners returns them sorted by name.
func (c *Cluster) Provisioners() []*api.Provisioner {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	return c.world.published.provisioners
}

// NodeTemplates returns them sorted by name.
func (c *Cluster) NodeTemplates() []*api.AWSNodeTemplate {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	return c.world.published.templates
}

// Readings returns what a test made unreadable or doubtful.
func (c *Cluster) Readings() []cluster.Reading {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	return c.world.published.readings
}

// Wanted returns how many pods a workload should have.
func (c *Cluster) Wanted(ctx context.Context, _ string, owner cluster.Owner) (cluster.Wanted, error) {
	var wanted cluster.Wanted
	err := c.do(ctx, "Wanted", func(w *world) error {
		load := w.workloads[owner.Name]
		for _, l := range w.workloads {
			if l.Owner() == owner.Name {
				load = l
			}
		}
		if load == nil || owner.Kind != load.Kind() {
			return fmt.Errorf("%s %s is not known", owner.Kind, owner.Name)
		}
		wanted = cluster.Wanted{Pods: load.Replicas, Certain: !load.Doubtful}
		if load.Stateful {
			wanted = cluster.Wanted{Pods: 1, Certain: true}
		}
		return nil
	})
	return wanted, err
}

// Changed has a token when something changed since it was last drained.
func (c *Cluster) Changed() <-chan struct{} { return c.changes }

// Unbound has a token when a pod that waits may have changed since it was last drained.
func (c *Cluster) Unbound() <-chan struct{} { return c.unbound }

// Synced reports whether the caches are filled.
func (c *Cluster) Synced() bool { return !c.unsynced.Load() }

// Waiting names the caches that are not filled.
func (c *Cluster) Waiting() []string {
	if c.Synced() {
		return nil
	}
	return []string{"pods"}
}

// Standby says nothing: the NodePools of a simulated cluster are Provisioners.
func (c *Cluster) Standby() string { return "" }

// CreateNode creates a Node object or takes one over.
func (c *Cluster) CreateNode(ctx context.Context, node *corev1.Node, taints ...corev1.Taint) (ready bool, err error) {
	err = c.do(ctx, "CreateNode", func(w *world) error {
		switch known := w.nodes[node.Name]; {
		case known == nil:
			created := node.DeepCopy()
			created.UID, created.CreationTimestamp, w.nodes[node.Name] = w.uid(), w.now(), created
			for _, m := range w.machines {
				if m.node == node.Name && m.up && !m.silent {
					w.kubelets().report(m)
				}
			}
		case known.Spec.ProviderID != "" && known.Spec.ProviderID != node.Spec.ProviderID:
			return fmt.Errorf("the node exists for %s: %w", known.Spec.ProviderID, cluster.ErrStale)
		default:
			ready = cluster.FromNode(known, nil).Ready
			w.takeOver(known, node, ready, taints)
		}
		w.changed()
		return nil
	})
	return ready, err
}

func (w *world) takeOver(known, node *corev1.Node, ready bool, taints []corev1.Taint) {
	change := cluster.NodeChange{SetLabels: node.Labels, SetAnnotations: maps.Clone(node.Annotations), AddTaints: taints}
	if ready {
		delete(change.SetAnnotations, api.AnnotationRemade)
	}
	if known.DeletionTimestamp == nil {
		change.AddFinalizer = api.Finalizer
	}
	change.Apply(known)
	known.OwnerReferences = node.OwnerReferences
	known.Spec.Unschedulable = known.Spec.Unschedulable || node.Spec.Unschedulable && !ready
}

// PatchNode changes a node.
func (c *Cluster) PatchNode(ctx context.Context, name string, change cluster.NodeChange) error {
	return c.do(ctx, "PatchNode", func(w *world) error {
		n := w.nodes[name]
		if n == nil || cluster.OfAnother(n, change.ProviderID) {
			return fmt.Errorf("patch node %s: %w", name, cluster.ErrGone)
		}
		change.Apply(n)
		w.collect(n)
		w.changed()
		return nil
	})
}

// DeleteNode asks for a node's deletion.
func (c *Cluster) DeleteNode(ctx context.Context, name, providerID string) error {
	return c.do(ctx, "DeleteNode", func(w *world) error {
		if n := w.nodes[name]; n != nil && cluster.OfAnother(n, providerID) {
			return cluster.ErrGone
		} else if n != nil {
			w.audit.letGo(w, n)
			w.deleteNode(name)
		}
		return nil
	})
}

func (w *world) deleteNode(name string) {
	n := w.nodes[name]
	if n == nil || n.DeletionTimestamp != nil {
		return
	}
	now := w.now()
	n.DeletionTimestamp = &now
	w.collect(n)
	w.changed()
}

// orphanTime is how long the pod garbage collector leaves the pods of a node that is gone.
const orphanTime = 40 * time.Second

// collect removes a node that is being deleted and that nothing holds any more.
func (w *world) collect(n *corev1.Node) {
	if n.DeletionTimestamp == nil || len(n.Finalizers) > 0 {
		return
	}
	delete(w.nodes, n.Name)
	time.AfterFunc(orphanTime, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, p := range w.pods {
			if p.Spec.NodeName == n.Name && w.nodes[n.Name] == nil {
				w.controllers().removePod(p)
			}
		}
	})
}

// Bind binds a pod to a node.
func (c *Cluster) Bind(ctx context.Context, pod cluster.PodKey, node string) error {
	return c.do(ctx, "Bind", func(w *world) error {
		p := w.pods[types.UID(pod.UID)]
		switch {
		case p == nil, p.DeletionTimestamp != nil, p.Spec.NodeName != "" && p.Spec.NodeName != node:
			return fmt.Errorf("bind pod %s to %s: %w", pod, node, cluster.ErrStale)
		case p.Spec.NodeName == node:
			return nil
		}
		w.controllers().bind(p, node)
		return nil
	})
}

// PodsOn returns the pods of a node as they are, whatever the caches hold.
func (c *Cluster) PodsOn(ctx context.Context, node string) (pods []cluster.Pod, err error) {
	err = c.do(ctx, "PodsOn", func(w *world) error {
		for _, p := range w.pods {
			if converted, ok := w.convert(p); ok && p.Spec.NodeName == node {
				pods = append(pods, converted)
			}
		}
		slices.SortFunc(pods, func(a, b cluster.Pod) int { return strings.Compare(a.Name, b.Name) })
		return nil
	})
	return pods, err
}

// NodeReady reports whether a node is ready, whatever the caches hold.
func (c *Cluster) NodeReady(ctx context.Context, node string) (ready bool, err error) {
	err = c.do(ctx, "NodeReady", func(w *world) error {
		n := w.nodes[node]
		ready = n != nil && cluster.FromNode(n, nil).Ready
		return nil
	})
	return ready, err
}

// Steer sets the deletion cost of a pod.
func (c *Cluster) Steer(ctx context.Context, pod cluster.PodKey, grade int) error {
	return c.do(ctx, "Steer", func(w *world) error {
		p := w.pods[types.UID(pod.UID)]
		if p == nil {
			return nil
		}
		set, remove := cluster.Steering(p.Annotations, grade)
		for key, value := range set {
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, key, value)
		}
		for _, key := range remove {
			delete(p.Annotations, key)
		}
		w.changed()
		return nil
	})
}

// Evict asks for a pod's eviction.
func (c *Cluster) Evict(ctx context.Context, pod cluster.PodKey) error {
	return c.do(ctx, "Evict", func(w *world) error {
		p := w.pods[types.UID(pod.UID)]
		if p == nil {
			return nil
		}
		for _, b := range w.budgets {
			if b.Forbids(p, w.pods) {
				return &cluster.BlockedError{Budgets: []string{metav1.NamespaceDefault + "/" + b.Name}}
			}
		}
		w.moves.Evicts(p)
		w.controllers().stop(p, 0)
		return nil
	})
}

// DeletePod deletes a pod, which has the time to stop that it asks for, or this time if it is not 0.
func (c *Cluster) DeletePod(ctx context.Context, pod cluster.PodKey, within time.Duration) error {
	return c.do(ctx, "DeletePod", func(w *world) error {
		if p := w.pods[types.UID(pod.UID)]; p != nil {
			w.controllers().stop(p, within)
		}
		return nil
	})
}

// RemovePod deletes a pod at once if it is as it was seen.
func (c *Cluster) RemovePod(ctx context.Context, seen *cluster.Pod) error {
	return c.do(ctx, "DeletePod", func(w *world) error {
		p := w.pods[types.UID(seen.UID)]
		if p == nil {
			return nil
		}
		if p.ResourceVersion != seen.Version {
			return cluster.ErrStale
		}
		w.audit.cutOff(w, p)
		w.controllers().removePod(p)
		return nil
	})
}

// Event records an event.
func (c *Cluster) Event(ref cluster.ObjectRef, eventType, reason, message string) {
	if c.Dead() {
		return
	}
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	c.world.events = append(c.world.events, Event{ref, eventType, reason, message, time.Now()})
}

// UpdateProvisionerStatus writes a status.
func (c *Cluster) UpdateProvisionerStatus(ctx context.Context, name string, s api.ProvisionerStatus) error {
	return c.do(ctx, "UpdateProvisionerStatus", func(w *world) error {
		if p := w.provisioners[name]; p != nil && !equality.Semantic.DeepEqual(p.Status, s) {
			p.Status = s
			w.changed()
		}
		return nil
	})
}

// UpdateNodeTemplateStatus writes a status.
func (c *Cluster) UpdateNodeTemplateStatus(ctx context.Context, name string, s api.AWSNodeTemplateStatus) error {
	return c.do(ctx, "UpdateNodeTemplateStatus", func(w *world) error {
		if t := w.templates[name]; t != nil && !equality.Semantic.DeepEqual(t.Status, s) {
			t.Status = s
			w.changed()
		}
		return nil
	})
}

// SetProvisionerFinalizer adds or removes the finalizer.
func (c *Cluster) SetProvisionerFinalizer(ctx context.Context, name string, present bool) error {
	return c.do(ctx, "SetProvisionerFinalizer", func(w *world) error {
		p := w.provisioners[name]
		switch {
		case p == nil && present:
			return cluster.ErrGone
		case p == nil || slices.Contains(p.Finalizers, api.Finalizer) == present:
			return nil
		case present && p.DeletionTimestamp != nil:
			return cluster.ErrStale
		}
		if present {
			p.Finalizers = append(p.Finalizers, api.Finalizer)
		} else {
			p.Finalizers = slices.DeleteFunc(p.Finalizers, func(f string) bool { return f == api.Finalizer })
		}
		w.collectProvisioner(p)
		w.changed()
		return nil
	})
}
