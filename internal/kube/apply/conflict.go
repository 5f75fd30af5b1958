package apply

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// heldByOthers returns a conflict, in the form of the API server, that names the other managers
// of fields of the spec.
func heldByOthers(live *unstructured.Unstructured, fields [][]string) error {
	var causes []metav1.StatusCause
	for _, path := range fields {
		managers := managersOf(live, path)
		if len(managers) == 0 {
			managers = []string{"unknown"}
		}
		for _, manager := range managers {
			causes = append(causes, metav1.StatusCause{
				Type:    metav1.CauseTypeFieldManagerConflict,
				Field:   ".spec." + strings.Join(path, "."),
				Message: fmt.Sprintf("conflict with %q", manager),
			})
		}
	}
	return apierrors.NewApplyConflict(causes, "fields cannot be removed because other field managers have declared them too")
}

func managersOf(live *unstructured.Unstructured, path []string) []string {
	var out []string
	for _, entry := range live.GetManagedFields() {
		var owned map[string]any
		if entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &owned) != nil {
			continue
		}
		if owns(owned, append([]string{"spec"}, path...)) && !slices.Contains(out, entry.Manager) {
			out = append(out, entry.Manager)
		}
	}
	return out
}

// owns reports whether a FieldsV1 tree contains the path. The field a has the key "f:a".
func owns(fields map[string]any, path []string) bool {
	for _, name := range path {
		inner, ok := fields["f:"+name].(map[string]any)
		if !ok {
			return false
		}
		fields = inner
	}
	return true
}

// removalPatch returns a JSON merge patch that removes fields of the spec.
func removalPatch(fields [][]string) ([]byte, error) {
	spec := map[string]any{}
	for _, path := range fields {
		if err := unstructured.SetNestedField(spec, nil, path...); err != nil {
			return nil, err
		}
	}
	return json.Marshal(map[string]any{"spec": spec})
}
