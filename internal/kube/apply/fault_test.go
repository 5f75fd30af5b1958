package apply

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"
)

// declaredBy is an object that a manager has declared.
func declaredBy(manager string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(things.GroupVersion().WithKind("Thing"))
	out.SetName("new")
	out.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: manager, Operation: metav1.ManagedFieldsOperationApply}})
	return out
}

// TestACreateThatNobodyHasAnsweredSaysWhatIsThere holds that success is told only for
// an object that is there, and that an error says whether it is.
func TestACreateThatNobodyHasAnsweredSaysWhatIsThere(t *testing.T) {
	unanswered := fmt.Errorf("Patch %q: %w", "https://cluster", context.DeadlineExceeded)
	unread := apierrors.NewInternalError(fmt.Errorf("etcd"))
	for name, c := range map[string]struct {
		applied error
		made    *unstructured.Unstructured // in spite of the error
		unread  error                      // the look afterwards
		want    string                     // in the error, empty for success
	}{
		"it was made":            {applied: unanswered, made: declaredBy("m")},
		"it was not":             {applied: unanswered, want: "It does not exist yet, but the request may still take effect"},
		"by somebody else":       {applied: unanswered, made: declaredBy("kubectl"), want: "Another client has created it in the meantime"},
		"nobody can tell":        {applied: unanswered, unread: unread, want: "It is not known whether it was created"},
		"it was cancelled":       {applied: context.Canceled, want: `interrupted: apply Thing "new"`},
		"the API server refuses": {applied: apierrors.NewBadRequest("no"), want: `apply Thing "new": no`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, api, _ := recording(t)
				applied := false
				api.PrependReactor("patch", "things", func(k8stesting.Action) (bool, runtime.Object, error) {
					applied = true
					return true, nil, c.applied
				})
				api.PrependReactor("get", "things", func(k8stesting.Action) (bool, runtime.Object, error) {
					switch {
					case applied && c.unread != nil:
						return true, nil, c.unread
					case applied && c.made != nil:
						return true, c.made, nil
					}
					return false, nil, nil
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := store.Create(ctx, "new", map[string]any{"a": int64(1)})
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("error = %v, want %q", err, c.want)
				}
			})
		})
	}
}

// A change that nobody has answered is an error, and says that the next plan knows more.
func TestAChangeThatNobodyHasAnsweredIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, api, _ := recording(t, "a")
		hang := func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, context.DeadlineExceeded }
		api.PrependReactor("patch", "things", hang)
		api.PrependReactor("delete", "things", hang)
		for what, err := range map[string]error{
			"update": store.Update(t.Context(), "a", nil, map[string]any{"a": int64(1)}),
			"delete": store.Delete(t.Context(), "a", "", metav1.DeletePropagationBackground),
		} {
			if err == nil || !strings.Contains(err.Error(), "the next plan will read the object") {
				t.Errorf("%s: error = %v, want one that says that the outcome is open", what, err)
			}
		}
		if err := store.Check(t.Context(), "a", nil); err == nil {
			t.Error("a check that nobody has answered counts as passed")
		}
	})
}
