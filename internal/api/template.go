package api

import (
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
func unrendered(placeholder string) Message {
	return say("holds the template %s, which was not rendered", placeholder)
}

// checkRendered refuses a text that is a template.
func checkRendered(value string, path *field.Path) Findings {
	if FindTemplate(value) == "" {
		return nil
	}
	found, _ := culprit(path, value)
	return Findings{found}
}

// culprit recognises values that are wrong for a reason which the rule that they break
// does not know: templates that were not rendered, and typographic quotes.
func culprit(path *field.Path, value any) (Finding, bool) {
	s, ok := value.(string)
	if !ok {
		return Finding{}, false
	}
	if found := FindTemplate(s); found != "" {
		return Finding{Severity: Error, Path: pathOf(path), Value: value, Text: say("%q %s", abbreviated(s), unrendered(found)), Advice: Plain(RenderFirst)}, true
	}
	if quote := typographicQuote(s); quote != "" {
		return typographic(path, s, quote, say("write %q with plain quotes or none", withoutQuotes(s))), true
	}
	return Finding{}, false
}

// typographic is the error of a value that holds a typographic quote.
func typographic(path *field.Path, value, quote string, advice Message) Finding {
	return Finding{
		Severity: Error, Path: pathOf(path), Value: value,
		Text: say("%q holds the typographic quote %s as part of the value", abbreviated(value), quote), Advice: advice,
	}
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
