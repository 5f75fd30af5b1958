package apply

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
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
		{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:weight":{},"f:limits":{"f:resources":{"f:cpu":{}}}}}`)},
		{Manager: "argocd", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:weight":{}}}`)},
		{Manager: "agent", FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`)},
	})
	err := heldByOthers(live, [][]string{{"weight"}, {"limits", "resources", "cpu"}, {"labels"}})
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) {
		t.Fatalf("error = %v, want a conflict", err)
	}
	var got []string
	for _, cause := range status.Status().Details.Causes {
		got = append(got, cause.Field+": "+cause.Message)
	}
	want := []string{
		`.spec.weight: conflict with "kubectl"`, `.spec.weight: conflict with "argocd"`,
		`.spec.limits.resources.cpu: conflict with "kubectl"`, `.spec.labels: conflict with "unknown"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
}

func TestExplain(t *testing.T) {
	store := &Store{kind: api.CustomKind{Name: "Provisioner"}}
	tests := map[string]struct {
		err  error
		want func(error) bool
	}{
		"the object is gone": {apierrors.NewNotFound(schema.GroupResource{Resource: "provisioners"}, "a"), apierrors.IsNotFound},
		"the kind is gone": {
			&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonNotFound, Message: "the server could not find the requested resource"}},
			meta.IsNoMatchError,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := store.explain(tt.err, "read", "a"); !tt.want(got) {
				t.Errorf("error = %v", got)
			}
		})
	}
}
