package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
)

// UpdateProvisionerStatus writes the status of a Provisioner if it differs from the one in the
// cache. A condition whose status does not change keeps its transition time; another condition
// without a time gets the current time. It succeeds if the Provisioner is gone.
func (c *Cluster) UpdateProvisionerStatus(ctx context.Context, name string, status api.ProvisionerStatus) error {
	if isPool(c, name) {
		return c.updateStatus(ctx, c.pools.nodePools, name, karpenter.PoolStatus(status))
	}
	return c.updateStatus(ctx, c.caches.provisioners, name, status)
}

// UpdateNodeTemplateStatus is UpdateProvisionerStatus for a node profile.
func (c *Cluster) UpdateNodeTemplateStatus(ctx context.Context, name string, status api.AWSNodeTemplateStatus) error {
	if class, ok := strings.CutPrefix(name, karpenter.ClassPrefix); ok && c.pools != nil {
		return c.updateStatus(ctx, c.pools.nodeClasses, class, karpenter.ClassStatus(status))
	}
	return c.updateStatus(ctx, c.caches.nodeTemplates, name, status)
}

// isPool reports whether the Provisioner of that name stands for a NodePool.
func isPool(c *Cluster, name string) bool {
	if c.pools == nil || !c.pools.has(name) {
		return false
	}
	_, own := get[*unstructured.Unstructured](c.caches.provisioners, "", name)
	return !own
}

// writtenStatus is the last status that was written to an object, and the resource version that it got.
type writtenStatus struct {
	status  map[string]any
	version string
}

// updateStatus writes a status, which must be a JSON object, to an object of the cache. The CRDs of Karpenter, which
// a cluster may have also for Provisioners, lack some of the fields. Server-side apply would refuse the status as a
// whole because of that, but a patch loses only these fields. That is no reason to write them again as long as the
// object stays as it is.
func (c *Cluster) updateStatus(ctx context.Context, m *mirror, name string, status any) error {
	cached, ok := get[*unstructured.Unstructured](m, "", name)
	if !ok {
		return nil
	}
	var want map[string]any
	asJSON, err := json.Marshal(status)
	if err == nil {
		err = utiljson.Unmarshal(asJSON, &want) // whole numbers become int64, as in the cache
	}
	if err != nil {
		return fmt.Errorf("encode the status of %s %s: %w", cached.GetKind(), name, err)
	}
	before, _ := cached.Object["status"].(map[string]any)
	keepTimes(before, want)
	last := m.written(name)
	if equality.Semantic.DeepEqual(m.statusOf(cached, want), before) ||
		last.version == cached.GetResourceVersion() && equality.Semantic.DeepEqual(last.status, want) {
		return nil
	}
	return retry(ctx, func(ctx context.Context) error { return c.replaceStatus(ctx, m, name, want) })
}

func (c *Cluster) replaceStatus(ctx context.Context, m *mirror, name string, want map[string]any) error {
	seen, ok := get[*unstructured.Unstructured](m, "", name)
	if !ok {
		return nil
	}
	patch, err := json.Marshal([]map[string]any{
		// The request is a conflict if the object has changed since the cache saw it.
		{"op": "add", "path": "/metadata/resourceVersion", "value": seen.GetResourceVersion()},
		{"op": "add", "path": "/status", "value": m.statusOf(seen, want)},
	})
	if err != nil {
		return err
	}
	resource := m.resource
	if m.versions != nil {
		resource = m.versions.now()
	}
	options := metav1.PatchOptions{FieldManager: manager, FieldValidation: metav1.FieldValidationIgnore}
	got, err := c.dynamic.Resource(resource).Patch(ctx, name, types.JSONPatchType, patch, options, "status")
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("write the status of %s %s: %w", seen.GetKind(), name, err)
	default:
		m.note(name, writtenStatus{want, got.GetResourceVersion()})
	}
	return nil
}

// statusOf is the status that an object is to have. Karpenter may have written other fields to that of its objects,
// and they stay.
func (m *mirror) statusOf(object *unstructured.Unstructured, want map[string]any) map[string]any {
	if m.versions == nil {
		return want
	}
	out := map[string]any{}
	before, _ := object.Object["status"].(map[string]any)
	maps.Copy(out, before)
	maps.Copy(out, want)
	return out
}

func (m *mirror) written(name string) writtenStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.statuses[name]
}

func (m *mirror) note(name string, s writtenStatus) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.statuses[name] = s
}

// forget drops what was written to an object that is gone.
func (m *mirror) forget(object any) {
	if gone, err := cache.DeletionHandlingObjectToName(object); err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.statuses, gone.Name)
	}
}

// keepTimes gives each condition whose status has not changed the transition time that it had, and
// the current time to another one that has none.
func keepTimes(before, want map[string]any) {
	old, _ := before["conditions"].([]any)
	now, _ := want["conditions"].([]any)
	for _, item := range now {
		c, _ := item.(map[string]any)
		for _, was := range old {
			if w, _ := was.(map[string]any); w["type"] == c["type"] && w["status"] == c["status"] && w["lastTransitionTime"] != nil {
				c["lastTransitionTime"] = w["lastTransitionTime"]
			}
		}
		if c["lastTransitionTime"] == nil {
			c["lastTransitionTime"] = time.Now().UTC().Format(time.RFC3339)
		}
	}
}

// SetProvisionerFinalizer adds or removes the finalizer that keeps a Provisioner until its nodes are
// gone. Adding it returns cluster.ErrGone if the Provisioner is gone, and cluster.ErrStale if it is
// being deleted.
func (c *Cluster) SetProvisionerFinalizer(ctx context.Context, name string, present bool) error {
	if isPool(c, name) {
		c.pools.hold(name, present)
		return nil
	}
	return retry(ctx, func(ctx context.Context) error {
		err := c.setFinalizer(ctx, name, present)
		if apierrors.IsNotFound(err) {
			if !present {
				return nil
			}
			err = cluster.ErrGone
		}
		if err != nil {
			return fmt.Errorf("set the finalizer of Provisioner %s: %w", name, err)
		}
		return nil
	})
}

func (c *Cluster) setFinalizer(ctx context.Context, name string, present bool) error {
	resource := c.dynamic.Resource(api.ProvisionerGVR)
	p, err := resource.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	have := p.GetFinalizers()
	if slices.Contains(have, api.Finalizer) == present {
		return nil
	}
	if present && p.GetDeletionTimestamp() != nil {
		return cluster.ErrStale
	}
	want := slices.DeleteFunc(slices.Clone(have), func(f string) bool { return f == api.Finalizer })
	if present {
		want = append(want, api.Finalizer)
	}
	_, err = setFinalizers(ctx, resource, p, want)
	return err
}

// setFinalizers replaces the finalizers of an object. It is a conflict if the object has changed since it was read.
func setFinalizers(ctx context.Context, of dynamic.ResourceInterface, u *unstructured.Unstructured, want []string) (*unstructured.Unstructured, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": u.GetResourceVersion(), "finalizers": want}})
	if err != nil {
		return nil, err
	}
	return of.Patch(ctx, u.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})
}
