package provider

import (
	"errors"
	"regexp"
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
	// advice is what to do about it if the text does not say so.
	advice string
}

func findingsOf(errs field.ErrorList) []finding {
	out := make([]finding, len(errs))
	for i, err := range errs {
		out[i] = finding{err.Field, err.ErrorBody(), advice(err.Type)}
	}
	return out
}

// correct is the advice where there is no better one.
const correct = "Correct the value."

// advice is what to do about an error that does not say so itself.
func advice(kind field.ErrorType) string {
	switch kind {
	case field.ErrorTypeRequired:
		return "Set it, or remove what needs it."
	case field.ErrorTypeDuplicate:
		return "Remove one of the two."
	case field.ErrorTypeForbidden:
		return "Remove it."
	case field.ErrorTypeTooLong, field.ErrorTypeTooMany:
		return "Shorten it."
	case field.ErrorTypeNotSupported:
		return "Choose one of these values."
	}
	return correct
}

// splitFindings reads lines of the form "path: text".
func splitFindings(lines []string) []finding {
	out := make([]finding, len(lines))
	for i, line := range lines {
		p, text, ok := strings.Cut(line, ": ")
		if !ok {
			p, text = "", line
		}
		out[i] = finding{path: p, text: text}
	}
	return out
}

// splitErrors reads errors that are joined, each of the form "path: text".
func splitErrors(err error) []finding {
	lines := []string{err.Error()}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		lines = nil
		for _, e := range joined.Unwrap() {
			lines = append(lines, e.Error())
		}
	}
	out := splitFindings(lines)
	for i := range out {
		out[i].advice = correct
	}
	return out
}

// manifestOf is an object of a kind.
func manifestOf(object session.Kind, name string, spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": object.Resource.GroupVersion().String(),
		"kind":       object.Name,
		"metadata":   map[string]any{"name": name},
		"spec":       spec,
	}
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
	summary, detail := t.inHCL(f.text), f.advice
	if hcl != "" {
		summary = hcl + ": " + summary
	}
	if head, rest, ok := strings.Cut(summary, "; "); ok {
		summary, detail = head, sentence(rest)
	}
	if severity == diag.SeverityError {
		return attributeError(root, summary, detail)
	}
	return attributeWarning(root, summary, detail)
}

// inHCL puts the names of JSON fields in a text as the configuration has them.
func (t translator) inHCL(text string) string {
	text = strings.ReplaceAll(text, "spec.", "")
	return fieldName.ReplaceAllStringFunc(text, func(word string) string {
		if attribute, ok := t.codec.AttributeName(t.typ, word); ok {
			return attribute
		}
		return word
	})
}

// fieldName finds words in camel case, outside of quotes.
var fieldName = regexp.MustCompile(`"[^"]*"|\b[a-z]+(?:[A-Z][A-Za-z0-9]*)+\b`)

// sentence makes what follows a semicolon one of its own.
func sentence(text string) string {
	text = strings.ToUpper(text[:1]) + text[1:]
	if strings.HasSuffix(text, "?") || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
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
