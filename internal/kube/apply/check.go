package apply

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

// Check validates an object in a dry run: the API server applies its rules and reports
// conflicts of field managers, but stores nothing. The errors are those of Create and Update.
func (s *Store) Check(ctx context.Context, name string, spec map[string]any) error {
	desired := s.object(name, spec)
	opts := metav1.ApplyOptions{FieldManager: s.manager.Name, Force: s.manager.Force, DryRun: []string{metav1.DryRunAll}}
	_, err := call.Get(ctx, func(ctx context.Context) (*unstructured.Unstructured, error) {
		return s.client.Apply(ctx, name, desired, opts)
	})
	return s.explain(err, "check", name)
}

// object returns the object to apply. An empty spec is left out, because server-side apply
// turns an empty object into null.
func (s *Store) object(name string, spec map[string]any) *unstructured.Unstructured {
	desired := &unstructured.Unstructured{Object: map[string]any{}}
	if len(spec) > 0 {
		desired.Object["spec"] = spec
	}
	desired.SetGroupVersionKind(s.kind.Resource.GroupVersion().WithKind(s.kind.Name))
	desired.SetName(name)
	return desired
}
