package api

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// template is a placeholder of Helm, Jinja, envsubst and their like.
var template = regexp.MustCompile(`\{\{.*?\}\}|\{\{|\{%|\$\{[^}]*\}`)

// FindTemplate returns the first placeholder in a text that nobody has filled in, or
// nothing.
func FindTemplate(text string) string { return template.FindString(text) }

// RenderFirst is what to do about a template that was not rendered.
const RenderFirst = "render the file first, for example with helm template, kustomize build or envsubst"

// unrendered is what is wrong with a text that holds a template.
func unrendered(placeholder string) string {
	return "holds the template " + placeholder + ", which was not rendered"
}

// checkRendered refuses a text that is a template.
func checkRendered(value string, path *field.Path) field.ErrorList {
	if found := FindTemplate(value); found != "" {
		return field.ErrorList{field.Invalid(path, value, unrendered(found)+"; "+RenderFirst)}
	}
	return nil
}

// culprit recognises values that are wrong for a reason which the rule that they break
// does not know: templates that were not rendered, and typographic quotes.
func culprit(value any) (text, advice string) {
	s, ok := value.(string)
	if !ok {
		return "", ""
	}
	if found := FindTemplate(s); found != "" {
		return fmt.Sprintf("%q %s", abbreviated(s), unrendered(found)), RenderFirst
	}
	if quote := typographicQuote(s); quote != "" {
		plain := withoutQuotes(s)
		return fmt.Sprintf("%q holds the typographic quote %s as part of the value", abbreviated(s), quote), fmt.Sprintf("write %q with plain quotes or none", plain)
	}
	return "", ""
}

// typographicQuote returns the first one in a text, or nothing.
func typographicQuote(text string) string {
	if i := strings.IndexAny(text, typographicQuotes); i >= 0 {
		return string([]rune(text[i:])[0])
	}
	return ""
}

func withoutQuotes(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(typographicQuotes, r) {
			return -1
		}
		return r
	}, text)
}
