// Package declare keeps cluster-scoped custom resources as somebody outside of
// the cluster declares them: by server-side apply, owning only the fields that
// are declared.
package declare

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

// Kind is a cluster-scoped kind of custom resource.
type Kind struct {
	Name     string // such as Provisioner
	Resource schema.GroupVersionResource
}

// Manager says in whose name fields are declared.
type Manager struct {
	Name string
	// Force takes fields away from other managers instead of reporting a conflict.
	Force bool
}

// Store reads and declares the objects of one kind.
type Store struct {
	kind    Kind
	client  dynamic.ResourceInterface
	manager Manager
	listing *Listing
}

// NewStore returns the store of a kind.
func NewStore(client dynamic.Interface, kind Kind, manager Manager) *Store {
	return &Store{kind: kind, client: client.Resource(kind.Resource), manager: manager, listing: &Listing{}}
}

// With returns the store with a listing that others share.
func (s *Store) With(listing *Listing) *Store {
	shared := *s
	shared.listing = listing
	return &shared
}

// Get returns the live object. An object that is not there is reported as the
// API server does (apierrors.IsNotFound), a kind that the cluster does not know
// as meta.IsNoMatchError.
func (s *Store) Get(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	live, err := call.Get(ctx, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return s.client.Get(ctx, name, metav1.GetOptions{})
	})
	return live, s.explain(err, "read", name)
}

// Recall is Get for a refresh: the object may be some seconds old, and many are
// read by one request.
func (s *Store) Recall(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	live, ok := s.listing.find(ctx, s, name)
	switch {
	case !ok:
		return s.Get(ctx, name)
	case live == nil:
		return nil, s.explain(apierrors.NewNotFound(s.kind.Resource.GroupResource(), name), "read", name)
	}
	return live, nil
}

// Create declares a new object. One of the same name that is there already is
// left alone and reported (apierrors.IsAlreadyExists).
func (s *Store) Create(ctx context.Context, name string, spec map[string]any) error {
	switch _, err := s.Recall(ctx, name); {
	case err == nil:
		return fmt.Errorf("create %s: %w", s.kind.Name, apierrors.NewAlreadyExists(s.kind.Resource.GroupResource(), name))
	case !apierrors.IsNotFound(err):
		return err
	}
	_, err := s.apply(ctx, name, spec)
	return err
}

// Update declares an object anew. A field that was declared before and is not
// any more is removed, even if another manager has declared it too: with force
// at once, else it is reported as a conflict, in the form in which the API server
// reports conflicts of field managers.
func (s *Store) Update(ctx context.Context, name string, before, spec map[string]any) error {
	live, err := s.apply(ctx, name, spec)
	if err != nil {
		return err
	}
	liveSpec, _, err := unstructured.NestedMap(live.Object, "spec")
	if err != nil {
		return fmt.Errorf("read the spec of %s %q: %w", s.kind.Name, name, err)
	}
	left := leftovers(before, spec, liveSpec)
	if len(left) == 0 {
		return nil
	}
	if !s.manager.Force {
		return fmt.Errorf("update %s %q: %w", s.kind.Name, name, heldByOthers(live, left))
	}
	return s.remove(ctx, name, left)
}

// Delete asks for the deletion of the very object with the UID. With foreground
// propagation the object stays until its dependents are gone. An object that is
// gone already is fine.
func (s *Store) Delete(ctx context.Context, name string, uid types.UID, propagation metav1.DeletionPropagation) error {
	defer s.listing.forget(name)
	opts := metav1.DeleteOptions{PropagationPolicy: &propagation, Preconditions: &metav1.Preconditions{UID: &uid}}
	err := call.Do(ctx, func(ctx context.Context) error { return s.client.Delete(ctx, name, opts) })
	if apierrors.IsNotFound(err) {
		return nil
	}
	return s.explain(err, "delete", name)
}

func (s *Store) apply(ctx context.Context, name string, spec map[string]any) (*unstructured.Unstructured, error) {
	desired := s.object(name, spec)
	defer s.listing.forget(name)
	opts := metav1.ApplyOptions{FieldManager: s.manager.Name, Force: s.manager.Force}
	live, err := call.Get(ctx, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return s.client.Apply(ctx, name, desired, opts)
	})
	return live, s.explain(err, "apply", name)
}

// remove takes fields out of the object, whoever declared them.
func (s *Store) remove(ctx context.Context, name string, fields [][]string) error {
	defer s.listing.forget(name)
	patch, err := removalPatch(fields)
	if err != nil {
		return fmt.Errorf("remove fields of %s %q: %w", s.kind.Name, name, err)
	}
	_, err = call.Get(ctx, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return s.client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: s.manager.Name})
	})
	return s.explain(err, "remove fields of", name)
}

// explain adds what was done to which object. The API server answers requests
// for kinds that it does not know as it does for unknown addresses.
func (s *Store) explain(err error, operation, name string) error {
	if err == nil {
		return nil
	}
	var status apierrors.APIStatus
	if apierrors.IsNotFound(err) && errors.As(err, &status) {
		if details := status.Status().Details; details == nil || details.Name != name {
			err = &meta.NoResourceMatchError{PartialResource: s.kind.Resource}
		}
	}
	return fmt.Errorf("%s %s %q: %w", operation, s.kind.Name, name, err)
}

// leftovers returns the fields that before declares, after does not and the
// live object still has.
func leftovers(before, after, live map[string]any) [][]string {
	var out [][]string
	for _, name := range slices.Sorted(maps.Keys(before)) {
		present, ok := live[name]
		if !ok {
			continue
		}
		wanted, declared := after[name]
		if !declared {
			out = append(out, []string{name})
			continue
		}
		b, isMap := before[name].(map[string]any)
		w, stillMap := wanted.(map[string]any)
		l, liveMap := present.(map[string]any)
		if isMap && stillMap && liveMap {
			for _, inner := range leftovers(b, w, l) {
				out = append(out, append([]string{name}, inner...))
			}
		}
	}
	return out
}
