package decode

import (
	"encoding/base64"
	"errors"
	"io"
	"mime/multipart"
	"net/textproto"
	"strings"
)

// Part is a part of a MIME archive. Its content is decoded.
type Part struct {
	Header  textproto.MIMEHeader
	Content string
}

// Parts reads a MIME archive to its end. With an error, it returns the parts before the one that cannot be read.
func Parts(archive *multipart.Reader) (parts []Part, err error) {
	for {
		part, err := archive.NextPart()
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil {
			return parts, err
		}
		var body io.Reader = part
		if strings.EqualFold(part.Header.Get("Content-Transfer-Encoding"), "base64") {
			body = base64.NewDecoder(base64.StdEncoding, part)
		}
		content, err := io.ReadAll(body)
		if err != nil {
			return parts, err
		}
		parts = append(parts, Part{part.Header, string(content)})
	}
}
