// Package apply declares cluster-scoped custom resources, and the annotations of
// ServiceAccounts, from outside the cluster. It uses server-side apply and owns only the
// declared fields.
package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

// settleTimeout is the time limit for finding out whether a request without a response took
// effect.
const settleTimeout = 10 * time.Second

// Manager is the field manager that owns the declared fields.
type Manager struct {
	Name string
	// Force takes fields over from other managers instead of reporting a conflict.
	Force bool
}

// Store reads and declares the objects of one kind.
type Store struct {
	kind    api.CustomKind
	client  dynamic.ResourceInterface
	manager Manager
	listing *Listing
}

// NewStore returns a store for objects of a kind.
func NewStore(client dynamic.Interface, kind api.CustomKind, manager Manager) *Store {
	return &Store{kind: kind, client: client.Resource(kind.Resource), manager: manager, listing: &Listing{}}
}

// With returns a copy of the store that shares a listing with other stores of the kind.
func (s *Store) With(listing *Listing) *Store {
	shared := *s
	shared.listing = listing
	return &shared
}

// Get returns the live object. For an object that does not exist, apierrors.IsNotFound is true
// of the error, and for a kind that the cluster does not serve, meta.IsNoMatchError.
func (s *Store) Get(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	live, err := call.Get(ctx, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return s.client.Get(ctx, name, metav1.GetOptions{})
	})
	return live, s.explain(err, "read", name)
}

// Recall is like Get, but reads many objects with one request and may return a state that is
// some seconds old. It is for a refresh.
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

// Create declares a new object. If an object of the name exists, Create does not change it, and
// apierrors.IsAlreadyExists is true of the error. If the API server does not respond, Create
// finds out whether the object was created.
func (s *Store) Create(ctx context.Context, name string, spec map[string]any) error {
	// A list that is some seconds old will not do: another workspace has the same field manager, so that the API
	// server would report no conflict if it has created the object since.
	_, err := s.Get(ctx, name)
	switch {
	case err == nil:
		return fmt.Errorf("create %s: %w", s.kind.Name, apierrors.NewAlreadyExists(s.kind.Resource.GroupResource(), name))
	case !apierrors.IsNotFound(err):
		return err
	}
	if _, err = s.apply(ctx, name, spec); err == nil || refused(err) {
		return err
	}
	return s.settle(ctx, name, err)
}

// settle finds out whether an object was created by a request without a response. It returns
// nil if the object exists and was declared by this manager. Otherwise, the error says what is
// known.
func (s *Store) settle(ctx context.Context, name string, unanswered error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	live, err := s.Get(ctx, name)
	switch {
	case err == nil && s.declares(live):
		return nil
	case err == nil:
		return fmt.Errorf("%w\nAnother client has created it in the meantime", unanswered)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w\nIt does not exist yet, but the request may still take effect: if it exists at the next apply, import it or delete it", unanswered)
	}
	return fmt.Errorf("%w\nIt is not known whether it was created: %w\nIf it exists at the next apply, import it or delete it", unanswered, err)
}

// declares reports whether the manager has declared the object.
func (s *Store) declares(live *unstructured.Unstructured) bool {
	managed := live.GetManagedFields() // none if only the name was declared
	return len(managed) == 0 || slices.ContainsFunc(managed, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == s.manager.Name && entry.Operation == metav1.ManagedFieldsOperationApply
	})
}

// Update declares an object again. Fields that were declared before and are not declared any
// more are removed. If another manager has declared such a field too, Update removes it with
// Force, and otherwise returns a conflict in the form of the API server
// (apierrors.IsConflict).
func (s *Store) Update(ctx context.Context, name string, before, spec map[string]any) error {
	live, err := s.apply(ctx, name, spec)
	if err != nil {
		return withOutcome(err)
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
	return withOutcome(s.remove(ctx, name, left))
}

// refused reports whether an error means that a request had no effect.
func refused(err error) bool { return call.Refused(err) || meta.IsNoMatchError(err) }

// withOutcome adds to the error of a change that it may have taken effect, if that is so.
func withOutcome(err error) error {
	if err == nil || refused(err) {
		return err
	}
	return fmt.Errorf("%w\nIt is not known whether the change took effect; the next plan will read the object", err)
}

// Delete requests the deletion of the object with the UID. With foreground propagation, the
// object exists until its dependents are gone. Delete succeeds if the object is gone already.
func (s *Store) Delete(ctx context.Context, name string, uid types.UID, propagation metav1.DeletionPropagation) error {
	defer s.listing.forget(name)
	opts := metav1.DeleteOptions{PropagationPolicy: &propagation, Preconditions: &metav1.Preconditions{UID: &uid}}
	err := call.Do(ctx, func(ctx context.Context) error { return s.client.Delete(ctx, name, opts) })
	if apierrors.IsNotFound(err) {
		return nil
	}
	return withOutcome(s.explain(err, "delete", name))
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

// remove removes fields from the object, whichever manager owns them.
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

// explain adds the operation and the object to an error. For a kind that it does not serve, the
// API server returns 404 without the object's name, which becomes meta.NoResourceMatchError.
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
	if errors.Is(err, context.Canceled) {
		operation = "interrupted: " + operation
	}
	return fmt.Errorf("%s %s %q: %w", operation, s.kind.Name, name, err)
}

// leftovers returns the paths of fields that are in before and in live, but not in after.
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
