package declare

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Conflict is a field that another manager has declared.
type Conflict struct {
	Manager string
	Field   string // such as .spec.weight
}

// ConflictError says that other managers have declared fields of the object.
type ConflictError struct{ Conflicts []Conflict }

// Error lists the fields and their managers.
func (e *ConflictError) Error() string {
	parts := make([]string, len(e.Conflicts))
	for i, c := range e.Conflicts {
		parts[i] = fmt.Sprintf("%s belongs to %q", c.Field, c.Manager)
	}
	return strings.Join(parts, ", ")
}

// managerName finds the name in the API server's message, which reads
// `conflict with "NAME" with subresource "X" using VERSION`.
var managerName = regexp.MustCompile(`conflict with "([^"]*)"`)

// conflictOf returns the conflicts that the API server reports, or nil.
func conflictOf(err error) error {
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	conflict := &ConflictError{}
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		manager := cause.Message
		if m := managerName.FindStringSubmatch(cause.Message); m != nil {
			manager = m[1]
		}
		conflict.Conflicts = append(conflict.Conflicts, Conflict{Manager: manager, Field: cause.Field})
	}
	if len(conflict.Conflicts) == 0 {
		return nil
	}
	return conflict
}

// heldByOthers names the managers that keep fields of the spec in the object.
func heldByOthers(live *unstructured.Unstructured, fields [][]string) error {
	conflict := &ConflictError{}
	for _, path := range fields {
		managers := managersOf(live, path)
		if len(managers) == 0 {
			managers = []string{"unknown"}
		}
		for _, manager := range managers {
			conflict.Conflicts = append(conflict.Conflicts, Conflict{manager, ".spec." + strings.Join(path, ".")})
		}
	}
	return conflict
}

func managersOf(live *unstructured.Unstructured, path []string) []string {
	var out []string
	for _, entry := range live.GetManagedFields() {
		var owned map[string]any
		if entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.Raw, &owned) != nil {
			continue
		}
		if owns(owned, append([]string{"spec"}, path...)) && !slices.Contains(out, entry.Manager) {
			out = append(out, entry.Manager)
		}
	}
	return out
}

// owns walks a FieldsV1 tree, in which the field a is the key "f:a".
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

// removalPatch is the JSON merge patch that removes fields of the spec.
func removalPatch(fields [][]string) ([]byte, error) {
	spec := map[string]any{}
	for _, path := range fields {
		at := spec
		for _, name := range path[:len(path)-1] {
			inner, ok := at[name].(map[string]any)
			if !ok {
				inner = map[string]any{}
				at[name] = inner
			}
			at = inner
		}
		at[path[len(path)-1]] = nil
	}
	return json.Marshal(map[string]any{"spec": spec})
}
