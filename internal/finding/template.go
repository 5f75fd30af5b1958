package finding

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A directive is one of Helm, Jinja, Terraform and their like. A placeholder may also be one of envsubst or a shell.
const directives = `\{\{.*?\}\}|\{\{|\{%|%\{~? *(?:if|else|endif|for|endfor)\b[^}]*\}`

var (
	directive   = regexp.MustCompile(directives)
	placeholder = regexp.MustCompile(directives + `|\$\{[^}]*\}`)
)

// Template returns the first placeholder in a text that nobody has filled in, or
// nothing.
func Template(text string) string { return placeholder.FindString(text) }

// Directive is Template without the placeholders of shells, which are valid YAML and occur in
// scripts.
func Directive(text string) string { return directive.FindString(text) }

// RenderFirst is what to do about a template that was not rendered.
const RenderFirst = "render the file first, for example with helm template, kustomize build or envsubst"

// Unrendered is what is wrong with a text that holds a template.
func Unrendered(placeholder string) Message {
	return Say("holds the template %s, which was not rendered", placeholder)
}

// Rendered refuses a text that is a template.
func Rendered(value string, path *field.Path) List {
	if Template(value) == "" {
		return nil
	}
	found, _ := culprit(path, value)
	return List{found}
}

// culprit recognises values that are wrong for a reason which the rule that they break
// does not know: templates that were not rendered, and typographic quotes.
func culprit(path *field.Path, value any) (Finding, bool) {
	s, ok := value.(string)
	if !ok {
		return Finding{}, false
	}
	if found := Template(s); found != "" {
		return Finding{Severity: Error, Path: pathOf(path), Text: Say("%q %s", Abbreviated(s), Unrendered(found)), Advice: Plain(RenderFirst)}, true
	}
	if quote := TypographicQuote(s); quote != "" {
		return Typographic(path, s, quote, Say("write %q with plain quotes or none", WithoutQuotes(s))), true
	}
	return Finding{}, false
}

// Typographic is the error of a value that holds a typographic quote.
func Typographic(path *field.Path, value, quote string, advice Message) Finding {
	return Finding{
		Severity: Error, Path: pathOf(path),
		Text: Say("%q holds the typographic quote %s as part of the value", Abbreviated(value), quote), Advice: advice,
	}
}

// typographicQuotes come into manifests from documents and chats, where they
// look like quotes and are part of the value.
const typographicQuotes = "“”„‟‘’‚‛«»"

// TypographicQuote returns the first one in a text, or nothing.
func TypographicQuote(text string) string {
	if i := strings.IndexAny(text, typographicQuotes); i >= 0 {
		return string([]rune(text[i:])[0])
	}
	return ""
}

// WithoutQuotes returns a text without its typographic quotes.
func WithoutQuotes(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(typographicQuotes, r) {
			return -1
		}
		return r
	}, text)
}

// Abbreviated is the beginning of a long text.
func Abbreviated(text string) string {
	const longest = 60
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return text
}
