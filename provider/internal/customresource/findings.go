package customresource

import (
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/validate"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

// ManifestOf returns the manifest of an object.
func ManifestOf(object api.CustomKind, name string, spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": object.Resource.GroupVersion().String(),
		"kind":       object.Name,
		"metadata":   map[string]any{"name": name},
		"spec":       spec,
	}
}

// Check applies the rules of the API to an object of that kind and name, which decode reads. It also
// reports what decode ignores.
func Check[T any](object api.CustomKind, name string, spec map[string]any, decode func(map[string]any) (T, finding.List, error), rules func(T) finding.List) finding.List {
	decoded, ignored, err := decode(ManifestOf(object, name, spec))
	if err != nil {
		return finding.Of(err)
	}
	found := slices.Concat(ignored, rules(decoded))
	if len(found.Errors()) == 0 {
		found = append(found, validate.Bounds(object.Resource.GroupResource().String(), spec)...)
	}
	return found
}

// CheckDraft returns the errors about a draft of an object that is not a resource of its own, but stands at a place
// in an attribute, such as provisioners[0].
func CheckDraft(k Kind, m *wire.Model, doc *wire.Document, place string) (out diag.Diagnostics) {
	in := translator{k.Codec(), m.Type(), doc}
	root, _, _ := strings.Cut(place, "[")
	for _, found := range k.Check(m.Name(), doc.Fields).Errors() {
		_, summary, detail := in.spell(found)
		out.Append(lifecycle.AttributeError(root, place+": "+summary, detail))
	}
	return out
}

// translator translates findings about an object to the terms of the configuration.
type translator struct {
	codec wire.Codec
	typ   tftypes.Object
	doc   *wire.Document
}

// translate returns the diagnostic of a finding. It is nil if the finding may be due to values that
// are not known yet.
func (t translator) translate(f finding.Finding) diag.Diagnostic {
	inSpec, isSpec := strings.CutPrefix(f.Path, "spec")
	inSpec = strings.TrimPrefix(inSpec, ".")
	if isSpec && inSpec != "" && t.doc.Undecided(inSpec) {
		return nil
	}
	root, summary, detail := t.spell(f)
	if f.Severity == finding.Error {
		return lifecycle.AttributeError(root, summary, detail)
	}
	return lifecycle.AttributeWarning(root, summary, detail)
}

// spell returns a finding in terms of the configuration: the root attribute, what is wrong, and what
// would be right.
func (t translator) spell(f finding.Finding) (root, summary, detail string) {
	at := t.place(f.Path)
	if f.Path == "metadata.name" {
		at = wire.Place{Root: "name", Path: "name"}
	}
	summary = f.Text.Spell(t.attribute)
	if at.Path != "" {
		summary = at.Path + ": " + summary
	}
	return at.Root, summary, finding.Sentence(f.Advice.Spell(t.attribute))
}

// attribute returns the attribute of a field of the object, or the field itself if it has none.
func (t translator) attribute(f finding.Field) string {
	at := t.place(f.Path)
	switch {
	case at.Path == "":
		return f.String()
	case f.Name != "":
		return at.Name
	}
	return at.Path
}

func (t translator) place(path string) wire.Place {
	return t.doc.Attribute(t.codec, t.typ, strings.TrimPrefix(strings.TrimPrefix(path, "spec"), "."))
}
