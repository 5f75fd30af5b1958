package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// Gone reports whether an error means that the cluster does not have an object, or does not serve its
// kind.
func Gone(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// ExplainError returns the diagnostic of an error of the cluster. It says what to do about it.
func ExplainError(err error, title, name string) diag.Diagnostic {
	conflicts := ConflictsOf(err)
	switch {
	case len(conflicts) > 0:
		return ExplainConflicts(conflicts, title, name)
	case apierrors.IsAlreadyExists(err):
		return ExistsAlready(title+" "+name, name)
	case meta.IsNoMatchError(err):
		return diag.NewErrorDiagnostic(fmt.Sprintf("%s %s: the cluster does not know this kind", title, name),
			"Its CustomResourceDefinition is not installed. Install the agent or apply the definitions, and then apply again.")
	}
	return diag.NewErrorDiagnostic(Summarise(fmt.Sprintf("%s %s: %s", title, name, err)))
}

// ExplainConflicts returns the diagnostic of conflicts about fields that the object has not declared before.
func ExplainConflicts(conflicts []Conflict, title, name string) diag.Diagnostic {
	return diag.NewErrorDiagnostic(fmt.Sprintf("%s %s: %s", title, name, held(conflicts)),
		"Either remove these fields here to leave them to the other field managers, or set `force_conflicts = true` here or in the provider block to take them over.")
}

// ExplainUpdate returns the diagnostics of an error of an update, of an object that was declared with a spec before. To
// remove a field here that was declared before would remove it from the object too.
func ExplainUpdate(err error, title, name string, before map[string]any) (diags diag.Diagnostics) {
	conflicts := ConflictsOf(err)
	changed, foreign := Split(conflicts, before)
	if len(changed) > 0 {
		diags.AddError(fmt.Sprintf("%s %s: %s", title, name, held(changed)), "It has changed since the plan. Plan again, which shows the value. To keep it, "+
			"set it here, or list the attribute in `lifecycle.ignore_changes`. If you remove it here, it is removed from the object.")
	}
	switch {
	case len(foreign) > 0:
		diags.Append(ExplainConflicts(foreign, title, name))
	case len(conflicts) == 0:
		diags.Append(ExplainError(err, title, name))
	}
	return diags
}

func held(conflicts []Conflict) string {
	var out []string
	for _, c := range conflicts {
		out = append(out, c.String())
	}
	return strings.Join(out, ", ")
}

// Refused reports whether an error of a dry run means that the API server, or a policy of the cluster, refuses the object.
// Without the permission for a dry run, or with a webhook that cannot be asked in one, it is not known.
func Refused(err error) bool {
	byPolicy := apierrors.IsForbidden(err) && (strings.Contains(err.Error(), "admission webhook") || strings.Contains(err.Error(), "ValidatingAdmissionPolicy"))
	malformed := apierrors.IsBadRequest(err) && !strings.Contains(err.Error(), "does not support dry run")
	return byPolicy || malformed || apierrors.IsInvalid(err) || apierrors.IsConflict(err)
}

// ExistsAlready returns an error that says how to import what already exists.
func ExistsAlready(what, id string) diag.Diagnostic {
	return diag.NewErrorDiagnostic(what+" already exists",
		"Something else has created it. To manage it here, import it:\n\n"+ImportBlock(id))
}

// ImportBlock returns the import block for an id.
func ImportBlock(id string) string {
	return fmt.Sprintf("  import {\n    to = <this resource>\n    id = %q\n  }", id)
}

// managerName matches the API server's message
// `conflict with "NAME" with subresource "X" using VERSION`.
var managerName = regexp.MustCompile(`conflict with "([^"]*)"`)

// Summarise splits a message into the summary of a diagnostic, which is the first line, and its detail.
func Summarise(message string) (summary, detail string) {
	summary, detail, _ = strings.Cut(message, "\n")
	return summary, detail
}

// Common parts of diagnostics.
const (
	NoCluster      = "no access to the cluster"
	NoAWS          = "no access to AWS"
	NothingChanged = "Nothing has been changed."
	Bug            = "This is a bug in the provider. Please report it."
)

// ReportOnce reports that a refresh or a plan has no access to the cluster or to AWS. It does so for the
// first resource only.
func ReportOnce(s *session.Session, what string, err error, diags *diag.Diagnostics) {
	if !s.First() { // without access to AWS, there is often none to the cluster
		return
	}
	diags.AddError(what+": "+err.Error(), noAccess(err))
}

// noAccess returns the detail of an error about the access to the cluster or to AWS.
func noAccess(err error) string {
	if errors.Is(err, session.ErrWrongAccess) {
		return NothingChanged + " If the same apply creates the cluster or the credentials, refer to the resources that create them, so that their values are known only after apply."
	}
	return NothingChanged
}

// Unanswered returns what to add to an error of AWS if it is not known whether the last request took
// effect.
func Unanswered(err error) string {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return "It is not known whether AWS has carried out the last request. The next plan reads what exists; if it reports that something already exists, import it."
	}
	return ""
}

// NotRefreshed returns a warning that a state was not refreshed, with the reason.
func NotRefreshed(what string, err error) diag.Diagnostic {
	return diag.NewWarningDiagnostic(what+" was not refreshed", fmt.Sprintf("The state stays as it was recorded: %s.", err))
}

// AttributeError is an error about a top-level attribute, or about the whole resource if root is empty.
func AttributeError(root, summary, detail string) diag.Diagnostic {
	if root == "" {
		return diag.NewErrorDiagnostic(summary, detail)
	}
	return diag.NewAttributeErrorDiagnostic(path.Root(root), summary, detail)
}

// AttributeWarning is a warning about a top-level attribute, or about the whole resource if root is empty.
func AttributeWarning(root, summary, detail string) diag.Diagnostic {
	if root == "" {
		return diag.NewWarningDiagnostic(summary, detail)
	}
	return diag.NewAttributeWarningDiagnostic(path.Root(root), summary, detail)
}
