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

// Gone reports whether an error says that an object is not in the cluster, or
// not even its kind.
func Gone(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// ExplainError turns an error of the cluster into a diagnostic that says what to do.
func ExplainError(err error, title, name string) diag.Diagnostic {
	conflicts := ConflictsOf(err)
	switch {
	case len(conflicts) > 0:
		var held []string
		for _, c := range conflicts {
			held = append(held, c.String())
		}
		return diag.NewErrorDiagnostic(fmt.Sprintf("%s %s: %s", title, name, strings.Join(held, ", ")),
			"Either leave these fields to the other managers by removing them here, or set `force_conflicts = true`, here or in the provider block, to take them over.")
	case apierrors.IsAlreadyExists(err):
		return ExistsAlready(title+" "+name, name)
	case meta.IsNoMatchError(err):
		return diag.NewErrorDiagnostic(fmt.Sprintf("%s %s: the cluster does not know this kind", title, name),
			"Its CustomResourceDefinition is not installed. Install the agent, which brings it, or apply the definitions, and apply again.")
	}
	return diag.NewErrorDiagnostic(Summarise(fmt.Sprintf("%s %s: %s", title, name, err)))
}

// ExistsAlready says how something that is there is taken over.
func ExistsAlready(what, id string) diag.Diagnostic {
	return diag.NewErrorDiagnostic(what+" exists already",
		"Something else has created it. To manage it here, import it:\n\n"+ImportBlock(id))
}

// ImportBlock is the block that imports something by its id.
func ImportBlock(id string) string {
	return fmt.Sprintf("  import {\n    to = <this resource>\n    id = %q\n  }", id)
}

// managerName finds the name in the API server's message, which reads
// `conflict with "NAME" with subresource "X" using VERSION`.
var managerName = regexp.MustCompile(`conflict with "([^"]*)"`)

// Summarise puts the first line of a message into the summary of a diagnostic,
// where it tells it apart from others, and the rest into the detail.
func Summarise(message string) (summary, detail string) {
	summary, detail, _ = strings.Cut(message, "\n")
	return summary, detail
}

// What stands before an error of the access, and after it.
const (
	NoCluster      = "no access to the cluster"
	NoAWS          = "no access to AWS"
	NothingChanged = "Nothing has been changed."
)

// ReportOnce reports that a refresh or a plan has no access, for one resource of all.
func ReportOnce(s *session.Session, what string, err error, diags *diag.Diagnostics) {
	if !s.First("no access") { // to the cluster is often none to AWS
		return
	}
	detail := NothingChanged
	if errors.Is(err, session.ErrWrongAccess) {
		detail += " If the same apply makes the cluster or the credentials, take their values from the resources that make them, so that they are known only after apply."
	}
	diags.AddError(what+": "+err.Error(), detail)
}

// Unanswered is what to add to an error of AWS after which it is open what was done.
func Unanswered(err error) string {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return "Whether AWS has carried out the last call is open. The next plan reads what is there; if it then says that it exists already, import it."
	}
	return ""
}

// NotRefreshed says why the state stays as it is.
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
