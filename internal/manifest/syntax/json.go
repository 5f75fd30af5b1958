package syntax

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// JSON converts the document, or says on which line of the file it is wrong.
func (p Part) JSON() (asJSON []byte, line int, err error) {
	text := bytes.TrimSpace(p.Text)
	if text[0] == '{' && json.Valid(text) {
		return text, 0, nil
	}
	asJSON, err = yamlToJSON(p.Text)
	switch {
	case err != nil:
		bad, why := p.explain(err)
		return nil, p.Line + bad, why
	case (text[0] == '{' || bytes.HasPrefix(text, []byte("---"))) && followed(text):
		return nil, p.Line, finding.Finding{
			Severity: finding.Error, Text: finding.Plain("holds more than one object"),
			Advice: finding.Plain("separate objects with a line of three dashes"),
		}
	}
	return asJSON, 0, nil
}

// yamlToJSON refuses a key that is there twice. Where a merge key (<<) brings a key, it may be
// there again to override it; the strict parser refuses that too, and kubectl does not.
func yamlToJSON(text []byte) ([]byte, error) {
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err == nil || !bytes.Contains(text, []byte("<<:")) {
		return asJSON, err
	}
	var value any
	if err := yamlv3.Unmarshal(text, &value); err != nil { // which knows the difference
		what, _, _ := strings.Cut(err.Error(), " at line ") // it counts from the document's first line
		return nil, errors.New(what)
	}
	return yaml.YAMLToJSON(text)
}

// followed reports whether something follows an object in braces, which the parser would
// leave unread.
func followed(text []byte) bool {
	decoder := yamlv3.NewDecoder(bytes.NewReader(text))
	var node yamlv3.Node
	return decoder.Decode(&node) == nil && !errors.Is(decoder.Decode(&node), io.EOF)
}
