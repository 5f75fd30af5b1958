// Package syntax takes the YAML or JSON documents of a file apart, and says where they are none.
package syntax

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Part is one document of a file.
type Part struct {
	Text []byte
	Line int // of its first line in the file, counted from 1
}

// Split cuts a file into its documents; those without content are left out.
func Split(data []byte) []Part {
	data = withLineFeeds(Plain(data))
	var out []Part
	start, line, first := 0, 1, 1
	end := func(at int) {
		text := data[start:at]
		if !hasContent(text) {
			return
		}
		for _, value := range values(text) {
			out = append(out, Part{value, first})
			first += bytes.Count(value, []byte("\n"))
		}
	}
	for at := 0; at < len(data); line++ {
		next := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		if ends, begins := separator(data[at:next]); begins {
			end(at)
			start, first = at, line
		} else if ends {
			end(at)
			start, first = next, line+1
		}
		at = next
	}
	end(len(data))
	return out
}

// values cuts a document where it is several JSON objects one after the other, as
// `kubectl get -o json` and jq print them.
func values(text []byte) [][]byte {
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) || json.Valid(text) {
		return [][]byte{text}
	}
	var out [][]byte
	start, decoder := int64(0), json.NewDecoder(bytes.NewReader(text))
	for {
		var value json.RawMessage
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil || value[0] != '{' {
			return [][]byte{text} // YAML in braces, or an error of syntax
		}
		end := decoder.InputOffset()
		out = append(out, text[start:end])
		start = end
	}
}

// separator reports whether a line ends a document, by three dashes or dots in the first
// column, and whether the next one begins on the same line, as in "--- {kind: Pod}".
func separator(line []byte) (ends, begins bool) {
	rest, dashes := bytes.CutPrefix(line, []byte("---"))
	if !dashes {
		if rest, ends = bytes.CutPrefix(line, []byte("...")); !ends {
			return false, false
		}
	}
	text := bytes.TrimSpace(rest)
	if len(text) == 0 || text[0] == '#' {
		return true, false
	}
	begins = dashes && (rest[0] == ' ' || rest[0] == '\t')
	return begins, begins
}

// hasContent reports whether a text has more than comments and directives, such as %YAML 1.2.
func hasContent(text []byte) bool {
	for line := range bytes.Lines(text) {
		directive := line[0] == '%'
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && !directive {
			return true
		}
	}
	return false
}
