package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
)

// UpdateProvisionerStatus writes the status of a Provisioner if it differs from the one in the
// cache. A condition whose status does not change keeps its transition time; another condition
// without a time gets the current time. It succeeds if the Provisioner is gone.
func (c *Cluster) UpdateProvisionerStatus(ctx context.Context, name string, status api.ProvisionerStatus) error {
	if isPool(c, name) {
		return updateForeignStatus(ctx, c, c.pools.nodePools, name, karpenter.PoolStatus(status))
	}
	var now api.ProvisionerStatus
	readStatus(c.caches.provisioners, name, &now)
	status.Conditions = keepTransitions(now.Conditions, status.Conditions)
	return c.updateStatus(ctx, api.ProvisionerGVR, api.ProvisionerGVK, statusChange{cache: c.caches.provisioners, name: name, now: now, want: status})
}

// UpdateNodeTemplateStatus is UpdateProvisionerStatus for a node profile.
func (c *Cluster) UpdateNodeTemplateStatus(ctx context.Context, name string, status api.AWSNodeTemplateStatus) error {
	if class, ok := strings.CutPrefix(name, karpenter.ClassPrefix); ok && c.pools != nil {
		return updateForeignStatus(ctx, c, c.pools.nodeClasses, class, karpenter.ClassStatus(status))
	}
	var now api.AWSNodeTemplateStatus
	readStatus(c.caches.nodeTemplates, name, &now)
	status.Conditions = keepTransitions(now.Conditions, status.Conditions)
	return c.updateStatus(ctx, api.NodeTemplateGVR, api.NodeTemplateGVK, statusChange{cache: c.caches.nodeTemplates, name: name, now: now, want: status})
}

// isPool reports whether the Provisioner of that name stands for a NodePool.
func isPool(c *Cluster, name string) bool {
	if c.pools == nil || !c.pools.has(name) {
		return false
	}
	_, own := get[*unstructured.Unstructured](c.caches.provisioners, "", name)
	return !own
}

// statusChange has the status in the cache (now), and the one to write (want).
type statusChange struct {
	cache     *mirror
	name      string
	now, want any
}

// readStatus decodes the status of an object in the cache. It changes nothing if there is none.
func readStatus(m *mirror, name string, into any) {
	u, ok := get[*unstructured.Unstructured](m, "", name)
	if !ok {
		return
	}
	if asJSON, err := json.Marshal(u.Object["status"]); err == nil {
		_ = json.Unmarshal(asJSON, into)
	}
}

// version returns the resource version of an object in the cache, or an empty string.
func (m *mirror) version(name string) string {
	if u, ok := get[*unstructured.Unstructured](m, "", name); ok {
		return u.GetResourceVersion()
	}
	return ""
}

func keepTransitions(now, want []metav1.Condition) []metav1.Condition {
	out := slices.Clone(want)
	for i := range out {
		old := meta.FindStatusCondition(now, out[i].Type)
		switch {
		case old != nil && old.Status == out[i].Status:
			out[i].LastTransitionTime = old.LastTransitionTime
		case out[i].LastTransitionTime.IsZero():
			out[i].LastTransitionTime = metav1.Now()
		}
	}
	return out
}

func (c *Cluster) updateStatus(ctx context.Context, gvr schema.GroupVersionResource, gvk schema.GroupVersionKind, change statusChange) error {
	now, err := json.Marshal(change.now)
	if err != nil {
		return fmt.Errorf("encode the status of %s %s: %w", gvk.Kind, change.name, err)
	}
	want, err := json.Marshal(change.want)
	if err != nil {
		return fmt.Errorf("encode the status of %s %s: %w", gvk.Kind, change.name, err)
	}
	if bytes.Equal(now, want) {
		return nil
	}
	var status map[string]any
	if err := json.Unmarshal(want, &status); err != nil {
		return fmt.Errorf("encode the status of %s %s: %w", gvk.Kind, change.name, err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	object.SetGroupVersionKind(gvk)
	object.SetName(change.name)
	return retry(ctx, func(ctx context.Context) error {
		// The request is a conflict if the object has changed since the cache saw it.
		object.SetResourceVersion(change.cache.version(change.name))
		_, err := c.dynamic.Resource(gvr).ApplyStatus(ctx, change.name, object, metav1.ApplyOptions{FieldManager: manager, Force: true})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("write the status of %s %s: %w", gvk.Kind, change.name, err)
		}
		return nil
	})
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
