package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/replicas"
)

// put creates a workload or replaces it.
func (w *world) put(load *Workload, byAgent bool) {
	before := w.workloads[load.Name]
	w.workloads[load.Name], w.scales[load.Name] = load, w.scales[load.Name].Scaled(before, load, byAgent)
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
		if load := w.workloads[name]; load.Revision != "" {
			out = append(out, load.Deployment(replicas.Of(w.pods, name), w.scales[name]))
		}
	}
	return out
}

// alter changes a workload that exists.
func (w *world) alter(name string, byAgent bool, change func(*Workload)) {
	load := *w.workloads[name]
	change(&load)
	w.put(&load, byAgent)
}

// Deployment returns a workload that is a Deployment as it is, whatever the caches hold.
func (c *Cluster) Deployment(ctx context.Context, namespace, name string) (d *cluster.Deployment, err error) {
	err = c.do(ctx, "Deployment", func(w *world) error {
		now := cluster.Snapshot{Deployments: w.controllers().deployments()}
		d = now.Deployment(namespace, name)
		return nil
	})
	return d, err
}

// ScaleDeployment scales a workload that is a Deployment.
func (c *Cluster) ScaleDeployment(ctx context.Context, d *cluster.Deployment, replicas int) error {
	return c.do(ctx, "ScaleDeployment", func(w *world) error {
		load := w.workloads[d.Name]
		if load == nil || strconv.Itoa(w.scales[d.Name].Version) != d.Version {
			return fmt.Errorf("scale %s: %w", d.Name, cluster.ErrStale)
		}
		w.audit.scaled(w, d.Name, replicas)
		w.alter(d.Name, true, func(load *Workload) { load.Replicas = replicas })
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
		if has, wished := w.workloads[name].Replicas, w.scales[name].Wished; has != wished {
			out = append(out, fmt.Sprintf("%s has %d replicas, not %d", name, has, wished))
		}
	}
	return out
}
