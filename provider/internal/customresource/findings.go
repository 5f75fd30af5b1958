package customresource

import (
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

// ManifestOf is an object of a kind.
func ManifestOf(object session.Kind, name string, spec map[string]any) map[string]any {
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
func (t translator) translate(f api.Finding) diag.Diagnostic {
	inSpec, isSpec := strings.CutPrefix(f.Path, "spec")
	inSpec = strings.TrimPrefix(inSpec, ".")
	if isSpec && inSpec != "" && t.doc.Undecided(inSpec) {
		return nil
	}
	root, hcl := t.doc.Attribute(t.codec, t.typ, inSpec)
	if f.Path == "metadata.name" {
		root, hcl = "name", "name"
	}
	summary, detail := t.inHCL(f.Text), ""
	if hcl != "" {
		summary = hcl + ": " + summary
	}
	if f.Advice != "" {
		detail = sentence(t.inHCL(f.Advice))
	}
	if f.Severity == api.Error {
		return lifecycle.AttributeError(root, summary, detail)
	}
	return lifecycle.AttributeWarning(root, summary, detail)
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
