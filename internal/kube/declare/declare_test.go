package declare

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestLeftovers(t *testing.T) {
	tests := map[string]struct {
		before, after, live string
		want                [][]string
	}{
		"nothing was taken out":        {`{"a":1}`, `{"a":2}`, `{"a":2}`, nil},
		"what was taken out is gone":   {`{"a":1}`, `{}`, `{}`, nil},
		"a field stays":                {`{"a":1,"b":1}`, `{"b":1}`, `{"a":1,"b":1}`, [][]string{{"a"}}},
		"what was never declared":      {`{}`, `{}`, `{"a":1}`, nil},
		"a field of an object stays":   {`{"o":{"a":1,"b":1}}`, `{"o":{"b":1}}`, `{"o":{"a":1,"b":1}}`, [][]string{{"o", "a"}}},
		"an object stays as a whole":   {`{"o":{"a":1}}`, `{}`, `{"o":{"a":1}}`, [][]string{{"o"}}},
		"a list is one field":          {`{"l":[1,2]}`, `{"l":[1]}`, `{"l":[1]}`, nil},
		"several, in order":            {`{"b":1,"a":1}`, `{}`, `{"a":1,"b":1}`, [][]string{{"a"}, {"b"}}},
		"an object became a plain one": {`{"o":{"a":1}}`, `{"o":1}`, `{"o":1}`, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := leftovers(object(t, tt.before), object(t, tt.after), object(t, tt.live))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRemovalPatch(t *testing.T) {
	got, err := removalPatch([][]string{{"weight"}, {"limits", "resources", "cpu"}, {"limits", "resources", "memory"}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"spec":{"limits":{"resources":{"cpu":null,"memory":null}},"weight":null}}`
	if string(got) != want {
		t.Errorf("patch = %s, want %s", got, want)
	}
}

func TestHeldByOthersNamesTheManagers(t *testing.T) {
	live := &unstructured.Unstructured{Object: map[string]any{}}
	live.SetManagedFields([]metav1.ManagedFieldsEntry{
		{Manager: "kubectl", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{"f:weight":{},"f:limits":{"f:resources":{"f:cpu":{}}}}}`)}},
		{Manager: "argocd", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{"f:weight":{}}}`)}},
		{Manager: "agent", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:status":{}}`)}},
	})
	err := heldByOthers(live, [][]string{{"weight"}, {"limits", "resources", "cpu"}, {"labels"}})
	want := `.spec.weight belongs to "kubectl", .spec.weight belongs to "argocd", .spec.limits.resources.cpu belongs to "kubectl", .spec.labels belongs to "unknown"`
	if err.Error() != want {
		t.Errorf("error = %s, want %s", err, want)
	}
}

func TestConflictOf(t *testing.T) {
	refused := apierrors.NewApplyConflict([]metav1.StatusCause{{
		Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.weight", Message: `conflict with "kubectl" using karpenter.sh/v1alpha5`,
	}}, "Apply failed")
	var conflict *ConflictError
	if err := conflictOf(refused); !errors.As(err, &conflict) {
		t.Fatalf("error = %v, want a ConflictError", err)
	}
	if diff := cmp.Diff([]Conflict{{Manager: "kubectl", Field: ".spec.weight"}}, conflict.Conflicts); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}
	stale := apierrors.NewConflict(schema.GroupResource{Resource: "provisioners"}, "a", errors.New("stale"))
	if err := conflictOf(stale); err != nil {
		t.Errorf("a stale object counts as a conflict of managers: %v", err)
	}
}

func TestExplain(t *testing.T) {
	store := &Store{kind: Kind{Name: "Provisioner"}}
	tests := map[string]struct{ err, want error }{
		"the object is gone": {apierrors.NewNotFound(schema.GroupResource{Resource: "provisioners"}, "a"), ErrNotFound},
		"the kind is gone": {
			&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonNotFound, Message: "the server could not find the requested resource"}}, ErrNoKind,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := store.explain(tt.err, "read", "a"); !errors.Is(got, tt.want) {
				t.Errorf("error = %v, want %v", got, tt.want)
			}
		})
	}
}
