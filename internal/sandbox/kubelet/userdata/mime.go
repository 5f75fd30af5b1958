package userdata

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
)

// Media types that cloud-init and nodeadm act upon.
const (
	mediaShell      = "text/x-shellscript"
	mediaNodeConfig = "application/node.eks.aws"
)

// part is one piece of user data with its media type.
type part struct {
	mediaType string
	content   []byte
}

// splitParts takes MIME multipart user data apart, as cloud-init does. Anything
// else is one part whose media type follows from its first line.
func splitParts(data []byte) ([]part, error) {
	message, ok := readMessage(data)
	if !ok {
		return []part{{mediaType: plainMediaType(data), content: data}}, nil
	}
	mediaType, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		return nil, fmt.Errorf("content type of the archive: %w", err)
	}
	if !strings.HasPrefix(mediaType, "multipart/") {
		content, err := decodeContent(message.Body, message.Header.Get("Content-Transfer-Encoding"))
		return []part{{mediaType: mediaType, content: content}}, err
	}
	reader := multipart.NewReader(message.Body, parameters["boundary"])
	var parts []part
	for {
		next, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil {
			return nil, fmt.Errorf("part %d of the archive: %w", len(parts)+1, err)
		}
		read, err := readPart(next)
		if err != nil {
			return nil, fmt.Errorf("part %d of the archive: %w", len(parts)+1, err)
		}
		parts = append(parts, read)
	}
}

// readMessage reads the headers of user data, if it has those of MIME.
func readMessage(data []byte) (message *mail.Message, ok bool) {
	message, err := mail.ReadMessage(bytes.NewReader(data))
	return message, err == nil && message.Header.Get("Content-Type") != ""
}

func readPart(p *multipart.Part) (part, error) {
	content, err := decodeContent(p, p.Header.Get("Content-Transfer-Encoding"))
	if err != nil {
		return part{}, err
	}
	header := p.Header.Get("Content-Type")
	if header == "" {
		return part{mediaType: plainMediaType(content), content: content}, nil
	}
	mediaType, _, err := mime.ParseMediaType(header)
	if err != nil {
		return part{}, fmt.Errorf("content type %q: %w", header, err)
	}
	return part{mediaType: mediaType, content: content}, nil
}

// decodeContent undoes the transfer encoding (package multipart has already undone
// quoted-printable).
func decodeContent(body io.Reader, encoding string) ([]byte, error) {
	if strings.EqualFold(encoding, "base64") {
		body = base64.NewDecoder(base64.StdEncoding, body)
	}
	return io.ReadAll(body)
}

// plainMediaType tells the media type of user data without headers.
func plainMediaType(data []byte) string {
	trimmed := bytes.TrimSpace(data)
	switch {
	case bytes.HasPrefix(trimmed, []byte("#!")):
		return mediaShell
	case bytes.Contains(trimmed, []byte("node.eks.aws/")):
		return mediaNodeConfig
	default:
		return "text/plain"
	}
}
