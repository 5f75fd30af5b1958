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

// updateStatus writes a status, which must be a JSON object, to an object of the cache. Karpenter may
// have written other fields to the status of its objects, so that these do not count as a difference.
func (c *Cluster) updateStatus(ctx context.Context, m *mirror, name string, status any) error {
	cached, ok := get[*unstructured.Unstructured](m, "", name)
	if !ok {
		return nil
	}
	kind, karpenters := cached.GetKind(), m.versions != nil
	var want map[string]any
	asJSON, err := json.Marshal(status)
	if err == nil {
		err = utiljson.Unmarshal(asJSON, &want) // whole numbers become int64, as in the cache
	}
	if err != nil {
		return fmt.Errorf("encode the status of %s %s: %w", kind, name, err)
	}
	before, _ := cached.Object["status"].(map[string]any)
	keepTimes(before, want)
	now := maps.Clone(before)
	maps.DeleteFunc(now, func(field string, _ any) bool { return karpenters && want[field] == nil })
	if equality.Semantic.DeepEqual(now, want) {
		return nil
	}
	if karpenters {
		return c.replaceStatus(ctx, m, cached, want)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"status": want}}
	object.SetGroupVersionKind(cached.GroupVersionKind())
	object.SetName(name)
	return retry(ctx, func(ctx context.Context) error {
		// The request is a conflict if the object has changed since the cache saw it.
		object.SetResourceVersion(m.version(name))
		_, err := c.dynamic.Resource(m.resource).ApplyStatus(ctx, name, object, metav1.ApplyOptions{FieldManager: manager, Force: true})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("write the status of %s %s: %w", kind, name, err)
		}
		return nil
	})
}

// writtenStatus is the last status that was written to an object, and the resource version that it got.
type writtenStatus struct {
	status  map[string]any
	version string
}

// replaceStatus writes fields to the status of an object of Karpenter. The CRDs of an older release lack some of
// them. Server-side apply would refuse the status as a whole because of that, but a patch loses only these
// fields. That is no reason to write them again as long as the object stays as it is.
func (c *Cluster) replaceStatus(ctx context.Context, m *mirror, cached *unstructured.Unstructured, want map[string]any) error {
	name := cached.GetName()
	if last := m.written(name); last.version == m.version(name) && equality.Semantic.DeepEqual(last.status, want) {
		return nil
	}
	return retry(ctx, func(ctx context.Context) error {
		seen, ok := get[*unstructured.Unstructured](m, "", name)
		if !ok {
			return nil
		}
		status := map[string]any{}
		before, _ := seen.Object["status"].(map[string]any)
		maps.Copy(status, before)
		maps.Copy(status, want)
		patch, err := json.Marshal([]map[string]any{
			// The request is a conflict if the object has changed since the cache saw it.
			{"op": "add", "path": "/metadata/resourceVersion", "value": seen.GetResourceVersion()},
			{"op": "add", "path": "/status", "value": status},
		})
		if err != nil {
			return err
		}
		options := metav1.PatchOptions{FieldManager: manager, FieldValidation: metav1.FieldValidationIgnore}
		got, err := c.dynamic.Resource(m.versions.now()).Patch(ctx, name, types.JSONPatchType, patch, options, "status")
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("write the status of %s %s: %w", cached.GetKind(), name, err)
		default:
			m.note(name, writtenStatus{want, got.GetResourceVersion()})
		}
		return nil
	})
}

func (m *mirror) written(name string) writtenStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.statuses[name]
}

func (m *mirror) note(name string, s writtenStatus) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.statuses == nil {
		m.statuses = map[string]writtenStatus{}
	}
	m.statuses[name] = s
}

// version returns the resource version of an object in the cache, or an empty string.
func (m *mirror) version(name string) string {
	if u, ok := get[*unstructured.Unstructured](m, "", name); ok {
		return u.GetResourceVersion()
	}
	return ""
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
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": p.GetResourceVersion(),
		"finalizers":      want,
	}})
	if err != nil {
		return err
	}
	_, err = resource.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})
	return err
}
