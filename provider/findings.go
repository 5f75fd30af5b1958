package provider

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
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
func manifest(object session.Kind, name string, spec map[string]any) ([]byte, error) {
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
