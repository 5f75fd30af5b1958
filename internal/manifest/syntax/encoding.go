package syntax

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
)

// Plain returns a text without its byte order mark, and in UTF-8 where the mark says that
// it is UTF-16, in which Windows PowerShell redirects output to files.
func Plain(data []byte) []byte {
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return bytes.TrimPrefix(data, []byte("\ufeff"))
	}
	units := make([]uint16, len(data)/2-1)
	for i := range units {
		units[i] = order.Uint16(data[2*i+2:])
	}
	return []byte(string(utf16.Decode(units)))
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
