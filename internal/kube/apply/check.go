package apply

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

// Check declares an object without storing it, so that the API server applies
// its rules and reports conflicts of field managers. Its errors are those of
// Create and Update.
func (s *Store) Check(ctx context.Context, name string, spec map[string]any) error {
	desired := s.object(name, spec)
	opts := metav1.ApplyOptions{FieldManager: s.manager.Name, Force: s.manager.Force, DryRun: []string{metav1.DryRunAll}}
	_, err := call.Get(ctx, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return s.client.Apply(ctx, name, desired, opts)
	})
	return s.explain(err, "check", name)
}

// object is what is declared. A spec that says nothing is left out: server-side apply
// makes null of an empty object.
func (s *Store) object(name string, spec map[string]any) *unstructured.Unstructured {
	desired := &unstructured.Unstructured{Object: map[string]any{}}
	if len(spec) > 0 {
		desired.Object["spec"] = spec
	}
	desired.SetGroupVersionKind(s.kind.Resource.GroupVersion().WithKind(s.kind.Name))
	desired.SetName(name)
	return desired
}
