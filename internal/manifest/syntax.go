package manifest

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// parserPlace is where the parser says that an error is, which often is where what
// holds it begins or ends, and now and then one line off.
var parserPlace = regexp.MustCompile(`^(?:error converting YAML to JSON: )?yaml: (?:unmarshal errors:\n\s*)?(?:line (\d+): )?`)

// syntaxError says on which line a document ceases to be YAML, and the likely cause.
func syntaxError(doc *Document, err error) *Error {
	lines := bytes.SplitAfter(doc.text, []byte("\n"))
	bad := firstBad(lines)
	if _, first := yaml.YAMLToJSONStrict(bytes.Join(lines[:bad+1], nil)); first != nil {
		err = first
	}
	what, _, _ := strings.Cut(parserPlace.ReplaceAllString(err.Error(), ""), "\n")
	if what == "found unexpected end of stream" {
		what = "a quote that is opened here is not closed"
	}
	text, advice := "is no YAML from here on: "+what, ""
	line := string(lines[bad])
	quote := strings.IndexAny(line, "“”„‟‘’‚‛«»")
	if n, found := firstTemplate(lines); found != "" {
		bad, text, advice = n, "holds the template "+found+", which was not rendered", finding.RenderFirst
	} else if strings.HasPrefix(line, "\t") || strings.HasPrefix(strings.TrimLeft(line, " "), "\t") {
		advice = "indent with spaces, not with tabs"
	} else if quote >= 0 {
		advice = fmt.Sprintf("write plain quotes in place of the typographic quote %c", []rune(line[quote:])[0])
	}
	return &Error{File: doc.File, Document: doc.Index, Line: doc.Line + bad, Err: finding.Finding{Severity: finding.Error, Text: finding.Plain(text), Advice: finding.Plain(advice)}}
}

// firstBad returns the index of the line that follows the longest beginning which can
// be read. Beginnings may end within quotes or brackets that are closed later, so that
// the search goes backwards.
func firstBad(lines [][]byte) int {
	const most = 500 // parses of a beginning; a longer document gets its first line
	for n := len(lines) - 1; n > 0 && len(lines)-n <= most; n-- {
		if _, err := yaml.YAMLToJSONStrict(bytes.Join(lines[:n], nil)); err == nil {
			return n
		}
	}
	return 0
}

// firstTemplate finds a placeholder of a template outside of comments. Those of shells
// are YAML, and occur in scripts.
func firstTemplate(lines [][]byte) (int, string) {
	for n, line := range lines {
		if text := string(bytes.TrimSpace(line)); !strings.HasPrefix(text, "#") && strings.Contains(text, "{{") || strings.Contains(text, "{%") {
			return n, finding.Template(text)
		}
	}
	return 0, ""
}
