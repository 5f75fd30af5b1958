// Package installation manages the agent's own objects in a cluster from outside: it applies
// them in order, waits until an agent leads, and removes them again.
package installation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/apply"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

const (
	pollInterval = time.Second
	// establishTimeout is how long the API server may take to serve a new
	// CustomResourceDefinition. It usually takes less than a second.
	establishTimeout = time.Minute
)

// Keeper manages installations in one cluster.
type Keeper struct {
	objects dynamic.Interface
	typed   kubernetes.Interface
	names   metadata.Interface
	manager apply.Manager
}

// NewKeeper returns a Keeper for the cluster of the clients.
func NewKeeper(objects dynamic.Interface, typed kubernetes.Interface, names metadata.Interface, manager apply.Manager) *Keeper {
	return &Keeper{objects, typed, names, manager}
}

// client returns a client for the kind and the namespace of an object.
func (k *Keeper) client(object *unstructured.Unstructured) dynamic.ResourceInterface {
	resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind()) // right for all kinds of an installation
	client := k.objects.Resource(resource)
	if namespace := object.GetNamespace(); namespace != "" {
		return client.Namespace(namespace)
	}
	return client
}

// Read returns the live object for each declared one, in the same order, and nil for those that
// do not exist.
func (k *Keeper) Read(ctx context.Context, declared []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	out := make([]*unstructured.Unstructured, len(declared))
	for i, object := range declared {
		live, err := k.get(ctx, object)
		if err != nil {
			return nil, err
		}
		out[i] = live
	}
	return out, nil
}

func (k *Keeper) get(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live, err := call.Get(ctx, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return k.client(object).Get(ctx, object.GetName(), metav1.GetOptions{})
	})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", title(object), err)
	}
	return live, nil
}

// Apply declares the objects in order with server-side apply, and waits until each
// CustomResourceDefinition is served. Force takes fields over from other managers; without it,
// they are a conflict (apierrors.IsConflict). If a CustomResourceDefinition lacks a version in
// which objects may be stored, Apply changes nothing and returns an error.
func (k *Keeper) Apply(ctx context.Context, objects []*unstructured.Unstructured, force bool) error {
	if err := k.checkStoredVersions(ctx, objects); err != nil {
		return err
	}
	for _, object := range objects {
		if err := k.apply(ctx, object, metav1.ApplyOptions{Force: force}); err != nil {
			return err
		}
		if isDefinition(object) {
			if err := k.awaitDefinition(ctx, object); err != nil {
				return err
			}
		}
	}
	return nil
}

// Check validates the objects in a dry run of Apply. Objects whose namespace or definition does
// not exist yet are not checked, and neither are those about which a webhook cannot be asked.
func (k *Keeper) Check(ctx context.Context, objects []*unstructured.Unstructured, force bool) error {
	if err := k.checkStoredVersions(ctx, objects); err != nil {
		return err
	}
	for _, object := range objects {
		err := k.apply(ctx, object, metav1.ApplyOptions{Force: force, DryRun: []string{metav1.DryRunAll}})
		if err != nil && !apierrors.IsNotFound(err) && !unasked(err) {
			return err
		}
	}
	return nil
}

// unasked reports whether the API server refused a dry run because an admission webhook has side
// effects, so that it cannot be asked. That says nothing of the object.
func unasked(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run")
}

func (k *Keeper) apply(ctx context.Context, object *unstructured.Unstructured, options metav1.ApplyOptions) error {
	options.FieldManager = k.manager.Name
	_, err := call.Get(ctx, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return k.client(object).Apply(ctx, object.GetName(), object, options)
	})
	if err != nil {
		return fmt.Errorf("apply %s: %w", title(object), err)
	}
	return nil
}

// checkStoredVersions returns an error if a CustomResourceDefinition lacks a version in which
// objects may be stored. The API server would refuse it after other objects have been changed.
func (k *Keeper) checkStoredVersions(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if !isDefinition(object) {
			continue
		}
		live, err := k.get(ctx, object)
		if err != nil {
			return err
		}
		if live == nil {
			continue
		}
		offered := versions(object)
		stored, _, _ := unstructured.NestedStringSlice(live.Object, "status", "storedVersions")
		for _, version := range stored {
			if !slices.Contains(offered, version) {
				return fmt.Errorf("%s: objects may be stored in the version %s, which this release does not know (it knows %s)\n"+
					"Nothing has been changed. Use a release that knows the version, or migrate the objects and remove the version from status.storedVersions",
					title(object), version, strings.Join(offered, ", "))
			}
		}
	}
	return nil
}

func versions(definition *unstructured.Unstructured) (out []string) {
	all, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, v := range all {
		if version, ok := v.(map[string]any); ok {
			name, _ := version["name"].(string)
			out = append(out, name)
		}
	}
	return out
}

func isDefinition(object *unstructured.Unstructured) bool {
	return object.GetKind() == "CustomResourceDefinition"
}

func (k *Keeper) awaitDefinition(ctx context.Context, object *unstructured.Unstructured) error {
	err := wait.PollUntilContextTimeout(ctx, pollInterval/10, establishTimeout, true, func(ctx context.Context) (bool, error) {
		live, err := k.get(ctx, object)
		return live != nil && condition(live, "Established") == "True", err
	})
	if err != nil {
		return fmt.Errorf("wait until %s is served: %w", title(object), err)
	}
	return nil
}

func condition(object *unstructured.Unstructured, kind string) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == kind {
			status, _ := m["status"].(string)
			return status
		}
	}
	return ""
}

func title(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetKind() + " " + object.GetName()
	}
	return object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
}
