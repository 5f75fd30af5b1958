package provider

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// gone reports whether an error says that an object is not in the cluster, or
// not even its kind.
func gone(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// explainError turns an error of the cluster into a diagnostic that says what to do.
func explainError(err error, title, name string) diag.Diagnostic {
	conflicts := conflictsOf(err)
	switch {
	case len(conflicts) > 0:
		var held []string
		for _, c := range conflicts {
			held = append(held, c.String())
		}
		return diag.NewErrorDiagnostic(fmt.Sprintf("%s %s: %s", title, name, strings.Join(held, ", ")),
			"Either leave these fields to the other managers by removing them here, or set `force_conflicts = true`, here or in the provider block, to take them over.")
	case apierrors.IsAlreadyExists(err):
		return existsAlready(title+" "+name, name)
	case meta.IsNoMatchError(err):
		return diag.NewErrorDiagnostic(fmt.Sprintf("%s %s: the cluster does not know this kind", title, name),
			"Its CustomResourceDefinition is not installed. Install the agent, which brings it, or apply the definitions, and apply again.")
	}
	return diag.NewErrorDiagnostic(summarise(fmt.Sprintf("%s %s: %s", title, name, err)))
}

// existsAlready says how something that is there is taken over.
func existsAlready(what, id string) diag.Diagnostic {
	return diag.NewErrorDiagnostic(what+" exists already",
		"Something else has created it. To manage it here, import it:\n\n"+importBlock(id))
}

func importBlock(id string) string {
	return fmt.Sprintf("  import {\n    to = <this resource>\n    id = %q\n  }", id)
}

// managerName finds the name in the API server's message, which reads
// `conflict with "NAME" with subresource "X" using VERSION`.
var managerName = regexp.MustCompile(`conflict with "([^"]*)"`)

// summarise puts the first line of a message into the summary of a diagnostic,
// where it tells it apart from others, and the rest into the detail.
func summarise(message string) (summary, detail string) {
	summary, detail, _ = strings.Cut(message, "\n")
	return summary, detail
}
