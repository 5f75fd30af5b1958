package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/replicas"
)

// scale is who has scaled a workload.
type scale struct {
	version int  // counts changes of the workload
	byAgent bool // an agent has changed the replicas last
	wished  int  // how many replicas users want
}

// surges reports whether pods of the workload are moved by surge.
func (l *Workload) surges() bool {
	_, foreign := l.Annotations[corev1.PodDeletionCost]
	return l.Revision != "" && l.Surge == "true" && !l.Autoscaled && !foreign
}

// put creates a workload or replaces it.
func (w *world) put(load *Workload, byAgent bool) {
	before, now := w.workloads[load.Name], w.scales[load.Name]
	now.version++
	if before == nil || before.Replicas != load.Replicas {
		if now.byAgent = byAgent; !byAgent {
			now.wished = load.Replicas
		}
	}
	w.workloads[load.Name], w.scales[load.Name] = load, now
	if before != nil && before.Unready && !load.Unready {
		for _, p := range replicas.Of(w.pods, load.Name) {
			w.controllers().serve(p)
		}
	}
}

// deployments converts those workloads that are Deployments.
func (w controllers) deployments() []cluster.Deployment {
	var out []cluster.Deployment
	for _, name := range slices.Sorted(maps.Keys(w.workloads)) {
		load := w.workloads[name]
		if load.Revision == "" {
			continue
		}
		d := cluster.Deployment{
			Namespace: metav1.NamespaceDefault, Name: name, UID: "deployment/" + name, Version: strconv.Itoa(w.scales[name].version),
			Surge: load.Surge, Replicas: load.Replicas, Scaled: w.scales[name].byAgent, Autoscaled: load.Autoscaled,
		}
		current, all := 0, 0
		for _, p := range replicas.Of(w.pods, name) {
			all++
			if p.Labels[revision] != load.Revision {
				continue
			}
			current++
			if replicas.Ready(p) {
				d.Available++
			}
		}
		d.Settled = all == load.Replicas && current == load.Replicas
		out = append(out, d)
	}
	return out
}

// ScaleDeployment scales a workload that is a Deployment.
func (c *Cluster) ScaleDeployment(ctx context.Context, d *cluster.Deployment, replicas int) error {
	return c.do(ctx, "ScaleDeployment", func(w *world) error {
		load := w.workloads[d.Name]
		if load == nil || strconv.Itoa(w.scales[d.Name].version) != d.Version {
			return fmt.Errorf("scale %s: %w", d.Name, cluster.ErrStale)
		}
		if load.Replicas == replicas {
			return nil
		}
		w.audit.scaled(w, d.Name, replicas)
		scaled := *load
		scaled.Replicas = replicas
		w.put(&scaled, true)
		w.changed()
		return nil
	})
}

// Misscaled lists the workloads that have another number of replicas than users have asked for.
func (w Records) Misscaled() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, name := range slices.Sorted(maps.Keys(w.workloads)) {
		if has, wished := w.workloads[name].Replicas, w.scales[name].wished; has != wished {
			out = append(out, fmt.Sprintf("%s has %d replicas, not %d", name, has, wished))
		}
	}
	return out
}
