package lifecycle

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

func TestExplainError(t *testing.T) {
	kind := api.ProvisionerGVR.GroupResource()
	conflict := apierrors.NewApplyConflict([]metav1.StatusCause{{
		Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.weight", Message: `conflict with "kubectl" using karpenter.sh/v1alpha5`,
	}}, "Apply failed")
	tests := map[string]struct {
		err             error
		summary, detail string
	}{
		"a conflict":            {conflict, `provisioner a: .spec.weight belongs to "kubectl"`, "force_conflicts = true"},
		"an object that exists": {apierrors.NewAlreadyExists(kind, "a"), "provisioner a already exists", `id = "a"`},
		"an unknown kind": {
			&meta.NoResourceMatchError{PartialResource: api.ProvisionerGVR}, "provisioner a: the cluster does not know this kind", "CustomResourceDefinition",
		},
		"a stale object": {
			apierrors.NewConflict(kind, "a", errors.New("stale")),
			`provisioner a: Operation cannot be fulfilled on provisioners.karpenter.sh "a": stale`, "",
		},
		"several lines": {errors.New("stuck\n  node b"), "provisioner a: stuck", "  node b"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := ExplainError(fmt.Errorf("%w", tt.err), "provisioner", "a")
			if got.Summary() != tt.summary || !strings.Contains(got.Detail(), tt.detail) {
				t.Errorf("diagnostic = %q, %q, want %q, …%s…", got.Summary(), got.Detail(), tt.summary, tt.detail)
			}
		})
	}
}

// To remove a field here removes it from the object, unless only another field manager has declared it.
func TestExplainUpdate(t *testing.T) {
	cause := func(field string) metav1.StatusCause {
		return metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Field: field, Message: `conflict with "kubectl" using karpenter.sh/v1alpha5`}
	}
	conflict := apierrors.NewApplyConflict([]metav1.StatusCause{cause(".spec.weight"), cause(".spec.taints")}, "Apply failed")
	got := ExplainUpdate(conflict, "provisioner", "a", map[string]any{"weight": int64(1)})
	for i, want := range []struct{ summary, detail string }{
		{`provisioner a: .spec.weight belongs to "kubectl"`, "It has changed since the plan."},
		{`provisioner a: .spec.taints belongs to "kubectl"`, "Either remove these fields here"},
	} {
		if len(got) != 2 || got[i].Summary() != want.summary || !strings.HasPrefix(got[i].Detail(), want.detail) {
			t.Errorf("diagnostics = %v, want %q, %q", got, want.summary, want.detail)
		}
	}
	if got := ExplainUpdate(errors.New("stuck"), "provisioner", "a", nil); len(got) != 1 || got[0].Summary() != "provisioner a: stuck" {
		t.Errorf("another error: diagnostics = %v", got)
	}
}

// A policy refuses an object. A missing permission for the dry run does not.
func TestRefused(t *testing.T) {
	kind := api.ProvisionerGVR.GroupResource()
	for name, tt := range map[string]struct {
		err  error
		want bool
	}{
		"no permission":   {apierrors.NewForbidden(kind, "a", errors.New(`User "ci" cannot patch resource "provisioners"`)), false},
		"a webhook":       {apierrors.NewForbidden(kind, "a", errors.New(`admission webhook "validation.gatekeeper.sh" denied the request`)), true},
		"another policy":  {apierrors.NewForbidden(kind, "a", errors.New(`ValidatingAdmissionPolicy 'limits' with binding 'limits' denied request`)), true},
		"a stale object":  {apierrors.NewConflict(kind, "a", errors.New("stale")), true},
		"a malformed one": {apierrors.NewBadRequest("unknown field"), true},
		"not to be asked": {apierrors.NewBadRequest(`admission webhook "audit.example.com" does not support dry run`), false},
		"no response yet": {errors.New("timeout"), false},
	} {
		if got := Refused(fmt.Errorf("check: %w", tt.err)); got != tt.want {
			t.Errorf("%s: refused = %t, want %t", name, got, tt.want)
		}
	}
}
