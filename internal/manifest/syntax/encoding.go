package syntax

import (
	"bytes"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// Plain returns a text without its byte order mark, and in UTF-8 where the mark says that
// it is UTF-16, in which Windows PowerShell redirects output to files.
func Plain(data []byte) []byte {
	plain, _, _ := transform.Bytes(unicode.BOMOverride(transform.Nop), data) // what is no text becomes U+FFFD
	return plain
}

// withLineFeeds ends those lines with a line feed that end with a carriage return alone, which YAML takes for the end of
// a line, too.
func withLineFeeds(data []byte) []byte {
	if !bytes.Contains(data, []byte("\r")) {
		return data
	}
	out := bytes.Clone(data)
	for i, c := range out {
		if c == '\r' && !bytes.HasPrefix(out[i+1:], []byte("\n")) {
			out[i] = '\n'
		}
	}
	return out
}
