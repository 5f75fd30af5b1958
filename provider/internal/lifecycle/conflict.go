package lifecycle

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conflict is a field that another field manager has declared.
type Conflict struct{ Field, Manager string }

func (c Conflict) String() string { return fmt.Sprintf("%s belongs to %q", c.Field, c.Manager) }

// ConflictsOf returns the conflicts that an error of the API server reports, or nil.
func ConflictsOf(err error) []Conflict {
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var out []Conflict
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		manager := cause.Message
		if m := managerName.FindStringSubmatch(cause.Message); m != nil {
			manager = m[1]
		}
		out = append(out, Conflict{cause.Field, manager})
	}
	return out
}

// Value returns the value of the conflicting field in a spec, and whether the spec has one.
func (c Conflict) Value(spec map[string]any) (any, bool) {
	return lookup(spec, strings.TrimPrefix(c.Field, ".spec"))
}

// lookup follows a path such as .labels.example.com/team, whose names may contain dots.
func lookup(fields map[string]any, path string) (any, bool) {
	for name, value := range fields {
		rest, ok := strings.CutPrefix(path, "."+name)
		switch {
		case !ok:
		case rest == "":
			return value, true
		default:
			if inner, isMap := value.(map[string]any); isMap {
				if found, ok := lookup(inner, rest); ok {
					return found, true
				}
			}
		}
	}
	return nil, false
}

// Split separates the conflicts about fields that the resource has declared before, which is drift, from those about
// foreign ones.
func Split(conflicts []Conflict, before map[string]any) (drift, foreign []Conflict) {
	for _, c := range conflicts {
		if _, ours := c.Value(before); ours {
			drift = append(drift, c)
		} else {
			foreign = append(foreign, c)
		}
	}
	return drift, foreign
}

// InPlan reports whether the plan has shown the change of all conflicting fields. This is so if the
// cluster has the values that the state has.
func InPlan(conflicts []Conflict, before, live map[string]any) bool {
	return len(conflicts) > 0 && !slices.ContainsFunc(conflicts, func(c Conflict) bool {
		was, ours := c.Value(before)
		is, there := c.Value(live)
		return !ours || !there || !reflect.DeepEqual(was, is)
	})
}
