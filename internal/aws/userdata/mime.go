package userdata

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"mime"
	"mime/multipart"
	"net/mail"
	"net/textproto"
	"slices"
	"strings"
	"unicode"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/decode"
)

// Media types that cloud-init and nodeadm handle.
const (
	mediaShell      = "text/x-shellscript"
	mediaNodeConfig = "application/node.eks.aws"
)

// part is one piece of multipart user data.
type part struct {
	mediaType string
	content   string
	headers   string // lines of all others, such as how cloud-init merges it
}

// ownParts splits the user's own user data, which is a MIME archive or a single document.
func ownParts(own string) ([]part, error) {
	if strings.TrimSpace(own) == "" {
		return nil, nil
	}
	header, isArchive := archiveHeader(own)
	if !isArchive {
		return []part{{mediaType: plainType(own), content: own}}, nil
	}
	_, parameters, err := mime.ParseMediaType(header.Header.Get("Content-Type"))
	if err != nil {
		return nil, fmt.Errorf("read the content type of userData: %w", err)
	}
	read, err := decode.Parts(multipart.NewReader(header.Body, parameters["boundary"]))
	if err != nil {
		return nil, fmt.Errorf("read part %d of userData: %w", len(read)+1, err)
	}
	var parts []part
	for _, p := range read {
		mediaType := p.Header.Get("Content-Type")
		if mediaType == "" {
			mediaType = plainType(p.Content)
		}
		parts = append(parts, part{mediaType, p.Content, otherHeaders(p.Header)})
	}
	return parts, nil
}

// archiveHeader parses the text as a MIME message and reports whether it is an archive.
func archiveHeader(own string) (*mail.Message, bool) {
	message, err := mail.ReadMessage(strings.NewReader(strings.TrimLeft(own, " \t\r\n")))
	if err != nil {
		return nil, false
	}
	return message, strings.HasPrefix(strings.ToLower(message.Header.Get("Content-Type")), "multipart/")
}

// otherHeaders writes what a part says of itself besides the type and the encoding of its content. Its file name is left
// out: cloud-init runs scripts in the order of their names, which without names is that of the parts, so that the node
// joins the cluster after the user's scripts.
func otherHeaders(header textproto.MIMEHeader) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(header)) {
		switch name {
		case "Content-Type", "Content-Transfer-Encoding", "Content-Length", "Content-Disposition":
			continue
		}
		for _, value := range header[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	return b.String()
}

// plainType returns the media type of a document without headers. A document that is not
// recognised counts as a shell script, even without a #! line.
func plainType(content string) string {
	switch trimmed := strings.TrimSpace(content); {
	case strings.HasPrefix(trimmed, "#cloud-config"):
		return "text/cloud-config"
	case strings.HasPrefix(trimmed, "#!"): // even if it writes a NodeConfig
		return mediaShell
	case strings.Contains(trimmed, "node.eks.aws/"):
		return mediaNodeConfig
	}
	return mediaShell
}

// writeMIME writes the parts as one archive.
func writeMIME(parts []part) string {
	boundary := boundaryFor(parts)
	var b bytes.Buffer
	fmt.Fprintf(&b, "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"%s\"\n\n", boundary)
	for _, p := range parts {
		content := p.content
		fmt.Fprintf(&b, "--%s\nContent-Type: %s\n%s", boundary, p.mediaType, p.headers)
		if p.needsEncoding() {
			content = wrapped(base64.StdEncoding.EncodeToString([]byte(content)))
			b.WriteString("Content-Transfer-Encoding: base64\n")
		}
		b.WriteString("\n" + content)
		if !strings.HasSuffix(content, "\n") {
			b.WriteByte('\n')
		}
	}
	fmt.Fprintf(&b, "--%s--\n", boundary)
	return b.String()
}

// needsEncoding reports whether cloud-init would garble the content as it is: it takes for ASCII what names no encoding.
// nodeadm decodes nothing, and an archive within the archive must not be encoded.
func (p part) needsEncoding() bool {
	kind := strings.ToLower(p.mediaType)
	if strings.HasPrefix(kind, mediaNodeConfig) || strings.HasPrefix(kind, "multipart/") {
		return false
	}
	return strings.ContainsFunc(p.content, func(r rune) bool { return r > unicode.MaxASCII })
}

// wrapped breaks a text into lines as long as MIME allows them for base64.
func wrapped(text string) string {
	const longest = 76
	var b strings.Builder
	for line := range slices.Chunk([]byte(text), longest) {
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}

// boundaryFor returns a boundary that none of the parts contains.
func boundaryFor(parts []part) string {
	boundary := "packhorse"
	for _, p := range parts {
		for strings.Contains(p.content, "--"+boundary) {
			boundary += "-part"
		}
	}
	return boundary
}
