package syntax

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// parserPlace is where the parser says that an error is, which often is where what
// holds it begins or ends, and now and then one line off.
var parserPlace = regexp.MustCompile(`^(?:error converting YAML to JSON: )?yaml: (?:unmarshal errors:\n\s*)?(?:line (\d+): )?`)

// explain says on which line, counted from 0, the document ceases to be YAML, and the likely cause.
func (p Part) explain(err error) (int, finding.Finding) {
	lines := bytes.SplitAfter(p.Text, []byte("\n"))
	bad, where, err := firstBad(lines, err)
	what, _, _ := strings.Cut(parserPlace.ReplaceAllString(err.Error(), ""), "\n")
	if what == "found unexpected end of stream" {
		what = "a quote that is opened here is not closed"
	}
	text, advice := where+what, ""
	line := string(lines[bad])
	quote := strings.IndexAny(line, "“”„‟‘’‚‛«»")
	if n := slices.IndexFunc(lines, func(line []byte) bool { return !utf8.Valid(line) }); n >= 0 {
		bad, text, advice = n, "holds bytes that are not UTF-8", "save the file in UTF-8"
	} else if n, found := firstTemplate(lines); found != "" {
		bad, text, advice = n, "holds the template "+found+", which was not rendered", finding.RenderFirst
	} else if cutOff(p.Text) {
		bad, text, advice = lastLine(lines), "ends in the middle of a JSON object", "the file may be cut off: save it again"
	} else if strings.HasPrefix(line, "\t") || strings.HasPrefix(strings.TrimLeft(line, " "), "\t") {
		advice = "indent with spaces, not with tabs"
	} else if quote >= 0 {
		advice = fmt.Sprintf("write plain quotes in place of the typographic quote %c", []rune(line[quote:])[0])
	}
	return bad, finding.Finding{Severity: finding.Error, Text: finding.Plain(text), Advice: finding.Plain(advice)}
}

// firstBad returns the index of the line that follows the longest beginning which can
// be read, and what is wrong from there on. Beginnings may end within quotes or brackets that
// are closed later, so that the search goes backwards. Where it would take seconds, the line
// and the error are those of the parser.
func firstBad(lines [][]byte, err error) (line int, where string, first error) {
	const (
		most      = 500     // parses of a beginning
		mostBytes = 8 << 20 // in all of them, which take about a second
	)
	text, size := bytes.Join(lines, nil), 0
	end := len(text)
	for n := len(lines) - 1; n > 0 && len(lines)-n <= most && size <= mostBytes; n-- {
		through := end // the end of line n
		end -= len(lines[n])
		if _, bad := yamlToJSON(text[:end]); bad == nil {
			_, first := yamlToJSON(text[:through])
			return n, "is not valid YAML from this line on: ", first
		}
		size += end
	}
	if place := parserPlace.FindStringSubmatch(err.Error()); place != nil {
		line, _ = strconv.Atoi(place[1]) // the first where the parser names none
	}
	return min(max(line-1, 0), lastLine(lines)), "is not valid YAML near this line: ", err
}

// lastLine returns the index of the last line that is not blank.
func lastLine(lines [][]byte) int {
	n := len(lines) - 1
	for n > 0 && len(bytes.TrimSpace(lines[n])) == 0 {
		n--
	}
	return n
}

// cutOff reports whether a text is JSON but for its end, which is missing.
func cutOff(text []byte) bool {
	var value json.RawMessage
	return errors.Is(json.NewDecoder(bytes.NewReader(text)).Decode(&value), io.ErrUnexpectedEOF) && bytes.TrimSpace(text)[0] == '{'
}

// firstTemplate finds a directive of a template outside of comments.
func firstTemplate(lines [][]byte) (int, string) {
	for n, line := range lines {
		text := string(bytes.TrimSpace(line))
		if found := finding.Directive(text); found != "" && !strings.HasPrefix(text, "#") {
			return n, found
		}
	}
	return 0, ""
}
