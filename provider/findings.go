package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/declare"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/teardown"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

// finding is what the rules of the API say about one field.
type finding struct {
	// path is the JSON path in the object, such as spec.requirements[0].key.
	path string
	text string
}

func findingsOf(errs field.ErrorList) []finding {
	out := make([]finding, len(errs))
	for i, err := range errs {
		out[i] = finding{err.Field, err.ErrorBody()}
	}
	return out
}

// splitFindings reads lines of the form "path: text".
func splitFindings(lines []string) []finding {
	out := make([]finding, len(lines))
	for i, line := range lines {
		p, text, ok := strings.Cut(line, ": ")
		if !ok {
			p, text = "", line
		}
		out[i] = finding{p, text}
	}
	return out
}

// splitErrors reads errors that are joined, each of the form "path: text".
func splitErrors(err error) []finding {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return splitFindings([]string{err.Error()})
	}
	var lines []string
	for _, e := range joined.Unwrap() {
		lines = append(lines, e.Error())
	}
	return splitFindings(lines)
}

// manifest is the JSON of an object.
func manifest(object declare.Kind, name string, spec map[string]any) ([]byte, error) {
	return json.Marshal(map[string]any{
		"apiVersion": object.Resource.GroupVersion().String(),
		"kind":       object.Name,
		"metadata":   map[string]any{"name": name},
		"spec":       spec,
	})
}

// translator puts findings in terms of the configuration.
type translator struct {
	codec wire.Codec
	typ   tftypes.Object
	doc   *wire.Document
}

// translate returns nil for a finding that may be due to what is not known yet.
func (t translator) translate(f finding, severity diag.Severity) diag.Diagnostic {
	inSpec, isSpec := strings.CutPrefix(f.path, "spec")
	inSpec = strings.TrimPrefix(inSpec, ".")
	if isSpec && inSpec != "" && t.doc.Undecided(inSpec) {
		return nil
	}
	root, hcl := t.doc.Attribute(t.codec, t.typ, inSpec)
	if f.path == "metadata.name" {
		root, hcl = "name", "name"
	}
	summary, detail := f.text, ""
	if hcl != "" {
		summary = hcl + ": " + f.text
	}
	if head, rest, ok := strings.Cut(summary, "; "); ok {
		summary, detail = head, rest
	}
	if severity == diag.SeverityError {
		return attributeError(root, summary, detail)
	}
	return attributeWarning(root, summary, detail)
}

func attributeError(root, summary, detail string) diag.Diagnostic {
	if root == "" {
		return diag.NewErrorDiagnostic(summary, detail)
	}
	return diag.NewAttributeErrorDiagnostic(path.Root(root), summary, detail)
}

func attributeWarning(root, summary, detail string) diag.Diagnostic {
	if root == "" {
		return diag.NewWarningDiagnostic(summary, detail)
	}
	return diag.NewAttributeWarningDiagnostic(path.Root(root), summary, detail)
}

// explainError turns an error of the cluster into a diagnostic that says what to do.
func explainError(err error, title, address string) diag.Diagnostic {
	var conflict *declare.ConflictError
	var stuck *teardown.StuckError
	switch {
	case errors.As(err, &stuck):
		return diag.NewErrorDiagnostic(summarise(stuck.Error()))
	case errors.As(err, &conflict):
		var lines []string
		for _, c := range conflict.Conflicts {
			lines = append(lines, fmt.Sprintf("  %s is declared by the field manager %q", c.Field, c.Manager))
		}
		return diag.NewErrorDiagnostic(
			fmt.Sprintf("%s %s: %s", title, address, conflict),
			strings.Join(lines, "\n")+"\n\nEither leave these fields to the other manager by removing them here, or set "+
				"`force_conflicts = true` in the provider block to take them over.")
	case errors.Is(err, declare.ErrExists):
		return diag.NewErrorDiagnostic(
			fmt.Sprintf("%s %s exists already", title, address),
			fmt.Sprintf("Something else has created it. To manage it here, import it:\n\n  import {\n    to = <this resource>\n    id = %q\n  }", address))
	case errors.Is(err, declare.ErrNoKind):
		return diag.NewErrorDiagnostic(
			fmt.Sprintf("%s %s: the cluster does not know this kind", title, address),
			"Its CustomResourceDefinition is not installed. Install the agent, which brings it, or apply the definitions, and apply again.")
	}
	return diag.NewErrorDiagnostic(summarise(fmt.Sprintf("%s %s: %s", title, address, err)))
}

// summarise puts the first line of a message into the summary of a diagnostic,
// where it tells it apart from others, and the rest into the detail.
func summarise(message string) (summary, detail string) {
	summary, detail, _ = strings.Cut(message, "\n")
	return summary, detail
}
